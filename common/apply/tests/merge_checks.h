/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of merge_for_change() have in common. */
#pragma once

#include "common/apply/merge.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

#define cleanup_result __attribute__((cleanup(merge_result_done)))
#define cleanup_entry __attribute__((cleanup(inventory_entry_done)))

static const struct apply_owner owner = {"item", "ours", NULL, NULL};
#define OURS "'labels':{'item':'ours'}"

static inline void assert_json(const json_t *value, const char *expected_text)
{
    cleanup_json json_t *expected = parse(expected_text);
    cleanup_free char *text = value ? doc_dump_sorted(value) : xstrdup("nothing");

    if (!value || !json_equal(value, expected))
        fail_msg("%s\ninstead of %s", text, expected_text);
}

/* expected NULL: nothing has to be done. */
static inline void assert_result(const struct merge_result *result, const char *expected,
                                 bool is_patch)
{
    assert_int_equal(result->is_changed, expected != NULL);
    if (!expected) {
        assert_null(result->body);
        return;
    }
    assert_int_equal(result->is_patch, is_patch);
    assert_json(result->body, expected);
}
