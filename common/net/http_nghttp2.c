/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a connection: curl connects, then bytes go between it and nghttp2. Nothing here calls
 * the owner of a call, so lists do not change under a loop; settle() does the rest. */
#include "common/net/http_h2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

#include "common/base/memory.h"

enum {
    /* As much as one TLS record holds. */
    RECORD_SIZE = 16 * 1024,
    OUT_MAX = 1024 * 1024,
};

static void on_ready(void *data, uint32_t events);
static void receive(struct http_h2 *h2);

/* ---- Which one ---- */

static size_t origin_length(const char *url)
{
    return strlen("https://") + strcspn(url + strlen("https://"), "/?#");
}

static bool is_origin(const char *origin, const char *url)
{
    size_t length = origin_length(url);

    return origin && strlen(origin) == length && memcmp(origin, url, length) == 0;
}

static bool is_without_http2(const struct http_client *client, const char *url)
{
    for (size_t i = 0; i < client->http1_origin_count; i++) {
        if (is_origin(client->http1_origins[i], url))
            return true;
    }
    return false;
}

bool http_h2_takes(const struct http_client *client, const struct http_request *request)
{
    return request->is_multiplexed && !client->has_tls_proxy && !request->basic_user &&
           request->redirects_max == 0 && request->header_count <= HTTP_MULTIPLEXED_HEADERS_MAX &&
           strncmp(request->url, "https://", strlen("https://")) == 0 &&
           request->url[origin_length(request->url)] == '/' &&
           !is_without_http2(client, request->url);
}

static struct http_h2 *find(const struct http_call *call)
{
    const struct http_request *request = &call->kept->request;

    for (struct http_h2 *h2 = call->client->h2s; h2; h2 = h2->next) {
        if (!h2->is_leaving && !h2->is_lost && h2->tls == request->tls &&
            is_origin(h2->origin, request->url))
            return h2;
    }
    return NULL;
}

/* ---- Making and closing ---- */

static void close_h2(struct http_h2 *h2)
{
    if (!h2)
        return;
    http_session_close(h2);
    if (h2->fd >= 0)
        loop_remove_fd(h2->client->loop, h2->fd);
    http_call_free(h2->link);
    http_pool_free(h2->pool);
    buffer_done(&h2->out);
    free(h2->origin);
    free(h2);
}
define_cleanup(struct http_h2 *, close_h2)
#define cleanup_h2 __attribute__((cleanup(close_h2p)))

/* Whose handshake it was is known to nobody else but curl. */
static void on_tls_state(const SSL *ssl, int where, int result)
{
    struct http_h2 *h2 = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    (void)result;
    if (where & SSL_CB_HANDSHAKE_DONE)
        h2->ssl = ssl;
}

static CURLcode offer_http2(CURL *easy, void *context, void *data)
{
    static const unsigned char protocols[] = "\x02h2\x08http/1.1";

    (void)easy;
    (void)SSL_CTX_clear_mode(context, SSL_MODE_RELEASE_BUFFERS);
    /* What could not be written is written later, from wherever it is then. */
    (void)SSL_CTX_set_mode(context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1); /* not the five bytes of a record's head by themselves */
    (void)SSL_CTX_set_app_data(context, data);
    SSL_CTX_set_info_callback(context, on_tls_state);
    return SSL_CTX_set_alpn_protos(context, protocols, sizeof(protocols) - 1) == 0
               ? CURLE_OK
               : CURLE_SSL_CONNECT_ERROR;
}

/* The link is a call whose handle curl has done with when it is connected. */
static int make_link(struct http_h2 *h2, uint64_t connect_timeout_ms, struct error *err)
{
    cleanup_free char *text = xasprintf("%s/", h2->origin);
    struct http_request request = {
        .method = "GET", .url = text, .tls = h2->tls, .connect_timeout_ms = connect_timeout_ms};
    const struct http_url *url = NULL;

    h2->link = http_call_new(h2->client, &request);
    if (http_origin_of(h2->client, text, &url, err) < 0 ||
        http_easy_setup(h2->link, &request, url, err) < 0 ||
        http_easy_setup_link(h2->link, offer_http2, h2, err) < 0)
        return -1;
    if (curl_multi_add_handle(h2->pool->multi, h2->link->easy) != CURLM_OK)
        return error_set(err, ERROR_INTERNAL, "'%s': libcurl does not connect",
                         h2->link->url_for_people);
    h2->link->pool = h2->pool;
    h2->pool->call_count++;
    return 0;
}

static int connect_to(struct http_call *call, struct http_h2 **ret_h2, struct error *err)
{
    cleanup_h2 struct http_h2 *h2 = xcalloc(1, sizeof(*h2));
    const struct http_request *request = &call->kept->request;

    h2->client = call->client;
    h2->fd = -1;
    h2->tls = request->tls;
    h2->origin = xstrndup(request->url, origin_length(request->url));
    buffer_init(&h2->out, OUT_MAX);
    if (http_pool_new(h2->client, &h2->pool, err) < 0 ||
        make_link(h2, request->connect_timeout_ms, err) < 0)
        return -1;
    h2->next = h2->client->h2s;
    h2->client->h2s = h2;
    *ret_h2 = steal(&h2);
    return 0;
}

void http_h2_close_unused(struct http_client *client)
{
    struct http_h2 **link = &client->h2s;

    while (*link) {
        struct http_h2 *h2 = *link;

        if (h2->call_count > 0 || !(h2->is_lost || h2->is_leaving)) {
            link = &h2->next;
            continue;
        }
        *link = h2->next;
        close_h2(h2);
    }
}

/* curl would offer our protocols to such a proxy as well, and does not speak HTTP/2 with one. */
void http_h2_setup(struct http_client *client)
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

    for (size_t i = 0; i < array_length(names); i++) {
        const char *proxy = getenv(names[i]);

        client->has_tls_proxy |= proxy && strncasecmp(proxy, "https://", strlen("https://")) == 0;
    }
}

void http_h2_close_all(struct http_client *client)
{
    while (client->http1_origin_count)
        free(client->http1_origins[--client->http1_origin_count]);
    free(client->http1_origins);
    while (client->h2s) {
        struct http_h2 *h2 = client->h2s;

        client->h2s = h2->next;
        close_h2(h2);
    }
}

/* ---- Its calls ---- */

int http_h2_add(struct http_call *call, struct error *err)
{
    struct http_h2 *h2 = find(call);

    if (!h2 && connect_to(call, &h2, err) < 0)
        return -1;
    if (h2->is_ready && http_stream_open(h2, call) < 0) {
        h2->is_leaving = true;
        return http_h2_add(call, err);
    }
    call->h2 = h2;
    h2->call_count++;
    return 0;
}

void http_h2_remove(struct http_call *call)
{
    struct http_h2 *h2 = call->h2;

    if (!h2)
        return;
    http_stream_leave(call);
    call->h2 = NULL;
    h2->call_count--;
    http_work_later(call->client);
}

static void end_all(struct http_h2 *h2, CURLcode code, const char *text)
{
    h2->is_lost = true;
    /* It would be ready for ever, and may not be closed at once. */
    if (h2->fd >= 0)
        loop_remove_fd(h2->client->loop, h2->fd);
    http_work_later(h2->client);
    for (struct http_call *call = h2->client->calls; call; call = call->next) {
        if (call->h2 != h2 || call->state != HTTP_CALL_RUNNING)
            continue;
        (void)snprintf(call->curl_text, sizeof(call->curl_text), "%s", text);
        http_call_over(call, code);
    }
}

/* ---- Connected or not ---- */

static void watch(struct http_h2 *h2, bool is_write_awaited)
{
    struct error err = {0};
    uint32_t events = EPOLLIN | (is_write_awaited ? (uint32_t)EPOLLOUT : 0);

    h2->is_write_awaited = is_write_awaited;
    if (loop_set_fd(h2->client->loop, h2->fd, events, on_ready, h2, &err) < 0)
        end_all(h2, CURLE_RECV_ERROR, err.text);
}

/* Its calls go by curl, and so do all later ones: who asks again pays with a connection. */
static void give_to_curl(struct http_h2 *h2)
{
    struct http_client *client = h2->client;

    client->http1_origins = xreallocarray(client->http1_origins, client->http1_origin_count + 1,
                                          sizeof(client->http1_origins[0]));
    client->http1_origins[client->http1_origin_count++] = xstrdup(h2->origin);
    h2->is_lost = true;
    for (struct http_call *call = client->calls; call; call = call->next) {
        if (call->h2 == h2 && call->state == HTTP_CALL_RUNNING)
            http_call_again(call);
    }
}

static bool speaks_http2(const struct http_h2 *h2)
{
    const unsigned char *name = NULL;
    unsigned length = 0;

    if (h2->ssl)
        SSL_get0_alpn_selected(h2->ssl, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

static void begin(struct http_h2 *h2)
{
    curl_socket_t fd = CURL_SOCKET_BAD;

    if (!speaks_http2(h2)) {
        give_to_curl(h2);
        return;
    }
    (void)curl_easy_getinfo(h2->link->easy, CURLINFO_ACTIVESOCKET, &fd);
    h2->fd = fd;
    http_session_open(h2);
    watch(h2, false);
    /* The server's first words may have come with the last ones of the handshake. No call has a
     * stream yet, so nobody is called back. */
    if (!h2->is_lost)
        receive(h2);
}

void http_h2_ready(struct http_h2 *h2)
{
    h2->is_ready = true;
    for (struct http_call *call = h2->client->calls; call; call = call->next) {
        if (call->h2 != h2 || call->state != HTTP_CALL_RUNNING || http_stream_open(h2, call) == 0)
            continue;
        h2->is_leaving = true;
        http_call_again(call);
    }
}

void http_h2_connected(struct http_client *client)
{
    for (struct http_h2 *h2 = client->h2s; h2; h2 = h2->next) {
        const CURLMsg *message = NULL;
        int left = 0;

        if (h2->session || h2->is_lost)
            continue;
        message = curl_multi_info_read(h2->pool->multi, &left);
        if (!message)
            continue;
        if (message->data.result == CURLE_OK)
            begin(h2);
        else
            end_all(h2, message->data.result, h2->link->curl_text);
    }
}

/* ---- Bytes ---- */

static void receive(struct http_h2 *h2)
{
    /* Not filled with zeros on each of many calls, as release builds do with all else. */
    __attribute__((uninitialized)) uint8_t bytes[RECORD_SIZE];

    /* What OpenSSL has read ahead makes no descriptor ready. */
    do {
        size_t size = 0;
        ssize_t taken = 0;
        CURLcode code = curl_easy_recv(h2->link->easy, bytes, sizeof(bytes), &size);

        if (code == CURLE_AGAIN)
            return;
        if (code != CURLE_OK || size == 0) {
            end_all(h2, CURLE_RECV_ERROR, "the connection was closed");
            return;
        }
        taken = nghttp2_session_mem_recv(h2->session, bytes, size);
        if (taken < 0) {
            end_all(h2, CURLE_HTTP2, nghttp2_strerror((int)taken));
            return;
        }
    } while (SSL_has_pending(h2->ssl));
}

static void on_ready(void *data, uint32_t events)
{
    struct http_h2 *h2 = data;
    struct http_client *client = h2->client;

    if (client->depth)
        return; /* somebody runs the loop inside a callback; it is ready still afterwards */
    http_enter(client);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !h2->is_lost)
        receive(h2);
    http_leave(client);
}

/* Frames are gathered, so that what is said in one turn goes out as one record. */
static void gather(struct http_h2 *h2)
{
    const uint8_t *bytes = NULL;
    ssize_t size = 0;

    while (h2->out.size < RECORD_SIZE &&
           (size = nghttp2_session_mem_send(h2->session, &bytes)) > 0) {
        struct error err = {0};

        if (buffer_append(&h2->out, bytes, (size_t)size, &err) < 0) {
            end_all(h2, CURLE_SEND_ERROR, err.text);
            return;
        }
    }
    if (size < 0)
        end_all(h2, CURLE_HTTP2, nghttp2_strerror((int)size));
}

static void flush(struct http_h2 *h2)
{
    for (;;) {
        size_t sent = 0;
        CURLcode code = CURLE_OK;

        if (h2->out.size == 0)
            gather(h2);
        if (h2->is_lost || h2->out.size == 0)
            break;
        code = curl_easy_send(h2->link->easy, h2->out.data, h2->out.size, &sent);
        if (code == CURLE_AGAIN) {
            if (!h2->is_write_awaited)
                watch(h2, true);
            return;
        }
        if (code != CURLE_OK) {
            end_all(h2, CURLE_SEND_ERROR, "the connection was closed");
            return;
        }
        buffer_consume(&h2->out, sent);
    }
    if (!h2->is_lost && h2->is_write_awaited)
        watch(h2, false);
    /* nghttp2 has said goodbye to a server that does not keep to the protocol. */
    if (!h2->is_lost && !nghttp2_session_want_read(h2->session) &&
        !nghttp2_session_want_write(h2->session))
        end_all(h2, CURLE_HTTP2, "the server does not keep to HTTP/2");
}

void http_h2_flush(struct http_client *client)
{
    for (struct http_h2 *h2 = client->h2s; h2; h2 = h2->next) {
        if (h2->session && !h2->is_lost)
            flush(h2);
    }
}
