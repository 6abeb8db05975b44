/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts streams into pieces as the bytes come: a watch into lines, a list into its items. At most
 * one piece is held. Where the stream is cut into chunks makes no difference. Part of kube/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buffer.h"

/* Non-zero stops the feeding at once; the splitter may be gone then. text is NULL for a piece that
 * was longer than the limit and is passed over. */
typedef int split_fn(void *data, const char *text, size_t size);

/* Lines end with '\n', which is not part of them. Empty lines are passed over. */
struct line_split {
    struct buffer line;
    bool is_skipping; /* the rest of a line that is too long */
};

void line_split_init(struct line_split *split, size_t max);
void line_split_done(struct line_split *split);
/* Returns what a callback returned, or 0. */
int line_split_feed(struct line_split *split, const char *bytes, size_t size, split_fn *on_line,
                    void *data);

enum { ITEM_SPLIT_ENVELOPE_MAX = 256 * 1024, ITEM_SPLIT_KEY_MAX = 8 };

/* The objects in the array "items" of a JSON object. All the rest, with an empty array, is the
 * envelope, which is to be parsed in the end: it is valid JSON exactly if the rest was. */
struct item_split {
    struct buffer item, envelope;
    size_t depth;
    bool is_in_string, is_escaped;
    bool is_key;     /* the string that began at depth 1 is a key */
    bool is_value;   /* at depth 1, after a colon */
    bool is_items;   /* the last key was "items" */
    bool is_inside;  /* of the array of items */
    bool is_in_item; /* of an object in that array */
    bool is_skipping;
    char key[ITEM_SPLIT_KEY_MAX];
    size_t key_size;
};

void item_split_init(struct item_split *split, size_t item_max);
void item_split_done(struct item_split *split);
/* As line_split_feed(); -1 with ERROR_TOO_LARGE where the envelope is too long. */
int item_split_feed(struct item_split *split, const char *bytes, size_t size, split_fn *on_item,
                    void *data, struct error *err) must_check;
