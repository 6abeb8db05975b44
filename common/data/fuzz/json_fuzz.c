/* SPDX-License-Identifier: Apache-2.0 */
/* What was read can be written, and reads back as the same tree; sorted or not; the lenient reader
 * reads all that the strict one does, and to the same tree; and that tree is jansson's.
 * Members that are left out need not be cut out before. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/doc_budget.h"
#include "common/data/slice.h"

enum { SIZE_LIMIT = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool is_true)
{
    if (!is_true)
        abort();
}

static void is_same(const json_t *doc, char *text)
{
    cleanup_free char *owned = text;
    cleanup_json json_t *back = NULL;
    struct error err = {0};

    insist(doc_parse_json(owned, strlen(owned), SIZE_MAX, &back, &err) == 0);
    insist(json_equal(doc, back));
}

/* We read what jansson reads, and integers past 64 bits as reals; nothing deeper or with a NUL. */
static void compare_with_jansson(const uint8_t *data, size_t size, const json_t *doc)
{
    json_error_t fault = {0};
    cleanup_json json_t *theirs =
        json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);

    if (doc && theirs)
        insist(json_equal(doc, theirs));
    else if (doc)
        insist(json_error_code(&fault) == json_error_numeric_overflow);
    else if (theirs)
        insist(memchr(data, '\0', size) || doc_height(theirs) > DOC_DEPTH_MAX);
}

/* Left out while reading, or cut out of the text before: the same. */
static void compare_without(const char *text, size_t size)
{
    static const char *const left_out[] = {"a", "b.c", NULL};
    struct error err = {0}, shorter_err = {0};
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *of_shorter = NULL;
    size_t shorter_size = size;
    cleanup_free char *shorter = slice_without((struct slice){text, size}, left_out, &shorter_size);
    int result = doc_parse_json_without(text, size, SIZE_LIMIT, left_out, &doc, &err);

    insist(result == doc_parse_json(shorter ? shorter : text, shorter_size, SIZE_LIMIT, &of_shorter,
                                    &shorter_err));
    insist(result < 0 || json_equal(doc, of_shorter));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *lenient = NULL;
    struct error err = {0};
    struct error lenient_err = {0};
    bool is_mended = false;
    int result = doc_parse_json((const char *)data, size, SIZE_LIMIT, &doc, &err);
    int lenient_result = doc_parse_json_lenient((const char *)data, size, SIZE_LIMIT, &lenient,
                                                &is_mended, &lenient_err);

    compare_with_jansson(data, size, doc);
    compare_without((const char *)data, size);
    if (lenient_result == 0)
        is_same(lenient, doc_dump(lenient));
    if (result < 0) {
        insist(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
        insist(lenient_result < 0 || is_mended);
        return 0;
    }
    insist(lenient_result == 0 && !is_mended && json_equal(doc, lenient));
    is_same(doc, doc_dump(doc));
    is_same(doc, doc_dump_sorted(doc));
    return 0;
}
