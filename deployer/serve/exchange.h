/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer, for handlers that answer later or with a stream (server_set_pages()).
 * An exchange ends with exchange_answer(), or when the client or the server closes the connection;
 * it must not be used afterwards. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct exchange;

typedef void exchange_fn(void *data, struct exchange *exchange);

enum { EXCHANGE_BACKLOG_MAX = 64 * 1024 };

const char *exchange_path(const struct exchange *exchange); /* without the query; not decoded */
char *exchange_parameter(const struct exchange *exchange, const char *name); /* as in request.h */
char *exchange_header(const struct exchange *exchange, const char *name);    /* as in request.h */
bool exchange_accepts_gzip(const struct exchange *exchange);                 /* as in request.h */

/* closed is called when the connection is gone before the answer was given, and at the end of a
 * stream. NULL: nothing is called any more. */
void exchange_on_close(struct exchange *exchange, exchange_fn *closed, void *data);

/* headers: more lines, each with "\r\n" at its end; may be "". The body is copied. Without this
 * call the connection is closed after SERVE_PATIENCE_MS. */
void exchange_answer(struct exchange *exchange, int status, const char *content_type,
                     const char *headers, const void *body, size_t size);

/* Begins an answer without end. */
void exchange_stream(struct exchange *exchange, const char *content_type, const char *headers);
/* Sends a part of the stream. Never blocks: a client that is more than EXCHANGE_BACKLOG_MAX bytes
 * behind, or does not read anything for SERVE_PATIENCE_MS, is disconnected. Returns false if the
 * exchange has ended by this; closed was called then. */
bool exchange_send(struct exchange *exchange, const char *text, size_t size);
/* Closes the connection; closed is called. */
void exchange_close(struct exchange *exchange);
