/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of http share; nobody else includes it.
 *
 * libcurl may not be entered again from one of its own callbacks (on_data runs in one). While we
 * are inside, calls that are started wait in the queue and calls that are cancelled stay as dead
 * ones; both are served when the last curl function has returned. */
#pragma once

#include <curl/curl.h>

#include "common/net/http.h"

enum {
    HTTP_BODY_MAX_DEFAULT = 4 * 1024 * 1024,
    HTTP_HEADERS_MAX = 256 * 1024,
    HTTP_CA_MAX = 8 * 1024 * 1024,
    HTTP_CONNECT_TIMEOUT_MS = 10000,
    HTTP_TCP_USER_TIMEOUT_MS = 30000,
    HTTP_KEEPALIVE_IDLE_S = 15,
    HTTP_KEEPALIVE_INTERVAL_S = 5,
    HTTP_STALL_CHECKS = 4,
    HTTP_IDLE_HANDLES_MAX = 32,
    HTTP_MULTIPLEXED_HEADERS_MAX = 16,
};

/* A multi handle and so a set of connections. A stream that times out does not close the HTTP/2
 * connection that it shares, and curl would give the dead connection to the next call; so after a
 * silent timeout new calls get a new pool, and the old one goes with the last of its calls. */
struct http_pool {
    struct http_client *client;
    struct http_pool *next;
    CURLM *multi;
    struct loop_timer timer; /* curl's own */
    size_t call_count;
};

/* scheme://host[:port]/path of a URL that can be sent, else ERROR_INVALID. */
struct http_url {
    char *scheme, *host, *port, *path; /* host of an IPv6 address in brackets; port never NULL */
    bool is_port_given;
};
int http_url_parse(const char *text, struct http_url *ret_url, struct error *err) must_check;
void http_url_done(struct http_url *url);

struct http_h2;     /* http_h2.h */
struct http_stream; /* a call on a connection that it shares */

struct http_client {
    struct loop *loop;
    char *user_agent;
    char *origin_text;       /* "https://host" of the last call */
    struct http_url origin;  /* and what is in it */
    struct http_pool *pools; /* the first one is for new calls */
    struct http_h2 *h2s;     /* connections of multiplexed calls */
    char **http1_origins;    /* servers that were asked for HTTP/2 and have none */
    size_t http1_origin_count;
    bool has_tls_proxy;
    struct loop_timer work_timer; /* for what cannot wait for the next event of curl */
    struct http_call *calls;      /* all of them, newest first */
    int depth;                    /* how many curl functions we are inside of */
    int settling;                 /* how many settle() we are inside of */
    bool has_work;                /* a call is queued, over or dead, or a connection is not used */
    bool has_global;
    CURL *idle[HTTP_IDLE_HANDLES_MAX]; /* handles for the next calls */
    size_t idle_count;
    uint64_t connection_count, request_count;
};

enum http_call_state {
    HTTP_CALL_QUEUED,  /* not in the multi handle yet, nor on a connection */
    HTTP_CALL_RUNNING, /* in the multi handle, or on a connection */
    HTTP_CALL_OVER,    /* its stream has ended; it is finished when nghttp2 returns */
    HTTP_CALL_ENDED,   /* out of it; on_done is running */
    HTTP_CALL_DEAD,    /* cancelled inside curl; removed when that returns */
};

/* A request of which nothing is borrowed but its tls. */
struct http_kept {
    struct http_request request;
    const char *authorization; /* "Bearer ..." or NULL */
    size_t size;
    struct http_header headers[]; /* and behind them all texts */
};

struct http_call {
    struct http_client *client;
    struct http_call *next, *previous;
    enum http_call_state state;
    struct http_pool *pool; /* NULL: not in a multi handle */
    CURL *easy;             /* NULL: multiplexed */
    bool is_easy_kept;      /* the handle can serve another call */
    struct curl_slist *headers, *connect_to;
    char *body_copy;
    size_t body_size;
    char *url_for_people; /* "https://host/path" */
    char *method;
    http_data_fn *on_data;
    http_done_fn *on_done;
    void *data;
    struct http_response response;
    struct buffer body;
    size_t headers_size;
    bool is_body_cut; /* an answer that is no success was longer than body_max: enough is known */
    struct error err; /* what a callback failed with */
    uint64_t stall_timeout_ms, progress_bytes;
    int idle_checks;
    struct loop_timer stall_timer;
    char curl_text[CURL_ERROR_SIZE];

    /* Only of a multiplexed call. */
    struct http_kept *kept;
    struct http_h2 *h2;           /* NULL: on none */
    struct http_stream *stream;   /* NULL: not begun, or ended */
    struct buffer answer_headers; /* "name\0value\0..." */
    uint64_t moved_bytes;
    struct loop_timer total_timer;
    CURLcode end_code;   /* when it is over */
    bool is_unprocessed; /* the server has said that it did not look at it */
};

/* http_pool.c */
int http_pool_new(struct http_client *client, struct http_pool **ret_pool, struct error *err)
    must_check;
void http_pool_free(struct http_pool *pool); /* its calls are gone */

/* http.c: around every function of curl that may call back. Not inside of http_start(). */
void http_enter(struct http_client *client);
void http_leave(struct http_client *client);
void http_work_later(struct http_client *client);
/* What has come of the answer; false: it goes no further, whatever comes. */
bool http_take_bytes(struct http_call *call, const char *bytes, size_t size);
bool http_note_headers(struct http_call *call, size_t size);
/* Of multiplexed calls: ended, to be finished by settle(); or to be sent once more. */
void http_call_over(struct http_call *call, CURLcode code);
void http_call_again(struct http_call *call);

/* http.c: a call that is in no list yet, and its end. */
struct http_call *http_call_new(struct http_client *client, const struct http_request *request);
void http_call_free(struct http_call *call); /* NULL is fine */

/* http_request.c */
int http_request_check(const struct http_call *call, const struct http_request *request,
                       const char *scheme, struct error *err) must_check;
struct http_kept *http_request_keep(const struct http_request *request);
void http_kept_free(struct http_kept *kept);

/* http_handle.c: a handle from the client's idle ones or a new one; and back, to be kept or not. To
 * make one costs as much as a request: with c-ares it reads the resolver's configuration. */
CURL *http_handle_take(struct http_client *client);
void http_handle_give(struct http_client *client, CURL *easy, bool is_kept);
void http_handles_drop(struct http_client *client); /* frees the idle ones */

/* http_easy.c: the curl handle of a request. */
int http_easy_setup(struct http_call *call, const struct http_request *request,
                    const struct http_url *url, struct error *err) must_check;
/* On top of that: curl connects, with what on_context says of TLS, and leaves the rest to us. */
int http_easy_setup_link(struct http_call *call, curl_ssl_ctx_callback on_context, void *data,
                         struct error *err) must_check;

/* http_response.c: fills in what is known of the answer so far. */
void http_response_update(struct http_call *call);

/* http_error.c */
void http_error_from_curl(const struct http_call *call, CURLcode code, struct error *err);

/* http_url.c: where a URL leads to; its path is not looked at. Almost all calls of a client go to
 * one server, so the last one is remembered. */
int http_origin_of(struct http_client *client, const char *url, const struct http_url **ret_origin,
                   struct error *err) must_check;
void http_origin_done(struct http_client *client);
