/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/split.h"

#include <string.h>

void line_split_init(struct line_split *split, size_t max)
{
    *split = (struct line_split){0};
    buffer_init(&split->line, max);
}

void line_split_done(struct line_split *split)
{
    buffer_done(&split->line);
}

/* Keeps the start of a line until its end comes, or only the fact that it is too long. */
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

    /* The callback may end the splitter's life, so the line is taken out of it first. */
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

static void end_string(struct item_split *split)
{
    split->is_in_string = false;
    if (split->is_key)
        split->is_items =
            split->key_size == strlen("items") && memcmp(split->key, "items", split->key_size) == 0;
    split->is_key = false;
}

static void inside_string(struct item_split *split, char byte)
{
    if (split->is_escaped) {
        split->is_escaped = false;
    } else if (byte == '\\') {
        split->is_escaped = true;
    } else if (byte == '"') {
        end_string(split);
        return;
    }
    /* An escaped "items" is not recognised; the API server writes none. */
    if (split->is_key && split->key_size < sizeof(split->key))
        split->key[split->key_size++] = byte;
}

/* Follows the structure by one byte that is outside of strings. True if an item ends with it. */
static bool outside_string(struct item_split *split, char byte)
{
    switch (byte) {
    case '"':
        split->is_in_string = true;
        split->is_key = split->depth == 1 && !split->is_value;
        split->key_size = 0;
        return false;
    case ':':
        split->is_value = split->depth == 1 || split->is_value;
        return false;
    case ',':
        if (split->depth == 1)
            split->is_value = false;
        return false;
    case '{':
    case '[':
        split->depth++;
        if (split->depth == 2 && byte == '[' && split->is_value && split->is_items)
            split->is_inside = true;
        else if (split->depth == 3 && byte == '{' && split->is_inside)
            split->is_in_item = true;
        return false;
    case '}':
    case ']':
        split->depth -= split->depth > 0;
        if (split->depth == 1)
            split->is_inside = false;
        return split->is_in_item && split->depth == 2;
    default:
        return false;
    }
}

/* Whether the byte between two items is one that an empty array does not have. */
static bool is_separator(const struct item_split *split, char byte)
{
    return split->is_inside && split->depth == 2 && !split->is_in_string && byte == ',';
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

int item_split_feed(struct item_split *split, const char *bytes, size_t size, split_fn *on_item,
                    void *data, struct error *err)
{
    size_t start = 0; /* of what goes into the item as a whole */

    for (size_t i = 0; i < size; i++) {
        bool was_in_item = split->is_in_item;
        bool has_ended = false;
        int result = 0;

        if (split->is_in_string)
            inside_string(split, bytes[i]);
        else
            has_ended = outside_string(split, bytes[i]);
        if (!was_in_item && split->is_in_item)
            start = i;
        if (!split->is_in_item && !is_separator(split, bytes[i]) &&
            buffer_append(&split->envelope, bytes + i, 1, err) < 0)
            return error_wrap(err, "list");
        if (has_ended) {
            keep_item(split, bytes + start, i + 1 - start);
            result = end_item(split, on_item, data);
            if (result != 0)
                return result;
        }
    }
    if (split->is_in_item)
        keep_item(split, bytes + start, size - start);
    return 0;
}
