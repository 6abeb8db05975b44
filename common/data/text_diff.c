/* SPDX-License-Identifier: Apache-2.0 */
/* The algorithm of Myers (An O(ND) Difference Algorithm, 1986), which finds a shortest script of
 * removed and added lines. */
#include "common/data/text_diff.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"

enum {
    CONTEXT_LINES = 3,
    EDITS_MAX = 1000, /* needs 4 MiB; time is this times the number of lines */
};

struct line {
    const char *text;
    size_t size; /* without the newline */
    uint64_t hash;
    bool is_edited; /* removed from before, or added in after */
};

struct text {
    struct line *lines;
    size_t count;
};

static uint64_t hash_of(const char *bytes, size_t size)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash;
}

static struct text split(const char *text)
{
    size_t capacity = 64;
    struct text result = {.lines = xcalloc(capacity, sizeof(*result.lines))};

    while (*text) {
        size_t size = strcspn(text, "\n");

        if (result.count == capacity) {
            capacity *= 2;
            result.lines = xreallocarray(result.lines, capacity, sizeof(*result.lines));
        }
        result.lines[result.count++] =
            (struct line){.text = text, .size = size, .hash = hash_of(text, size)};
        text += size + (text[size] == '\n');
    }
    return result;
}

static bool is_same(const struct line *a, const struct line *b)
{
    return a->hash == b->hash && a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

/* ---- Finding the edits ---- */

/* The part of both texts that differs, and what the search has found. For each number of edits,
 * reach has the furthest line of before on each diagonal k = x - y from -edits to edits. */
struct search {
    struct line *before, *after;
    ptrdiff_t before_count, after_count;
    int32_t *reach[EDITS_MAX + 1];
};

static int32_t reach_at(const struct search *search, ptrdiff_t edits, ptrdiff_t k)
{
    return search->reach[edits][k + edits];
}

/* Whether the last edit on the way to diagonal k adds a line: comes from diagonal k + 1. */
static bool is_addition(const struct search *search, ptrdiff_t edits, ptrdiff_t k)
{
    return k == -edits ||
           (k != edits && reach_at(search, edits - 1, k - 1) < reach_at(search, edits - 1, k + 1));
}

/* The diagonals k - 1 and k + 1 of the step before exist, if they are asked for. */
static ptrdiff_t first_x(const struct search *search, ptrdiff_t edits, ptrdiff_t k)
{
    if (edits == 0)
        return 0;
    return is_addition(search, edits, k) ? reach_at(search, edits - 1, k + 1)
                                         : reach_at(search, edits - 1, k - 1) + 1;
}

/* Returns whether the end of both texts is reached with this number of edits. */
static bool extend(struct search *search, ptrdiff_t edits)
{
    search->reach[edits] = xcalloc((size_t)(2 * edits + 1), sizeof(int32_t));
    for (ptrdiff_t k = -edits; k <= edits; k += 2) {
        ptrdiff_t x = first_x(search, edits, k);

        while (x < search->before_count && x - k < search->after_count &&
               is_same(&search->before[x], &search->after[x - k]))
            x++;
        search->reach[edits][k + edits] = (int32_t)x;
        if (x >= search->before_count && x - k >= search->after_count)
            return true;
    }
    return false;
}

static void mark_all(struct search *search)
{
    for (ptrdiff_t i = 0; i < search->before_count; i++)
        search->before[i].is_edited = true;
    for (ptrdiff_t i = 0; i < search->after_count; i++)
        search->after[i].is_edited = true;
}

/* Walks back from the end. */
static void mark_edits(struct search *search, ptrdiff_t edits)
{
    ptrdiff_t k = search->before_count - search->after_count;

    for (; edits > 0; edits--) {
        ptrdiff_t x = first_x(search, edits, k);

        if (is_addition(search, edits, k)) {
            search->after[x - k - 1].is_edited = true;
            k++;
        } else {
            search->before[x - 1].is_edited = true;
            k--;
        }
    }
}

static void find_edits(struct search *search)
{
    ptrdiff_t edits = 0;

    while (edits <= EDITS_MAX && !extend(search, edits))
        edits++;
    if (edits <= EDITS_MAX)
        mark_edits(search, edits);
    else
        mark_all(search);
    for (ptrdiff_t i = 0; i <= EDITS_MAX; i++)
        free(search->reach[i]);
}

static void compare(const struct text *before, const struct text *after)
{
    size_t least = before->count < after->count ? before->count : after->count;
    size_t start = 0;
    size_t end = 0;
    struct search search = {0};

    while (start < least && is_same(&before->lines[start], &after->lines[start]))
        start++;
    while (end < least - start &&
           is_same(&before->lines[before->count - 1 - end], &after->lines[after->count - 1 - end]))
        end++;
    search.before = before->lines + start;
    search.after = after->lines + start;
    search.before_count = (ptrdiff_t)(before->count - start - end);
    search.after_count = (ptrdiff_t)(after->count - start - end);
    find_edits(&search);
}

/* ---- Writing ---- */

/* A line of the diff. */
struct row {
    char mark; /* ' ', '-' or '+' */
    const char *text;
    size_t size;
};

static struct row row_of(char mark, const struct line *line)
{
    return (struct row){mark, line->text, line->size};
}

static size_t list_rows(const struct text *before, const struct text *after, struct row *rows)
{
    size_t i = 0;
    size_t j = 0;
    size_t count = 0;

    while (i < before->count || j < after->count) {
        if (i < before->count && before->lines[i].is_edited) {
            rows[count++] = row_of('-', &before->lines[i++]);
        } else if (j < after->count && after->lines[j].is_edited) {
            rows[count++] = row_of('+', &after->lines[j++]);
        } else {
            rows[count++] = row_of(' ', &before->lines[i++]);
            j++;
        }
    }
    return count;
}

static void put(struct buffer *out, const char *bytes, size_t size)
{
    struct error ignored = {0};

    (void)!buffer_append(out, bytes, size, &ignored);
}

/* " -3,4" or " -3". Counting begins with 1, but an empty range is named by the line before it. */
static void put_range(struct buffer *out, char mark, size_t start, size_t count)
{
    struct error ignored = {0};

    (void)!buffer_append_text(out, &ignored, " %c%zu", mark, count ? start + 1 : start);
    if (count != 1)
        (void)!buffer_append_text(out, &ignored, ",%zu", count);
}

static size_t count_in(const struct row *rows, size_t count, char other)
{
    size_t result = 0;

    for (size_t i = 0; i < count; i++)
        result += rows[i].mark != other ? 1 : 0;
    return result;
}

static void put_hunk(struct buffer *out, const struct row *rows, size_t start, size_t end)
{
    put(out, "@@", 2);
    put_range(out, '-', count_in(rows, start, '+'), count_in(rows + start, end - start, '+'));
    put_range(out, '+', count_in(rows, start, '-'), count_in(rows + start, end - start, '-'));
    put(out, " @@\n", 4);
    for (size_t i = start; i < end; i++) {
        put(out, &rows[i].mark, 1);
        put(out, rows[i].text, rows[i].size);
        put(out, "\n", 1);
    }
}

/* The end of the hunk that begins with the edit at row i: edits with at most twice the context
 * between them are in the same hunk. */
static size_t hunk_end(const struct row *rows, size_t count, size_t i)
{
    size_t last = i;

    for (; i < count && i - last <= 2 * CONTEXT_LINES + 1; i++)
        last = rows[i].mark == ' ' ? last : i;
    return last + 1 + CONTEXT_LINES < count ? last + 1 + CONTEXT_LINES : count;
}

static void put_hunks(struct buffer *out, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t end = 0;

        if (rows[i].mark == ' ')
            continue;
        end = hunk_end(rows, count, i);
        put_hunk(out, rows, i > CONTEXT_LINES ? i - CONTEXT_LINES : 0, end);
        i = end;
    }
}

char *text_diff(const char *before, const char *after)
{
    struct text old = split(before);
    struct text new = split(after);
    struct row *rows = xcalloc(old.count + new.count + 1, sizeof(*rows));
    cleanup_buffer struct buffer out = {0};

    buffer_init(&out, SIZE_MAX / 2);
    compare(&old, &new);
    put_hunks(&out, rows, list_rows(&old, &new, rows));
    free(rows);
    free(old.lines);
    free(new.lines);
    return out.data ? buffer_take(&out) : xstrdup("");
}
