/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/drift.h"

#include <string.h>

#include "common/apply/merge.h"
#include "common/data/doc.h"

static bool is_list_covered(const json_t *live, const json_t *wanted)
{
    size_t i;
    json_t *element;

    if (json_array_size(live) != json_array_size(wanted))
        return false;
    json_array_foreach(doc_writable(wanted), i, element)
    {
        if (!drift_is_covered(json_array_get(live, i), element))
            return false;
    }
    return true;
}

bool drift_is_covered(const json_t *live, const json_t *wanted)
{
    const char *key;
    json_t *value;

    if (json_is_array(wanted))
        return is_list_covered(live, wanted);
    if (!json_is_object(wanted))
        return merge_is_equal(live, wanted);
    doc_foreach(wanted, key, value)
    {
        const json_t *found = doc_member(live, key);

        /* Objects of a list have neither. */
        if (!found && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0))
            continue;
        /* The server drops what is empty. */
        if (!found && (json_is_null(value) || (json_is_object(value) && !json_object_size(value)) ||
                       (json_is_array(value) && !json_array_size(value))))
            continue;
        if (!found || !drift_is_covered(found, value))
            return false;
    }
    return true;
}

char *drift_hash(const json_t *live)
{
    static const char *const of_server[] = {"resourceVersion", "generation",        "uid",
                                            "managedFields",   "creationTimestamp", "selfLink"};
    cleanup_json json_t *copy = json_copy(doc_writable(live));
    json_t *metadata = json_copy(doc_writable(doc_member(live, "metadata")));

    for (size_t i = 0; metadata && i < array_length(of_server); i++)
        (void)json_object_del(metadata, of_server[i]);
    if (metadata)
        (void)json_object_set_new(copy, "metadata", metadata);
    (void)json_object_del(copy, "status");
    (void)json_object_del(copy, "apiVersion");
    (void)json_object_del(copy, "kind");
    return merge_hash(copy);
}
