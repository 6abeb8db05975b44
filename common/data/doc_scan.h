/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: one pass over JSON text before jansson reads it. It bounds the depth before
 * anything recurses, and mends what jansson would refuse although the rest of the text is fine. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct doc_edit {
    size_t at;
    size_t length;    /* bytes that go */
    const char *text; /* what comes in their place */
};

struct doc_scan {
    bool is_lenient; /* NUL in texts and what is too deep are edited, not left for refusal */
    bool is_mended;  /* that was done */
    size_t depth_max;
    const char *text;
    size_t size;
    size_t at;
    size_t line;
    size_t line_start;
    size_t depth;
    size_t deep_start; /* where what is too deep begins */
    struct doc_edit *edits;
    size_t edit_count;
    size_t edit_capacity;
};

/* text is borrowed. The text need not be JSON; what is wrong otherwise is jansson's to say. */
void doc_scan_init(struct doc_scan *scan, const char *text, size_t size, size_t depth_max,
                   bool is_lenient);
int doc_scan_run(struct doc_scan *scan, struct error *err) must_check;
/* The text with its edits; NULL if there are none. */
char *doc_scan_edited(const struct doc_scan *scan, size_t *ret_size);
void doc_scan_done(struct doc_scan *scan);

#define cleanup_scan __attribute__((cleanup(doc_scan_done)))

/* doc_parse_json() for a part of a document that has fewer levels left. */
int doc_parse_json_within(const char *text, size_t size, size_t depth_max, json_t **ret_doc,
                          struct error *err) must_check;
