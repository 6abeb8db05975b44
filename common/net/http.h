/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP on the loop: libcurl multi, HTTP/2, connections reused, one exchange a call. The only user
 * of libcurl. Retries are a layer above (retry.h).
 *
 * Credentials travel only in request->bearer or basic_user/basic_password: they go to the first
 * host and never to another (redirects to another host or port drop them), and never into an error
 * text; URLs in error texts have no query and no user info. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/base/loop.h"

struct http_client;
struct http_call; /* one exchange under way */

/* What a connection trusts and who it is. Texts are borrowed until the client is freed; connections
 * are shared only among calls with the same pointer. */
struct http_tls {
    const char *ca_file;    /* NULL: the system's bundle (SSL_CERT_FILE, SSL_CERT_DIR honoured) */
    const char *ca_pem;     /* in addition to, or instead of, ca_file */
    bool is_system_trusted; /* ca_file and ca_pem come on top of the system's bundle */
    const char *cert_pem;   /* client certificate and key, both or none */
    const char *key_pem;
    const char *server_name; /* checked in place of the URL's host, or NULL */
    bool is_insecure;        /* no verification: only where the user configured it */
};

struct http_header {
    const char *name, *value;
};

struct http_response {
    int status;
    const char *method;           /* of the request */
    const struct buffer *body;    /* what on_data did not take; at most body_max bytes */
    const struct http_call *call; /* for http_response_header() */
};

/* Streams body bytes as they come, only for 2xx answers (others are kept in body for the error
 * text, cut at body_max). Non-zero ends the exchange with the error that was set. May start and
 * cancel calls, its own included, but neither run the loop nor free the client. */
typedef int http_data_fn(void *data, const struct http_response *response, const char *bytes,
                         size_t size, struct error *err);
/* Exactly once, also after a failure: then err->kind != ERROR_NONE (transport errors and timeouts
 * are ERROR_TEMPORARY; wrong certificate ERROR_DENIED; bodies over the limit ERROR_TOO_LARGE). An
 * HTTP status is never an error here. err->os is ETIMEDOUT after a timeout and ECONNREFUSED where
 * no connection could be made, so that nothing was sent. Not called after http_cancel(). */
typedef void http_done_fn(void *data, const struct http_response *response,
                          const struct error *err);

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
    uint64_t total_timeout_ms;   /* 0: none (watches) */
    uint64_t stall_timeout_ms;   /* no byte for so long is a failure; 0: none */
    size_t body_max;             /* 0: 4 MiB */
    int redirects_max;           /* 0: redirects are answers like others */
    bool is_plain_http_allowed;  /* http:// URLs are refused without this */
    bool is_multiplexed;         /* one of many to this server: over the one HTTP/2 connection
                                  * that all such calls share, if it is spoken there */
    http_data_fn *on_data;       /* or NULL: collected in response->body */
    http_done_fn *on_done;
    void *data;
};

/* user_agent is copied; loop is borrowed. */
int http_client_new(struct loop *loop, const char *user_agent, struct http_client **ret_client,
                    struct error *err) must_check;
/* Cancels what is under way. Not from inside one of its own callbacks. */
void http_client_free(struct http_client *client);
define_cleanup(struct http_client *, http_client_free)
#define cleanup_http_client __attribute__((cleanup(http_client_freep)))

/* Starts; on_done comes later from the loop, never from inside this call. Fails only for
 * requests that can't be sent at all (ERROR_INVALID). */
int http_start(struct http_client *client, const struct http_request *request,
               struct http_call **ret_call, struct error *err) must_check;
void http_cancel(struct http_call *call); /* NULL is fine */

/* The value of a header of the final answer, borrowed, or NULL. Names in any case. */
const char *http_response_header(const struct http_response *response, const char *name);
/* Every value of a header that may come several times (WWW-Authenticate): index from 0. */
const char *http_response_header_at(const struct http_response *response, const char *name,
                                    size_t index);
/* Retry-After in ms (seconds or HTTP date), capped at max_ms; 0 if there is none. */
uint32_t http_retry_after_ms(const struct http_response *response, uint32_t max_ms);
/* The same for a header's text; unix_now_s is the time that a date is compared with. */
uint32_t http_parse_retry_after(const char *text, int64_t unix_now_s, uint32_t max_ms);

/* A URL that can be shown: without query, fragment and user info. */
char *http_url_for_people(const char *url);
/* Percent-encodes all but unreserved characters. Belongs to the caller. */
char *http_url_escape(const char *text);
/* Whether on_data is running, that is whether the loop must not be run now. */
bool http_client_is_busy(const struct http_client *client);
/* Connections opened (tries included) and requests sent so far, for tests and metrics. */
void http_client_counts(const struct http_client *client, uint64_t *ret_connections,
                        uint64_t *ret_requests);
