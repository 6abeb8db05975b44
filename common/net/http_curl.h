/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the transport that uses libcurl, and a connection that curl makes for another
 * transport: it resolves names and goes through proxies. Private to common/net. */
#pragma once

#include <curl/curl.h>

#include "common/net/http_transport.h"

struct http_transfer;

/* on_done of http_link_open(). */
typedef void http_link_fn(void *data, struct http_transfer *link, CURLcode code);

/* One curl handle and what it refers to: a call's or a link's. */
struct http_transfer {
    struct http_client *client;
    struct http_call *call; /* NULL: a link */
    http_link_fn *on_done;  /* of a link */
    void *on_done_data;
    struct http_pool *pool; /* NULL: not in a multi handle */
    CURL *easy;
    bool is_reusable; /* the handle can serve another call */
    bool is_sent;     /* curl began to send the request */
    struct curl_slist *headers, *connect_to;
    char text[CURL_ERROR_SIZE];
};

/* Connects to the server of request->url with its connect timeout: a TCP connection, through a
 * proxy if the environment names one. on_done is called from finish_ended() with curl's result; it
 * owns the link, which it may free. */
int http_link_open(struct http_client *client, const struct http_request *request,
                   http_link_fn *on_done, void *data, struct http_transfer **ret_link,
                   struct error *err) must_check;
/* The socket of a link that is connected, for the caller to close; it stays open when the link is
 * freed. -1 and errno if there are too many descriptors. */
int http_link_socket(const struct http_transfer *link);
void http_link_free(struct http_transfer *link); /* NULL is fine */

/* Whether https:// URLs are requested through a proxy that is itself an https:// URL. */
bool http_link_has_tls_proxy(void);

/* Sets call->err according to the result of a transfer. */
void http_transfer_error(const struct http_transfer *transfer, CURLcode code,
                         struct http_call *call);

/* ---- http_curl_pool.c ---- */

/* A multi handle and so a set of connections. A stream that times out does not close the HTTP/2
 * connection that it shares, and curl would give the dead connection to the next call. So after a
 * timeout new calls get a new pool, and the old one is freed with the last of its calls. */
struct http_pool {
    struct http_client *client;
    struct http_pool *next;
    CURLM *multi;
    struct loop_timer timer; /* curl's own */
    size_t transfer_count;
};

int http_pool_new(struct http_client *client, struct http_pool **ret_pool, struct error *err)
    must_check;
void http_pool_free(struct http_pool *pool); /* NULL is fine */
int http_pool_add(struct http_transfer *transfer, struct http_pool *pool, struct error *err)
    must_check;
void http_pool_remove(struct http_transfer *transfer);

/* ---- http_curl_options.c ---- */

int http_transfer_set_options(struct http_transfer *transfer, const struct http_request *request,
                              struct error *err) must_check;
int http_link_set_options(struct http_transfer *link, const struct http_request *request,
                          struct error *err) must_check;
void http_transfer_update_status(struct http_transfer *transfer);
