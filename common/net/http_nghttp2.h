/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the HTTP/2 transport and what they share. Private to common/net.
 *
 * http_nghttp2.c    the transport: calls and their exchanges
 * http_origin.c     the servers that are known, and which connection new calls use
 * http_connection.c a connection: connecting, TLS, bytes
 * http_liveness.c   detection of servers that hang
 * http_stream.c     a session of nghttp2 and its streams
 *
 * A client may have connections to thousands of servers, so nothing here walks over all of them,
 * and a connection on which nothing happens holds no buffers. */
#pragma once

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "common/base/hash_table.h"
#include "common/net/http_curl.h"
#include "common/net/http_tls.h"

enum {
    HTTP_REQUEST_HEADERS_MAX = 16,
    /* TCP connections and handshakes under way at a time; others wait for their turn. */
    HTTP_CONNECTING_MAX = 256,
    /* Connections that keep their buffers (about 35 KB) when nothing happens. */
    HTTP_BUFFERED_MAX = 16,
    /* A connection with calls on which nothing was received for so long is sent a PING, and is
     * given up if there is still nothing after that many further checks: within a minute. The
     * kernel notices a machine that is gone as early, but not a process that hangs. */
    HTTP_PING_AFTER_MS = 40 * 1000,
    HTTP_PING_CHECK_MS = 5 * 1000,
    HTTP_PING_CHECKS = 3,
    HTTP_LIVENESS_SECONDS = 64, /* more than the longest of these times */
};

/* What is in a TLS record cannot be taken back, and the rest of the record cannot be left out. */
#define HTTP_REFUSED_IN_BUFFER "connection closed to stop a request that is no longer allowed"

/* A server and the TLS settings for it. */
struct origin {
    struct hash_entry entry;
    const struct http_tls *tls;
    struct connection *connection; /* for new calls, or NULL */
    SSL_SESSION *session;          /* to be resumed, or NULL */
    size_t references;             /* of connections */
    bool is_http1;                 /* it does not support HTTP/2 */
    bool is_forgotten;             /* no longer in the table; tls may be gone */
    char text[];                   /* "https://host:port" */
};

struct connection {
    struct http_client *client;
    struct connection *next, *previous; /* all of the client */
    struct connection *next_waiting;    /* for its turn to connect */
    struct connection *next_dirty;
    struct connection *newer, *older; /* among those with buffers */
    struct connection *next_look;     /* in the same list of http_liveness.c */
    struct connection **look_link;    /* what refers to it there; NULL: in no list */
    struct origin *origin;
    struct http_transfer *link; /* while curl connects */
    SSL *ssl;                   /* NULL: curl connects, or the connection waits */
    nghttp2_session *session;   /* NULL: no handshake yet */
    struct loop_timer timer;    /* of connecting */
    int fd;
    uint32_t awaited_events;
    uint32_t connect_timeout_ms;
    bool is_dirty;      /* has to be flushed, or closed */
    bool is_waiting;    /* in the queue of those that want to connect */
    bool is_connecting; /* counted in connecting_count */
    bool is_ready;      /* the server's settings were received: streams can be opened */
    bool is_buffered;   /* among those with buffers */
    bool is_draining;   /* no new calls: GOAWAY received, or a call timed out */
    bool is_lost;
    uint8_t ping_checks;
    uint64_t received_ms; /* when anything was received last */
    uint64_t look_at_s;
    size_t call_count;
    size_t unsent_count; /* exchanges with is_unsent */
    struct exchange *exchanges;
    struct buffer out; /* frames to be written */
    void *frame_block; /* of http_stream.c */
    size_t frame_block_size;
    bool is_frame_block_used; /* since its pages were given back */
};

/* A call, and its stream if it has one. A call can be cancelled before its stream is closed, and
 * the server can close a stream before its call is finished; so an exchange is freed when neither
 * the call nor nghttp2 nor the list of ended ones refers to it. */
struct exchange {
    struct exchange *next, *previous; /* of the connection */
    struct exchange *next_ended;
    struct connection *connection; /* NULL: on none */
    struct http_call *call;        /* NULL: gone */
    int32_t stream_id;             /* 0: nghttp2 does not know it (any more) */
    enum http_end end;
    bool is_attached; /* counted in connection->call_count */
    bool is_unsent;   /* it has may_send, and a part of it may not be written yet */
    bool is_gathered; /* its last frame is in connection->out, or written */
    bool is_ended;    /* in the list of ended ones */
    size_t body_sent;
    uint64_t sent_ms;       /* when it was put on the connection */
    uint64_t body_bytes;    /* in both directions */
    struct buffer *headers; /* of the response: "name\0value\0..."; NULL: none are kept */
};

/* The connections by the second at which they have to be looked at. */
struct http_liveness {
    struct loop_timer timer;
    uint64_t done_s;
    struct connection *lists[HTTP_LIVENESS_SECONDS];
};

struct http_nghttp2 {
    struct http_tls_context *tls;
    struct http_liveness liveness;
    struct hash_table origins;
    size_t http1_count; /* origins with is_http1 */
    struct connection *connections;
    struct connection *waiting, **waiting_end; /* to connect, oldest first */
    size_t connecting_count;
    struct connection *dirty;
    struct connection *newest, *oldest; /* of those with buffers */
    size_t buffered_count;
    struct exchange *ended, **ended_end; /* oldest first */
    uint64_t visit_count; /* connections looked at: tests check that it follows the events */
    bool has_tls_proxy;
};

/* ---- http_nghttp2.c ---- */

bool exchange_is_live(const struct exchange *exchange);
/* Puts a live exchange into the list of ended ones. */
void exchange_end(struct exchange *exchange, enum http_end end);
/* Leaves the connection, if neither the call nor nghttp2 needs it there. */
void exchange_unlink(struct exchange *exchange);
void exchange_free_if_unused(struct exchange *exchange);
/* Nothing of it remains to be written. */
void exchange_note_sent(struct exchange *exchange);

/* ---- http_origin.c ---- */

/* The length of "https://host:port" at the start of an https:// URL. */
size_t origin_length(const char *url);
struct origin *origin_find(const struct http_nghttp2 *state, const struct http_tls *tls,
                           const char *url);
/* Finds it or adds it; the reference is given back with origin_put(). */
struct origin *origin_get(struct http_nghttp2 *state, const struct http_tls *tls, const char *url);
void origin_put(struct origin *origin);
void origin_forget(struct http_nghttp2 *state, struct origin *origin);
void origins_free(struct http_nghttp2 *state);

/* ---- http_connection.c ---- */

/* A connection for this call, which begins to connect as soon as it is its turn. */
struct connection *connection_new(const struct http_call *call);
void connection_free(struct connection *connection);
/* Has it flushed, and closed if it is not needed any more. */
void connection_mark_dirty(struct connection *connection);
/* New calls use another connection. */
void connection_drain(struct connection *connection);
/* The connection is lost: all its calls fail. */
void connection_fail(struct connection *connection, const struct error *err, enum http_end end);
void connection_break(struct connection *connection, const char *reason);
void connection_time_out(struct connection *connection, const char *reason);
/* Begins to connect those that wait, up to the limit. */
void connections_start_waiting(struct http_nghttp2 *state);
void connections_flush(struct http_client *client);

/* ---- http_liveness.c ---- */

void liveness_init(struct http_liveness *liveness, struct loop *loop);
void liveness_done(struct http_liveness *liveness);
/* From now on its server has to send something from time to time. */
void liveness_watch(struct connection *connection);
void liveness_forget(struct connection *connection); /* not watched: fine */

/* ---- http_stream.c ---- */

void stream_open_session(struct connection *connection);
/* Gives memory back that is not needed while nothing is sent. */
void stream_release_buffers(struct connection *connection);
/* If this fails, the connection takes no more streams. */
int stream_open(struct exchange *exchange) must_check;
