/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/doc_scan.h"

#include <string.h>

#include "common/base/digit.h"
#include "common/base/memory.h"
#include "common/base/number.h"

void doc_scan_init(struct doc_scan *scan, const char *text, size_t size, size_t depth_max,
                   bool is_lenient)
{
    *scan = (struct doc_scan){
        .is_lenient = is_lenient,
        .depth_max = depth_max,
        .text = text,
        .size = size,
        .line = 1,
    };
}

void doc_scan_done(struct doc_scan *scan)
{
    free(scan->edits);
}

static void add_edit(struct doc_scan *scan, size_t at, size_t length, const char *text)
{
    /* Inside of what goes as a whole there is nothing to mend. */
    if (scan->depth > scan->depth_max)
        return;
    if (scan->edit_count == scan->edit_capacity) {
        scan->edit_capacity = scan->edit_capacity ? scan->edit_capacity * 2 : 16;
        scan->edits = xreallocarray(scan->edits, scan->edit_capacity, sizeof(*scan->edits));
    }
    scan->edits[scan->edit_count++] = (struct doc_edit){at, length, text};
}

static void scan_string(struct doc_scan *scan)
{
    static const char nul[] = "\\u0000";

    for (scan->at++; scan->at < scan->size && scan->text[scan->at] != '"'; scan->at++) {
        if (scan->text[scan->at] != '\\')
            continue;
        if (scan->is_lenient && scan->size - scan->at > strlen(nul) &&
            memcmp(scan->text + scan->at, nul, strlen(nul)) == 0) {
            add_edit(scan, scan->at, strlen(nul), "\\ufffd");
            scan->is_mended = true;
        }
        scan->at++;
    }
    scan->at++;
}

static void skip_digits(struct doc_scan *scan)
{
    while (scan->at < scan->size && is_digit(scan->text[scan->at]))
        scan->at++;
}

static bool is_next(const struct doc_scan *scan, const char *letters)
{
    return scan->at < scan->size && scan->text[scan->at] && strchr(letters, scan->text[scan->at]);
}

static bool is_too_big(const char *digits, size_t length)
{
    char copy[SAFE_DIGITS + 8] = {0};
    int64_t number = 0;

    if (length <= SAFE_DIGITS)
        return false;
    if (length >= sizeof(copy))
        return true;
    memcpy(copy, digits, length);
    return !number_parse_signed(copy, &number);
}

/* Past a fraction and an exponent: their digits are no number of their own. */
static void skip_rest_of_real(struct doc_scan *scan)
{
    if (is_next(scan, ".")) {
        scan->at++;
        skip_digits(scan);
    }
    if (!is_next(scan, "eE"))
        return;
    scan->at++;
    scan->at += is_next(scan, "+-");
    skip_digits(scan);
}

/* Go (and so the API server) reads integers past 64 bits as doubles. jansson refuses them, and one
 * odd number would cost us the whole list it came in; with ".0" behind it, it is a real. */
static void scan_number(struct doc_scan *scan)
{
    size_t start = scan->at;

    scan->at += scan->text[scan->at] == '-';
    skip_digits(scan);
    if (is_next(scan, ".eE"))
        skip_rest_of_real(scan);
    else if (is_too_big(scan->text + start, scan->at - start))
        add_edit(scan, scan->at, 0, ".0");
}

static int open_bracket(struct doc_scan *scan, struct error *err)
{
    if (scan->depth == scan->depth_max) {
        if (!scan->is_lenient)
            return error_set(err, ERROR_INVALID, "line %zu, column %zu: deeper than %zu levels",
                             scan->line, scan->at - scan->line_start + 1, scan->depth_max);
        scan->deep_start = scan->at;
    }
    scan->depth++;
    return 0;
}

static void close_bracket(struct doc_scan *scan)
{
    if (scan->depth == 0)
        return;
    scan->depth--;
    if (scan->depth == scan->depth_max) {
        add_edit(scan, scan->deep_start, scan->at + 1 - scan->deep_start, "null");
        scan->is_mended = true;
    }
}

int doc_scan_run(struct doc_scan *scan, struct error *err)
{
    while (scan->at < scan->size) {
        char letter = scan->text[scan->at];

        if (letter == '"') {
            scan_string(scan);
            continue;
        }
        if (letter == '-' || is_digit(letter)) {
            scan_number(scan);
            continue;
        }
        /* jansson takes a NUL behind the document for its end. */
        if (letter == '\0')
            return error_set(err, ERROR_INVALID,
                             "line %zu, column %zu: NUL characters are not allowed", scan->line,
                             scan->at - scan->line_start + 1);
        if ((letter == '[' || letter == '{') && open_bracket(scan, err) < 0)
            return -1;
        if (letter == ']' || letter == '}')
            close_bracket(scan);
        scan->at++;
        if (letter == '\n') {
            scan->line++;
            scan->line_start = scan->at;
        }
    }
    /* What never ends is no JSON, but it must not reach a parser that recurses either. */
    if (scan->depth > scan->depth_max)
        return error_set(err, ERROR_INVALID, "line %zu, column %zu: the text ends too early",
                         scan->line, scan->at - scan->line_start + 1);
    return 0;
}

char *doc_scan_edited(const struct doc_scan *scan, size_t *ret_size)
{
    size_t size = scan->size;
    size_t from = 0;
    size_t used = 0;
    char *text = NULL;

    if (scan->edit_count == 0)
        return NULL;
    for (size_t i = 0; i < scan->edit_count; i++)
        size += strlen(scan->edits[i].text);
    text = xmalloc(size);
    for (size_t i = 0; i < scan->edit_count; i++) {
        const struct doc_edit *edit = &scan->edits[i];

        memcpy(text + used, scan->text + from, edit->at - from);
        used += edit->at - from;
        memcpy(text + used, edit->text, strlen(edit->text));
        used += strlen(edit->text);
        from = edit->at + edit->length;
    }
    memcpy(text + used, scan->text + from, scan->size - from);
    *ret_size = used + scan->size - from;
    return text;
}
