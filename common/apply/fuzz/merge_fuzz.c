/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of the input is a live object, the rest a manifest. A merge patch turns any value
 * into any other. Whatever both objects contain, an update keeps the finalizers of others, and a
 * second one right after it has nothing to do. */
#include <stdint.h>
#include <string.h>

#include "common/apply/merge.h"
#include "common/apply/tests/merge_patch.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

enum { SIZE_LIMIT = 1 << 16 };

static const struct apply_owner owner = {"item", "ours", "owner", "ns/ours"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_patch(const json_t *from, const json_t *to)
{
    cleanup_json json_t *patch = merge_patch_between(from, to);
    cleanup_json json_t *result = json_deep_copy(from);

    must((patch == NULL) == merge_is_equal(from, to));
    must(merge_is_equal(from, to) == merge_is_equal(to, from));
    if (patch)
        result = apply_patch(result, patch);
    must(merge_is_equal(result, to));
}

static void check_values(const json_t *live, const json_t *manifest, bool is_overwriting)
{
    cleanup_json json_t *once = merge_objects(live, manifest, is_overwriting);
    cleanup_json json_t *twice = merge_objects(once, manifest, is_overwriting);

    must(json_equal(once, twice));
}

static bool has_finalizer(const json_t *object, const json_t *finalizer)
{
    const json_t *finalizers = doc_get(object, "metadata.finalizers");

    for (size_t i = 0; i < json_array_size(finalizers); i++) {
        if (json_equal(json_array_get(finalizers, i), finalizer))
            return true;
    }
    return false;
}

static void check_finalizers(const json_t *before, const json_t *after, const json_t *manifest)
{
    const json_t *finalizers = doc_get(before, "metadata.finalizers");
    const json_t *wanted = doc_get(manifest, "metadata.finalizers");

    /* The server rejects a value of another type. */
    if (wanted && !json_is_array(wanted) && !json_is_null(wanted))
        return;
    for (size_t i = 0; i < json_array_size(finalizers); i++)
        must(has_finalizer(after, json_array_get(finalizers, i)));
}

/* The object after the request; the server keeps managedFields. */
static json_t *perform(const json_t *live, const struct merge_result *result)
{
    json_t *managers = doc_writable(doc_get(live, "metadata.managedFields"));
    json_t *object = NULL;

    if (result->is_patch)
        return apply_patch(json_deep_copy(live), result->body);
    object = json_deep_copy(result->body);
    if (managers)
        (void)json_object_set(json_object_get(object, "metadata"), "managedFields", managers);
    return object;
}

static void check_change(const json_t *live, const json_t *manifest, enum update_strategy strategy)
{
    struct merge_result result = merge_for_change(live, manifest, strategy, &owner, NULL);
    struct merge_result again = {0};
    struct inventory_entry entry = {0};
    cleanup_json json_t *after = NULL;

    must(result.is_changed == (result.body != NULL));
    after = result.is_changed ? perform(live, &result) : json_deep_copy(live);
    check_finalizers(live, after, manifest);
    again = merge_for_change(after, manifest, strategy, &owner, NULL);
    must(!again.is_changed);
    merge_note_applied(&entry, manifest, strategy, &owner, NULL, after);
    must(strlen(entry.desired_hash) == 16 && strlen(entry.applied_hash) == 16);
    again = merge_for_change(after, manifest, strategy, &owner, &entry);
    must(!again.is_changed);
    inventory_entry_done(&entry);
    merge_result_done(&result);
}

/* An object is read by the kind of its manifest. */
static void set_kind(json_t *manifest, const json_t *live)
{
    static const char *const keys[] = {"apiVersion", "kind"};

    for (size_t i = 0; i < array_length(keys); i++) {
        (void)json_object_del(manifest, keys[i]);
        if (doc_get(live, keys[i]))
            (void)json_object_set(manifest, keys[i], doc_writable(doc_get(live, keys[i])));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *input = (const char *)data;
    const char *line_end = size > 0 ? memchr(input, '\n', size) : NULL;
    size_t line_size = line_end ? (size_t)(line_end - input) : size;
    cleanup_json json_t *live = NULL;
    cleanup_json json_t *manifest = NULL;
    struct error err = {0};

    doc_setup();
    if (!line_end || doc_parse_json(input, line_size, SIZE_LIMIT, &live, &err) < 0 ||
        doc_parse_json(line_end + 1, size - line_size - 1, SIZE_LIMIT, &manifest, &err) < 0)
        return 0;
    check_patch(live, manifest);
    check_patch(manifest, live);
    if (!json_is_object(live) || !json_is_object(manifest))
        return 0;
    check_values(live, manifest, false);
    check_values(live, manifest, true);
    set_kind(manifest, live);
    for (size_t i = STRATEGY_UPDATE; i < STRATEGY_APPLY; i++)
        check_change(live, manifest, (enum update_strategy)i);
    return 0;
}
