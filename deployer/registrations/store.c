/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the watches. All but the few registrations are kept as reduced JSON texts, which
 * need a fifth of the memory of parsed documents, and are parsed when they are needed. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/registrations/manager.h"
#include "deployer/registrations/reduce.h"

enum { OBJECT_MAX = 8 << 20 };

const json_t *manager_find(struct manager *manager, enum source source, const char *name)
{
    const json_t *stored = doc_member(manager->sources[source].objects, name);
    const char *text = json_string_value(stored);
    json_t *object = NULL;
    struct error err = {0};

    if (!text)
        return stored;
    if (doc_parse_json(text, json_string_length(stored), OBJECT_MAX, &object, &err) < 0)
        return NULL; /* cannot happen: it was written by doc_dump_sorted() */
    (void)json_array_append_new(manager->opened, object);
    return object;
}

void manager_close(struct manager *manager)
{
    (void)json_array_clear(manager->opened);
}

/* What is kept of an object. NULL: nothing. */
json_t *store_reduce(const struct manager *manager, enum source source, const json_t *object)
{
    switch (source) {
    case SOURCE_INSTALLATIONS:
        return reduce_installation(object);
    case SOURCE_TARGETS:
        return reduce_target(object);
    case SOURCE_ACCOUNTS:
        return reduce_account(object);
    case SOURCE_BINDINGS:
        /* Only those to the role of deployers. */
        if (strcmp(doc_text_or(object, "roleRef.name", ""), manager->settings.role) != 0)
            return NULL;
        return reduce_binding(object);
    case SOURCE_ITEMS:
        return reduce_item(object);
    case SOURCE_LEASES:
        return reduce_lease(object);
    case SOURCE_ENVIRONMENTS:
    case SOURCE_REGISTRATIONS:
    case SOURCE_COUNT:
        break;
    }
    return json_deep_copy(object);
}

bool store_set(struct manager *manager, enum source source, const char *key, const json_t *object)
{
    json_t *objects = manager->sources[source].objects;
    const json_t *old = doc_member(objects, key);
    cleanup_free char *text = NULL;

    if (source == SOURCE_REGISTRATIONS) {
        if (old && json_equal(old, object))
            return false;
        (void)json_object_set(objects, key, doc_writable(object));
        return true;
    }
    text = doc_dump_sorted(object);
    if (old && strcmp(json_string_value(old), text) == 0)
        return false;
    (void)json_object_set_new(objects, key, json_string(text));
    return true;
}
