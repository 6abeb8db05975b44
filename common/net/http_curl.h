/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that curl makes for another transport: it resolves names and goes through proxies.
 * Private to common/net. */
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
