/* SPDX-License-Identifier: Apache-2.0 */
/* Inside kube/: splits responses while they arrive, a watch into lines and a list into its items,
 * so that only one piece is in memory. The result does not depend on how the bytes are chunked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buffer.h"
#include "common/data/lexer.h"

/* Receives one piece; text is NULL for a piece that was skipped because it exceeds the limit. A
 * non-zero result stops the splitting at once; the callback may then have freed the splitter. */
typedef int split_fn(void *data, const char *text, size_t size);

/* Lines end with '\n', which is not part of them. Empty lines are skipped. */
struct line_split {
    struct buffer line;
    bool is_skipping; /* the rest of a line that is too long */
};

void line_split_init(struct line_split *split, size_t max);
void line_split_done(struct line_split *split);
/* Returns the non-zero result of a callback, or 0. */
int line_split_feed(struct line_split *split, const char *bytes, size_t size, split_fn *on_line,
                    void *data);

/* The same with a splitter that exists only while a line is incomplete; *split is NULL otherwise,
 * and while callbacks run. */
int line_split_pass(struct line_split **split, size_t max, const char *bytes, size_t size,
                    split_fn *on_line, void *data);
void line_split_free(struct line_split *split); /* NULL is fine */

enum { ITEM_SPLIT_ENVELOPE_MAX = 256 * 1024 };

/* The objects in the array "items" of a JSON object. Everything else, with an empty array, is the
 * envelope, for the caller to parse at the end: it is valid JSON exactly if the rest of the
 * response was. */
struct item_split {
    struct buffer item, envelope;
    struct lexer_structure structure;
    size_t key_start; /* in the envelope: where the last string at depth 1 began */
    bool is_value;    /* at depth 1, after a colon */
    bool is_items;    /* the last key was "items" */
    bool is_inside;   /* the array of items */
    bool is_in_item;  /* an object in that array */
    bool is_skipping; /* the rest of an item that is too long */
};

void item_split_init(struct item_split *split, size_t item_max);
void item_split_done(struct item_split *split);
/* As line_split_feed(); -1 with ERROR_TOO_LARGE if the envelope exceeds its limit. */
int item_split_feed(struct item_split *split, const char *bytes, size_t size, split_fn *on_item,
                    void *data, struct error *err) must_check;
