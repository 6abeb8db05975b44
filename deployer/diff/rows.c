/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/diff/rows.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/diff/view.h"

static json_t *row_of(const struct object_ref *ref, const char *action, enum apply_policy policy)
{
    json_t *row = object_ref_json(ref);

    (void)json_object_del(row, "uid");
    doc_set_text(row, "action", action);
    doc_set_text(row, "policy", policy_name(policy));
    doc_set_new(row, "notes", json_array());
    return row;
}

static void add_note(json_t *row, const char *text)
{
    (void)json_array_append_new(json_object_get(row, "notes"), doc_new_text(text));
}

static void set_diff(json_t *row, const json_t *before, const json_t *after)
{
    cleanup_free char *diff = view_diff(before, after);

    if (*diff)
        doc_set_text(row, "diff", diff);
    else
        add_note(row, "only fields that are not shown differ, such as metadata.managedFields");
}

void rows_add_planned(json_t *objects, const struct plan_object *object,
                      const struct apply_object_result *result)
{
    bool is_written = result->outcome == APPLY_CREATED || result->outcome == APPLY_CHANGED;
    json_t *row = row_of(&object->ref, apply_outcome_name(result->outcome), object->policy);

    (void)json_array_append_new(objects, row);
    if (is_written)
        set_diff(row, result->before, result->object);
    if (result->outcome == APPLY_FAILED)
        doc_set_text(row, "error", result->error.text);
    if (result->outcome == APPLY_LEFT_ALONE)
        add_note(row,
                 object->policy == POLICY_IMMUTABLE
                     ? "it exists, and its policy immutable lets nothing change it"
                     : "owned by somebody else, and left alone because of the policy fallback");
    if (result->is_unchecked)
        add_note(row,
                 "not checked by the server, because its kind or namespace does not exist yet; "
                 "it is created before");
    if (result->is_taken_over)
        add_note(row, "fields that were written before by another strategy, and are not in the "
                      "manifest, are removed as well");
    if (object->patch_after && is_written)
        add_note(row, "patchAfterDeployment is included");
}

void rows_add_orphan(json_t *objects, const struct inventory_entry *entry,
                     const struct removal_forecast *forecast)
{
    bool is_deleted = forecast->is_taken && forecast->verdict == REMOVAL_DELETE;
    cleanup_free char *why = NULL;
    json_t *row = NULL;

    if (forecast->error.kind != ERROR_NONE) {
        row = row_of(&entry->ref, "failed", entry->policy);
        (void)json_array_append_new(objects, row);
        doc_set_text(row, "error", forecast->error.text);
        return;
    }
    if (!forecast->live)
        return; /* gone already */
    row = row_of(&entry->ref, is_deleted ? "deleted" : "leftAlone", entry->policy);
    (void)json_array_append_new(objects, row);
    if (is_deleted) {
        set_diff(row, forecast->live, NULL);
        return;
    }
    why =
        forecast->verdict != REMOVAL_DELETE
            ? xasprintf("no longer in the manifest, but kept: it %s",
                        removal_verdict_text(forecast->verdict))
            : xstrdup("no longer in the manifest, but kept: no group of deletionGroupsDuringUpdate "
                      "contains it");
    add_note(row, why);
}

json_t *rows_count_actions(const json_t *objects)
{
    json_t *summary = json_pack("{s:i,s:i,s:i,s:i,s:i,s:i}", "created", 0, "changed", 0, "deleted",
                                0, "unchanged", 0, "leftAlone", 0, "failed", 0);
    const json_t *row = NULL;
    size_t index = 0;

    json_array_foreach(objects, index, row)
    {
        const char *action = doc_text_or(row, "action", "");

        (void)json_object_set_new(summary, action,
                                  json_integer(doc_integer_or(summary, action, 0) + 1));
    }
    return summary;
}

const char *rows_result_of(const json_t *summary)
{
    if (doc_integer_or(summary, "failed", 0) > 0)
        return "failed";
    return doc_integer_or(summary, "created", 0) + doc_integer_or(summary, "changed", 0) +
                       doc_integer_or(summary, "deleted", 0) >
                   0
               ? "different"
               : "same";
}
