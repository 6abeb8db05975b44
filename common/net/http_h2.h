/* SPDX-License-Identifier: Apache-2.0 */
/* Many calls over one HTTP/2 connection to a server. curl makes the connection (names, proxies, TLS
 * and whom it trusts); what goes over it is nghttp2's. curl's own HTTP/2 takes five times as many
 * system calls and twice the instructions for a request, and 7.88 may leave the rest of a large
 * answer in its buffer while another stream is quiet. Nobody but http includes this.
 *
 * nghttp2 may not be entered again from one of its callbacks either: the rules of http_internal.h
 * hold for it as well. */
#pragma once

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "common/net/http_internal.h"

struct http_stream;

struct http_h2 {
    struct http_client *client;
    struct http_h2 *next;
    char *origin; /* "https://host:port" */
    const struct http_tls *tls;
    struct http_call *link;   /* whose handle holds the connection; in no list of calls */
    struct http_pool *pool;   /* of the link alone */
    nghttp2_session *session; /* NULL: not connected yet */
    bool is_ready;            /* the server has said how many streams it takes */
    const SSL *ssl;           /* curl's; known once its handshake is done */
    int fd;
    bool is_write_awaited; /* the kernel has taken as much as it could */
    bool is_leaving;       /* new calls take another one: it is said to end, or it is silent */
    bool is_lost;
    size_t call_count;
    struct http_stream *streams; /* all that nghttp2 knows of */
    struct buffer out;           /* frames on their way */
};

void http_h2_setup(struct http_client *client);
/* Whether a request goes this way: not once its server was found to speak no HTTP/2. */
bool http_h2_takes(const struct http_client *client, const struct http_request *request);
/* Puts a call on the connection to its server, on a new one if there is none. */
int http_h2_add(struct http_call *call, struct error *err) must_check;
/* Takes it off, in whatever state its stream is. */
void http_h2_remove(struct http_call *call);

/* For settle(): takes note of what curl has connected; sends what is ready to be sent; closes what
 * nobody uses any more. */
void http_h2_connected(struct http_client *client);
void http_h2_flush(struct http_client *client);
void http_h2_close_unused(struct http_client *client);
void http_h2_close_all(struct http_client *client); /* their calls are gone */

/* Opens the streams of the calls that have waited for it. */
void http_h2_ready(struct http_h2 *h2);

/* http_stream.c: the session of a connection, and one call in it. */
void http_session_open(struct http_h2 *h2);
void http_session_close(struct http_h2 *h2);
/* The connection takes no more streams if this fails. */
int http_stream_open(struct http_h2 *h2, struct http_call *call) must_check;
void http_stream_leave(struct http_call *call);
