/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that curl makes for another transport: it resolves names, goes through proxies and
 * does the TLS handshake, and then only passes bytes. Private to common/net. */
#pragma once

#include <curl/curl.h>

#include "common/net/http_transport.h"

/* One curl handle and what it refers to: a call's or a link's. */
struct http_transfer {
    struct http_client *client;
    struct http_call *call; /* NULL: a link */
    struct http_pool *pool; /* NULL: not in a multi handle */
    CURL *easy;
    bool is_reusable; /* the handle can serve another call */
    bool is_sent;     /* curl began to send the request */
    struct curl_slist *headers, *connect_to;
    char text[CURL_ERROR_SIZE];
};

/* Connects to the server of request->url with its tls and timeout. on_context is called with data
 * for the SSL_CTX. Once http_link_is_done() has returned CURLE_OK, curl_easy_send() and
 * curl_easy_recv() work on ret_link->easy. */
int http_link_open(struct http_client *client, const struct http_request *request,
                   curl_ssl_ctx_callback on_context, void *data, struct http_transfer **ret_link,
                   struct error *err) must_check;
/* True once it is connected or has failed, with curl's result. */
bool http_link_is_done(struct http_transfer *link, CURLcode *ret_code);
void http_link_free(struct http_transfer *link); /* NULL is fine */

/* Sets call->err according to the result of a transfer. */
void http_transfer_error(const struct http_transfer *transfer, CURLcode code,
                         struct http_call *call);
