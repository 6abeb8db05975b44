/* SPDX-License-Identifier: Apache-2.0 */
/* The response to a request: a code and a body. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "common/base/buffer.h"

struct reply {
    int code;
    const char *content_type;
    uint32_t retry_after_s; /* header Retry-After; 0: none */
    struct buffer body;
};

void reply_init(struct reply *reply);
void reply_done(struct reply *reply);
#define cleanup_reply __attribute__((cleanup(reply_done)))

void reply_text(struct reply *reply, int code, const char *text); /* text/plain */
void reply_json(struct reply *reply, int code, const json_t *value);

/* What failed, for the details of a Status. kind is the plural of the resource, or the kind in
 * messages about invalid objects. NULL or "": not given. */
struct reply_details {
    const char *group, *kind, *name, *uid;
    json_t *causes; /* taken over; NULL: none */
};
/* Appends a cause to the causes of a Status. */
void reply_add_cause(json_t *causes, const char *reason, const char *field, const char *format, ...)
    printf_like(4, 5);
/* A Status with status Failure. The message has no limit. Removes an earlier body. */
void reply_failure(struct reply *reply, int code, const char *reason,
                   const struct reply_details *details, const char *format, ...) printf_like(5, 6);
/* The Status of a deletion. */
void reply_success(struct reply *reply, const struct reply_details *details);
