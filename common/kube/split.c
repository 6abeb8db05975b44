/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/split.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

void line_split_init(struct line_split *split, size_t max)
{
    *split = (struct line_split){0};
    buffer_init(&split->line, max);
}

void line_split_done(struct line_split *split)
{
    buffer_done(&split->line);
}

/* Keeps a part of a line until its end arrives, or only the fact that it is too long. */
static void keep_line(struct line_split *split, const char *bytes, size_t size)
{
    struct error ignored = {0};

    if (!split->is_skipping && buffer_append(&split->line, bytes, size, &ignored) < 0) {
        buffer_done(&split->line);
        buffer_init(&split->line, split->line.max);
        split->is_skipping = true;
    }
}

static int end_line(struct line_split *split, split_fn *on_line, void *data)
{
    cleanup_buffer struct buffer line = split->line;
    bool was_skipping = split->is_skipping;

    /* The callback may free the splitter, so the line is taken out of it first. */
    buffer_init(&split->line, line.max);
    split->is_skipping = false;
    if (was_skipping)
        return on_line(data, NULL, 0);
    return line.size > 0 ? on_line(data, line.data, line.size) : 0;
}

int line_split_feed(struct line_split *split, const char *bytes, size_t size, split_fn *on_line,
                    void *data)
{
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t length = end ? (size_t)(end - bytes) : size;
        int result = 0;

        keep_line(split, bytes, length);
        if (!end)
            break;
        result = end_line(split, on_line, data);
        if (result != 0)
            return result;
        bytes = end + 1;
        size -= length + 1;
    }
    return 0;
}

void line_split_free(struct line_split *split)
{
    if (split)
        line_split_done(split);
    free(split);
}

int line_split_pass(struct line_split **split, size_t max, const char *bytes, size_t size,
                    split_fn *on_line, void *data)
{
    struct line_split own = {0};
    int result = 0;

    if (*split)
        own = **split;
    else
        line_split_init(&own, max);
    free(*split);
    *split = NULL;
    result = line_split_feed(&own, bytes, size, on_line, data);
    if (own.line.size > 0 || own.is_skipping)
        *split = xmemdup(&own, sizeof(own));
    else
        line_split_done(&own);
    return result;
}

void item_split_init(struct item_split *split, size_t item_max)
{
    *split = (struct item_split){0};
    buffer_init(&split->item, item_max);
    buffer_init(&split->envelope, ITEM_SPLIT_ENVELOPE_MAX);
}

void item_split_done(struct item_split *split)
{
    buffer_done(&split->item);
    buffer_done(&split->envelope);
}

static int end_item(struct item_split *split, split_fn *on_item, void *data)
{
    cleanup_buffer struct buffer item = split->item;
    bool was_skipping = split->is_skipping;

    buffer_init(&split->item, item.max);
    split->is_in_item = false;
    split->is_skipping = false;
    if (was_skipping)
        return on_item(data, NULL, 0);
    return on_item(data, item.data, item.size);
}

static void keep_item(struct item_split *split, const char *bytes, size_t size)
{
    struct error ignored = {0};

    if (!split->is_skipping && buffer_append(&split->item, bytes, size, &ignored) < 0) {
        buffer_done(&split->item);
        buffer_init(&split->item, split->item.max);
        split->is_skipping = true;
    }
}

static int keep_envelope(struct item_split *split, const char *bytes, size_t size,
                         struct error *err)
{
    return buffer_append(&split->envelope, bytes, size, err) < 0 ? error_wrap(err, "list") : 0;
}

/* Follows a structural byte of the envelope, which has just been appended to it. */
static void follow_envelope(struct item_split *split, char byte)
{
    static const char name[] = "items\"";
    const struct buffer *envelope = &split->envelope;
    size_t depth = split->structure.depth;

    switch (byte) {
    case '"':
        if (depth != 1 || split->is_value)
            break;
        /* A key "items" with escapes is not recognised; the API server writes none. */
        if (split->structure.is_in_string)
            split->key_start = envelope->size;
        else
            split->is_items = envelope->size - split->key_start == strlen(name) &&
                              memcmp(envelope->data + split->key_start, name, strlen(name)) == 0;
        break;
    case ':':
        split->is_value = depth == 1 || split->is_value;
        break;
    case ',':
        split->is_value = split->is_value && depth != 1;
        break;
    case '[':
        split->is_inside = split->is_inside || (depth == 2 && split->is_value && split->is_items);
        break;
    case ']':
    case '}':
        split->is_inside = split->is_inside && depth != 1;
        break;
    default:
        break;
    }
}

int item_split_feed(struct item_split *split, const char *bytes, size_t size, split_fn *on_item,
                    void *data, struct error *err)
{
    const char *end = bytes + size;
    const char *from = bytes; /* what has not been kept yet */
    const char *at = NULL;

    for (const char *next = bytes; (at = lexer_structure_next(&split->structure, next, end));) {
        size_t depth = split->structure.depth;

        next = at + 1;
        if (split->is_in_item) {
            int result = 0;

            if (depth > 2)
                continue;
            keep_item(split, from, (size_t)(next - from));
            from = next;
            result = end_item(split, on_item, data);
            if (result != 0)
                return result;
            continue;
        }
        if (split->is_inside && ((depth == 3 && *at == '{') || (depth == 2 && *at == ','))) {
            /* The start of an item, or the comma between two, which the empty array must not have.
             */
            if (keep_envelope(split, from, (size_t)(at - from), err) < 0)
                return -1;
            split->is_in_item = *at == '{';
            from = split->is_in_item ? at : next;
            continue;
        }
        if (keep_envelope(split, from, (size_t)(next - from), err) < 0)
            return -1;
        from = next;
        follow_envelope(split, *at);
    }
    if (split->is_in_item)
        keep_item(split, from, (size_t)(end - from));
    else if (keep_envelope(split, from, (size_t)(end - from), err) < 0)
        return -1;
    return 0;
}
