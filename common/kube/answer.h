/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the body of a successful response. No I/O. Private to common/kube. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

/* How to read it. */
struct kube_answer {
    size_t size_max;
    const char *const *skipped_members; /* see doc_parse_json_without() */
    bool is_raw;                        /* text, not an object */
    bool is_unread;                     /* check only that it is a JSON object */
    bool is_reducible;                  /* see kube_object_parse() */
};

/* *ret_object is a new reference: an object (an empty one for an empty body), a string if is_raw,
 * NULL if is_unread. ERROR_TEMPORARY if the response did not come from an API server. */
int kube_answer_read(const struct kube_answer *answer, const struct buffer *body,
                     json_t **ret_object, struct error *err) must_check;
