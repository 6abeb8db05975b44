/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/managers.h"

#include <string.h>

#include "common/data/doc.h"

static bool is_apply_of(const json_t *entry, const char *manager)
{
    return strcmp(doc_text_or(entry, "manager", ""), manager) == 0 &&
           strcmp(doc_text_or(entry, "operation", ""), "Apply") == 0 &&
           !*doc_text_or(entry, "subresource", "");
}

static bool is_taken_over(const json_t *object, const json_t *entry, const char *manager,
                          const char *const *former_managers)
{
    const char *owner = doc_text_or(entry, "manager", "");
    bool is_ours = strcmp(owner, manager) == 0;

    for (; !is_ours && former_managers && *former_managers; former_managers++)
        is_ours = strcmp(owner, *former_managers) == 0;
    return is_ours && strcmp(doc_text_or(entry, "operation", ""), "Update") == 0 &&
           !*doc_text_or(entry, "subresource", "") &&
           strcmp(doc_text_or(entry, "apiVersion", ""), doc_text_or(object, "apiVersion", "-")) ==
               0;
}

/* Adds the fields of more, recursively. */
static void unite(json_t *fields, const json_t *more)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(more, key, value)
    {
        json_t *known = json_object_get(fields, key);

        if (known)
            unite(known, value);
        else
            (void)json_object_set_new(fields, key, json_deep_copy(value));
    }
}

json_t *managers_take_over(const json_t *object, const char *manager,
                           const char *const *former_managers)
{
    cleanup_json json_t *entries = json_array();
    cleanup_json json_t *taken = json_object(); /* their fields */
    json_t *target = NULL;                      /* what manager applied */
    const json_t *entry = NULL;
    json_t *patch = NULL;
    size_t i = 0;

    json_array_foreach(doc_get(object, "metadata.managedFields"), i, entry)
    {
        json_t *copy = NULL;

        if (is_taken_over(object, entry, manager, former_managers)) {
            unite(taken, doc_member(entry, "fieldsV1"));
            continue;
        }
        copy = json_deep_copy(entry);
        (void)json_array_append_new(entries, copy);
        if (is_apply_of(entry, manager))
            target = copy;
    }
    if (json_object_size(taken) == 0 || !target)
        return NULL;
    unite(json_object_get(target, "fieldsV1"), taken);
    patch = json_pack("[{s:s,s:s,s:O},{s:s,s:s,s:O}]", "op", "replace", "path",
                      "/metadata/managedFields", "value", entries, "op", "replace", "path",
                      "/metadata/resourceVersion", "value",
                      doc_writable(doc_get(object, "metadata.resourceVersion")));
    return patch;
}

bool managers_is_sole(const json_t *object, const char *manager)
{
    const json_t *entries = doc_get(object, "metadata.managedFields");

    return json_array_size(entries) == 1 && is_apply_of(json_array_get(entries, 0), manager);
}
