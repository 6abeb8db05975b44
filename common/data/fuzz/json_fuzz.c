/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a parsed document can be written, sorted or not, and parses to the same tree, which
 * is also the one of jansson's parser, except for integers of more than 64 bits. The validator
 * accepts everything that the parser accepts. Parsing without some members gives the whole tree
 * without them, and a member that is looked up in the text is that of the tree. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/doc_budget.h"
#include "common/data/lexer.h"
#include "common/data/slice.h"
#include "common/fuzz/must.h"

enum { SIZE_LIMIT = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_same(const json_t *doc, char *text)
{
    cleanup_free char *owned = text;
    cleanup_json json_t *back = NULL;
    struct error err = {0};

    must(doc_parse_json(owned, strlen(owned), SIZE_MAX, &back, &err) == 0);
    must(json_equal(doc, back));
}

/* We accept what jansson accepts, and integers of more than 64 bits, but nothing that is nested too
 * deep, too large in memory, or followed by a NUL. */
static void compare_with_jansson(const char *text, size_t size, const json_t *doc,
                                 const struct error *err)
{
    json_error_t fault = {0};
    cleanup_json json_t *theirs =
        json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);

    if (doc && theirs)
        must(json_equal(doc, theirs));
    else if (doc)
        must(json_error_code(&fault) == json_error_numeric_overflow);
    else if (theirs)
        must(memchr(text, '\0', size) || doc_height(theirs) > DOC_DEPTH_MAX ||
             err->kind == ERROR_TOO_LARGE);
}

static void compare_without(const char *text, size_t size, const json_t *doc)
{
    static const char *const skipped_members[] = {"a", "b.c", NULL};
    struct error err = {0};
    cleanup_json json_t *shorter = NULL;
    cleanup_json json_t *expected = json_deep_copy(doc);
    int result = doc_parse_json_without(text, size, SIZE_LIMIT, skipped_members, &shorter, &err);

    /* Keys that are written with escapes are not recognised. */
    if (!doc || memchr(text, '\\', size))
        return;
    must(result == 0);
    (void)json_object_del(expected, "a");
    (void)json_object_del(json_object_get(expected, "b"), "c");
    must(json_equal(shorter, expected));
}

static void compare_member(const char *text, size_t size, const json_t *doc)
{
    struct slice value = {0};
    bool is_found = slice_member((struct slice){text, size}, "a", &value);
    cleanup_json json_t *parsed = NULL;
    struct error err = {0};

    must(!is_found || (value.text >= text && value.text + value.size <= text + size));
    if (!doc || memchr(text, '\\', size))
        return;
    must(is_found == (doc_member(doc, "a") != NULL));
    if (!is_found)
        return;
    must(doc_parse_json(value.text, value.size, SIZE_LIMIT, &parsed, &err) == 0);
    must(json_equal(parsed, doc_member(doc, "a")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    cleanup_json json_t *doc = NULL;
    struct error err = {0};
    int result = doc_parse_json(text, size, SIZE_LIMIT, &doc, &err);

    compare_with_jansson(text, size, doc, &err);
    compare_without(text, size, doc);
    compare_member(text, size, doc);
    if (result < 0) {
        must(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
        return 0;
    }
    must(lexer_check(text, size) == NULL);
    is_same(doc, doc_dump(doc));
    is_same(doc, doc_dump_sorted(doc));
    return 0;
}
