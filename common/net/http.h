/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP client on the loop: HTTP/1.1 and HTTP/2, with reused connections. A call is one request
 * and its response; retries are up to the caller (retry.h). Nothing else uses libcurl or nghttp2.
 *
 * Credentials must be passed in request->bearer or basic_user and basic_password. They are sent to
 * the host of the URL only (a redirect to another host or port drops them) and never appear in an
 * error message. URLs in error messages have no query and no user info. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/base/loop.h"

struct http_client;
struct http_call; /* a request in progress */

/* TLS settings. Borrowed, with all texts, until the client is freed, or until http_forget(). Only
 * calls with the same pointer share multiplexed connections. */
struct http_tls {
    const char *ca_file;    /* NULL: CA bundle of the system (SSL_CERT_FILE, SSL_CERT_DIR) */
    const char *ca_pem;     /* in addition to ca_file, or instead of it */
    bool is_system_trusted; /* trust the CA bundle of the system as well */
    const char *cert_pem;   /* client certificate and key: both or neither */
    const char *key_pem;
    const char *server_name; /* verified instead of the host of the URL, or NULL */
    bool is_insecure;        /* no verification: only if the user configured it */
};

struct http_header {
    const char *name, *value;
};

struct http_response {
    int status;
    bool is_repeated;             /* the request was sent more than once */
    const char *method;           /* of the request */
    const struct buffer *body;    /* unless on_data got it; at most body_max bytes */
    const struct http_call *call; /* for http_response_header() */
};

/* Receives the body of a 2xx response piece by piece. (Other bodies are collected in response->body
 * for an error message, truncated at body_max.) Non-zero ends the call with the error that was set.
 * May start and cancel calls, including its own, but must not run the loop or free the client. */
typedef int http_data_fn(void *data, const struct http_response *response, const char *bytes,
                         size_t size, struct error *err);
/* Called exactly once, unless the call is cancelled. err->kind is ERROR_NONE for a response with
 * any HTTP status. Errors: ERROR_TEMPORARY (transport errors, timeouts), ERROR_DENIED (certificate
 * not trusted), ERROR_TOO_LARGE (body over the limit), ERROR_CANCELLED (refused by may_send).
 * err->os is ETIMEDOUT after a timeout, and ECONNREFUSED if the server has certainly not processed
 * the request. */
typedef void http_done_fn(void *data, const struct http_response *response,
                          const struct error *err);

/* Whether a request may still be sent. */
typedef bool http_may_send_fn(const void *data);

struct http_request {
    const char *method; /* "GET" */
    const char *url;
    const struct http_header *headers; /* copied */
    size_t header_count;
    const char *bearer, *basic_user, *basic_password; /* copied */
    const void *body;                                 /* copied */
    size_t body_size;
    const struct http_tls *tls;  /* NULL: system defaults */
    uint64_t connect_timeout_ms; /* 0: 10 s */
    uint64_t total_timeout_ms;   /* 0: none (watches). Does not include the time until it is this
                                  * connection's turn, if very many are made at once */
    uint64_t stall_timeout_ms;   /* time without any data until the call fails; 0: none */
    size_t body_max;             /* 0: 4 MiB */
    int redirects_max;           /* 0: redirects are not followed */
    bool is_plain_http_allowed;  /* otherwise http:// URLs are refused */
    bool is_headless;            /* the headers of a 2xx response are not needed: a call that lives
                                  * for long need not keep them */
    bool is_multiplexed;         /* share one HTTP/2 connection with all such calls to this
                                  * server, if the server supports it */
    /* Or NULL: always. Called right before the request is written to its connection, each time it
     * is, and over HTTP/2 also before the rest of it is written. A call waits before that: for its
     * connection, or for a free stream. If it returns false, the call ends with ERROR_CANCELLED.
     * The data must be valid until on_done is called or the call is cancelled. */
    http_may_send_fn *may_send;
    const void *may_send_data;
    http_data_fn *on_data; /* NULL: the body is collected in response->body */
    http_done_fn *on_done;
    void *data;
};

/* user_agent is copied; loop is borrowed. */
int http_client_new(struct loop *loop, const char *user_agent, struct http_client **ret_client,
                    struct error *err) must_check;
/* Cancels all calls. Must not be called from inside a callback of this client. NULL is fine. */
void http_client_free(struct http_client *client);
define_cleanup(struct http_client *, http_client_free)
#define cleanup_http_client __attribute__((cleanup(http_client_freep)))

/* Starts a call. on_done is called later from the loop, never from inside http_start(). Fails only
 * if the request cannot be sent at all (ERROR_INVALID). *ret_call is valid until on_done returns.
 */
int http_start(struct http_client *client, const struct http_request *request,
               struct http_call **ret_call, struct error *err) must_check;
/* Ends a call without calling on_done. NULL is fine. */
void http_cancel(struct http_call *call);

/* Closes the multiplexed connection to the server of this URL with these TLS settings, as soon as
 * it has no calls; new calls get a new one. The settings may be freed once all calls with them have
 * ended. */
void http_forget(struct http_client *client, const struct http_tls *tls, const char *url);

/* The value of a response header, borrowed, or NULL. Names are case-insensitive. Only from inside
 * on_data and on_done. */
const char *http_response_header(const struct http_response *response, const char *name);
/* The same for a header that occurs several times (WWW-Authenticate); index starts at 0. */
const char *http_response_header_at(const struct http_response *response, const char *name,
                                    size_t index);
/* Retry-After (seconds or HTTP date) in ms, at most max_ms; 0 if there is none. */
uint32_t http_retry_after_ms(const struct http_response *response, uint32_t max_ms);
/* The same for the text of the header; dates are compared with unix_now_s. */
uint32_t http_parse_retry_after(const char *text, int64_t unix_now_s, uint32_t max_ms);

/* The URL without query, fragment and user info, for messages. Belongs to the caller. */
char *http_url_redact(const char *url);
/* Percent-encodes all characters that are not unreserved. Belongs to the caller. */
char *http_url_escape(const char *text);
/* Whether on_data is running, so that the loop must not be run now. */
bool http_client_is_busy(const struct http_client *client);
/* Connections opened (including failed attempts) and requests started so far. */
void http_client_counts(const struct http_client *client, uint64_t *ret_connections,
                        uint64_t *ret_requests);
