/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/diff/view.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/text_diff.h"

#define MASK "***"
/* kubectl stores what it applied last, values of Secrets included. */
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

static const char *const hidden[] = {"managedFields", "resourceVersion",   "uid",
                                     "generation",    "creationTimestamp", "selfLink"};

/* New reference; NULL if there is no object. */
static json_t *shown_object(const json_t *object, bool has_other)
{
    json_t *copy = object ? json_deep_copy(object) : NULL;
    json_t *metadata = json_object_get(copy, "metadata");

    for (size_t i = 0; i < array_length(hidden); i++)
        (void)json_object_del(metadata, hidden[i]);
    if (!has_other)
        (void)json_object_del(copy, "status");
    return copy;
}

/* ---- Secrets ---- */

static bool is_secret(const json_t *object)
{
    return strcmp(doc_text_or(object, "apiVersion", ""), "v1") == 0 &&
           strcmp(doc_text_or(object, "kind", ""), "Secret") == 0;
}

/* Replaces a value in both objects, so that it can be seen only whether it differs. */
static void mask_value(json_t *before, json_t *after, const char *key)
{
    const json_t *old = json_object_get(before, key);
    const json_t *new = json_object_get(after, key);
    bool is_different = old && new && !json_equal(old, new);

    if (old)
        (void)json_object_set_new(before, key, json_string(is_different ? MASK " (before)" : MASK));
    if (new)
        (void)json_object_set_new(after, key, json_string(is_different ? MASK " (after)" : MASK));
}

static void mask_members(json_t *before, json_t *after)
{
    cleanup_json json_t *keys = json_object();
    const char *key = NULL;
    json_t *value = NULL;

    (void)json_object_update(keys, before);
    (void)json_object_update(keys, after);
    json_object_foreach(keys, key, value) mask_value(before, after, key);
}

static void mask(json_t *before, json_t *after)
{
    static const char *const members[] = {"data", "stringData"};

    for (size_t i = 0; i < array_length(members); i++)
        mask_members(json_object_get(before, members[i]), json_object_get(after, members[i]));
    mask_value(json_object_get(json_object_get(before, "metadata"), "annotations"),
               json_object_get(json_object_get(after, "metadata"), "annotations"), LAST_APPLIED);
}

/* ---- The diff ---- */

char *view_diff(const json_t *before, const json_t *after)
{
    cleanup_json json_t *old = shown_object(before, after != NULL);
    cleanup_json json_t *new = shown_object(after, before != NULL);
    cleanup_wipe char *old_text = NULL;
    cleanup_wipe char *new_text = NULL;

    if (is_secret(old) || is_secret(new))
        mask(old, new);
    old_text = old ? doc_dump_yaml(old) : xstrdup("");
    new_text = new ? doc_dump_yaml(new) : xstrdup("");
    return text_diff(old_text, new_text);
}
