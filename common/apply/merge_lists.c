/* SPDX-License-Identifier: Apache-2.0 */
/* Finalizers and ownerReferences: lists of metadata that have several authors. */
#include <string.h>

#include "common/apply/merge_internal.h"
#include "common/data/doc.h"

static bool is_same_finalizer(const json_t *a, const json_t *b)
{
    return json_equal(a, b);
}

static bool is_same_owner(const json_t *a, const json_t *b)
{
    const char *uid = doc_text(a, "uid");

    return json_equal(a, b) || (uid && strcmp(uid, doc_text_or(b, "uid", "")) == 0);
}

typedef bool is_same_fn(const json_t *a, const json_t *b);

static const struct list_rule {
    const char *path;
    is_same_fn *is_same;
    bool is_closed_by_deletion; /* the server rejects new elements while the object is deleted */
} rules[] = {
    {"metadata.finalizers", is_same_finalizer, true},
    {"metadata.ownerReferences", is_same_owner, false},
};

static const json_t *own_list(const struct inventory_entry *entry, const struct list_rule *rule)
{
    if (!entry)
        return NULL;
    return rule->is_same == is_same_owner ? entry->own_owners : entry->own_finalizers;
}

static const json_t *find_element(const json_t *list, const json_t *element, is_same_fn *is_same)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (is_same(json_array_get(list, i), element))
            return json_array_get(list, i);
    }
    return NULL;
}

static json_t *unite(const json_t *live, const json_t *wanted, const struct list_rule *rule,
                     const struct inventory_entry *entry)
{
    const json_t *present = doc_get(live, rule->path);
    const json_t *own = own_list(entry, rule);
    bool is_closed = rule->is_closed_by_deletion && doc_get(live, "metadata.deletionTimestamp");
    json_t *united = json_array();

    for (size_t i = 0; i < json_array_size(present); i++) {
        const json_t *element = json_array_get(present, i);
        const json_t *same = find_element(wanted, element, rule->is_same);

        if (same || !find_element(own, element, rule->is_same))
            (void)json_array_append_new(united, json_deep_copy(same ? same : element));
    }
    for (size_t i = 0; i < json_array_size(wanted) && !is_closed; i++) {
        const json_t *element = json_array_get(wanted, i);

        if (!find_element(united, element, rule->is_same))
            (void)json_array_append_new(united, json_deep_copy(element));
    }
    return united;
}

/* A value of another type is passed on, because the server rejects it with a good message. */
static bool is_list_or_nothing(const json_t *value)
{
    return !value || json_is_null(value) || json_is_array(value);
}

void merge_unite_lists(json_t *object, const json_t *live, const struct inventory_entry *entry)
{
    for (size_t i = 0; i < array_length(rules); i++) {
        const json_t *wanted = doc_get(object, rules[i].path);
        json_t *united = NULL;

        if (!is_list_or_nothing(wanted))
            continue;
        united = unite(live, wanted, &rules[i], entry);
        if (json_array_size(united) > 0 || wanted)
            doc_set_new(object, rules[i].path, united);
        else
            json_decref(united);
    }
}

bool merge_has_lists(const json_t *live, const json_t *manifest,
                     const struct inventory_entry *entry)
{
    for (size_t i = 0; i < array_length(rules); i++) {
        const json_t *wanted = doc_get(manifest, rules[i].path);
        const json_t *present = doc_get(live, rules[i].path);
        cleanup_json json_t *united = unite(live, wanted, &rules[i], entry);

        if (!is_list_or_nothing(wanted))
            return false;
        if (json_array_size(united) != json_array_size(present) ||
            (present && !merge_is_equal(united, present)))
            return false;
    }
    return true;
}
