/* SPDX-License-Identifier: Apache-2.0 */
/* What the body of a good answer holds. Pure. Part of kube/. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

/* How it is read. */
struct kube_answer {
    size_t size_max;
    const char *const *left_out; /* see doc_parse_json_without() */
    bool is_raw;                 /* text, not an object */
    bool is_unread;              /* nobody wants it: it only has to be the API server's */
    bool is_reducible;           /* see kube_object_parse() */
};

/* *ret_object is a new reference: an object (an empty one for an empty body), a string if is_raw,
 * NULL if is_unread. ERROR_TEMPORARY: somebody else answered in the server's place. */
int kube_answer_read(const struct kube_answer *answer, const struct buffer *body,
                     json_t **ret_object, struct error *err) must_check;
