/* SPDX-License-Identifier: Apache-2.0 */
/* How http.c sends requests: the interface of a transport, and the state that http.c and the
 * transports share. Private to common/net.
 *
 * There are two transports. http_curl.c can send every request. http_nghttp2.c sends the requests
 * that are marked is_multiplexed over one HTTP/2 connection per server; it lets curl connect (name
 * resolution, proxies) and then does TLS and HTTP/2 itself. It exists for these reasons:
 * - curl 7.88 (Debian 12) can leave the rest of a large response in its buffer while another stream
 *   of the connection is idle, so that a list stalls behind a quiet watch.
 * - A request takes 3 system calls instead of 14 and half of the instructions (measured with
 *   `make bench` against a real API server when the transport was introduced).
 * - A connection takes one descriptor and a third of the memory, so that one process can have
 *   connections to thousands of servers.
 *
 * Neither libcurl nor nghttp2 may be entered again from one of its own callbacks, and on_data of a
 * call runs in one. So every call of a library function that may call back is enclosed in
 * http_enter() and http_leave(). Meanwhile calls that are started stay queued, calls that are
 * cancelled stay allocated, and calls that end are only marked; the last http_leave() handles them
 * all. */
#pragma once

#include "common/net/http.h"

enum {
    HTTP_BODY_MAX_DEFAULT = 4 * 1024 * 1024,
    HTTP_HEADERS_MAX = 256 * 1024,
    HTTP_CONNECT_TIMEOUT_MS = 10000,
};

/* How an exchange ended. */
enum http_end {
    HTTP_END_COMPLETE, /* the whole response was received */
    HTTP_END_STOPPED,  /* http_take_header() or http_take_bytes() returned false */
    HTTP_END_BROKEN,   /* the stream or connection broke, for the reason in call->err. If a status
                        * of 400 or more has been received, the call still succeeds with it: a
                        * server may close the stream before it has read the whole request */
    HTTP_END_FAILED,   /* for the reason in call->err */
};

struct http_transport {
    /* Sets up and tears down the transport's part of a client. No call is left at close(). */
    int (*open)(struct http_client *client, struct error *err) must_check;
    void (*close)(struct http_client *client);
    /* Whether the transport can send this request. May change while the client lives. */
    bool (*accepts)(const struct http_client *client, const struct http_request *request);

    /* Allocates call->exchange. Fails if the request cannot be sent at all. */
    int (*prepare)(struct http_call *call, struct error *err) must_check;
    int (*send)(struct http_call *call, struct error *err) must_check;
    /* Takes the call off its connection, if it is on one; response headers stay readable. */
    void (*detach)(struct http_call *call, bool is_success);
    /* Detaches the call and frees call->exchange. */
    void (*release)(struct http_call *call);
    /* The call timed out without receiving anything. Called before detach(); the transport decides
     * whether new calls may still use its connection. */
    void (*note_timeout)(struct http_call *call);
    /* Whether the call waits until other connections have been made. Timeouts begin after that. */
    bool (*is_waiting)(const struct http_call *call);
    /* Bytes of the bodies that were sent and received so far. */
    uint64_t (*body_bytes)(const struct http_call *call);
    /* The value of the index-th header of that name, in any case, or NULL. Borrowed. */
    const char *(*header)(const struct http_call *call, const char *name, size_t index);

    /* Calls http_call_finish() for every call that has ended. Owners are called from here. */
    void (*finish_ended)(struct http_client *client);
    /* Writes what waits to be written and frees connections that are no longer used. */
    void (*flush)(struct http_client *client);
};

extern const struct http_transport http_curl_transport;
extern const struct http_transport http_nghttp2_transport;

/* scheme://host[:port]/path of a URL that can be sent, else ERROR_INVALID. */
struct http_url {
    char *scheme, *host, *port, *path; /* host of an IPv6 address in brackets; port never NULL */
    bool is_port_given;
};
int http_url_parse(const char *text, struct http_url *ret_url, struct error *err) must_check;
void http_url_done(struct http_url *url);

struct http_client {
    struct loop *loop;
    char *user_agent;
    char *origin_text;            /* "https://host" of the last call, see http_origin_of() */
    struct http_url origin;       /* the same, parsed */
    struct http_curl *curl;       /* state of the transports */
    struct http_nghttp2 *nghttp2; /* the same */
    struct loop_timer work_timer; /* runs http_leave()'s work when no library call is under way */
    struct http_call *calls;      /* all of them, newest first */
    struct http_call *work;       /* to be sent or freed, oldest first */
    struct http_call **work_end;
    int depth;     /* of http_enter() */
    int settling;  /* nesting depth of settle(): on_done may run the loop */
    bool has_work; /* settle() has to go round once more */
    uint64_t connection_count, request_count;
};

enum http_call_state {
    HTTP_CALL_QUEUED,  /* in client->work, to be sent */
    HTTP_CALL_RUNNING, /* given to its transport */
    HTTP_CALL_ENDED,   /* on_done is running */
    HTTP_CALL_DEAD,    /* cancelled; in client->work, to be freed */
};

/* The request of a call: a copy, of which only tls is borrowed. body is not NULL for POST. */
struct http_input {
    struct http_request request;
    char *authorization;          /* "Bearer ..." or NULL; request.bearer is a part of it */
    size_t size;                  /* of this allocation, wiped before it is freed */
    struct http_header headers[]; /* followed by all texts and the body */
};

/* A process may have a hundred thousand calls that live for long, one per watch. So whatever is not
 * needed any more once the request was sent is in input. */
struct http_call {
    struct http_client *client;
    struct http_call *next, *previous;
    struct http_call *next_work;
    const struct http_transport *transport;
    void *exchange;           /* the transport's own data */
    struct http_input *input; /* NULL after http_call_drop_request() */
    char *shown;              /* the method and the redacted URL, if there is no input */
    http_may_send_fn *may_send;
    const void *may_send_data;
    http_data_fn *on_data;
    http_done_fn *on_done;
    void *data;
    struct http_response response;
    struct buffer *body; /* response.body, once something of it was collected; or NULL */
    struct error *err;   /* why the call failed, see http_call_err() */
    uint64_t stall_bytes;
    uint64_t total_due_ms;   /* when the total timeout ends; 0: no limit */
    struct loop_timer timer; /* until the total timeout, or until the next check for a stall */
    uint32_t total_timeout_ms, stall_timeout_ms;
    uint32_t headers_size, body_max;
    enum http_call_state state;
    uint8_t stall_checks;
    bool is_in_work;
    bool is_headless;
    bool is_refused; /* by may_send, for good */
};

/* ---- http_call.c ---- */

/* Checks what the URL alone does not show. */
int http_request_check(const struct http_request *request, const char *scheme, struct error *err)
    must_check;
struct http_call *http_call_new(struct http_client *client, const struct http_request *request);
/* Wipes and frees everything but the exchange. The call is in no list. */
void http_call_free(struct http_call *call);

/* ---- For transports ---- */

void http_enter(struct http_client *client);
void http_leave(struct http_client *client);
/* Has finish_ended() and flush() called soon. */
void http_work_later(struct http_client *client);

/* Asks request.may_send. True: nothing more of the call may be written; call->err is set, end the
 * exchange with HTTP_END_FAILED. Once true, always true: leadership that was lost and won again
 * does not make an old request valid. */
bool http_call_is_refused(struct http_call *call);
/* Pass on what was received. False: no more is wanted; end the exchange with HTTP_END_STOPPED. */
bool http_take_header(struct http_call *call, size_t size);
bool http_take_bytes(struct http_call *call, const char *bytes, size_t size);
/* Detaches the call, calls its owner and frees it. Only from finish_ended(). */
void http_call_finish(struct http_call *call, enum http_end end);
/* Detaches the call and sends it again, by whichever transport accepts it then. */
void http_call_requeue(struct http_call *call);
/* Where the body of the response is collected. Allocated on first use, like the next one. */
struct buffer *http_call_body(struct http_call *call);
/* Where the reason of a failure is written. Allocated on first use: it is much larger than the rest
 * of a call, and a watch lives for long. */
struct error *http_call_err(struct http_call *call);
/* The request is completely given to the transport and will not be sent again. The request of a
 * call without body that lives for long (is_headless) is dropped together with the credentials. */
void http_call_drop_credentials(struct http_call *call);
void http_call_drop_request(struct http_call *call);
/* Sets call->err to "METHOD 'URL': ..."; the URL has neither query nor credentials. */
void http_call_error(struct http_call *call, enum error_kind kind, const char *format, ...)
    printf_like(3, 4);

/* http_url.c: scheme, host and port of a URL. Borrowed until the next call. Almost all calls of a
 * client go to one server, so the last result is cached. */
int http_origin_of(struct http_client *client, const char *url, const struct http_url **ret_origin,
                   struct error *err) must_check;
void http_origin_done(struct http_client *client);
