/* SPDX-License-Identifier: Apache-2.0 */
/* All options of curl handles, except those of http_trust.c, and what curl calls back for a
 * transfer. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "common/base/memory.h"
#include "common/net/http_curl.h"
#include "common/net/http_trust.h"

enum {
    TCP_USER_TIMEOUT_MS = 30000,
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_INTERVAL_S = 5,
};

/* Fails only for options that this libcurl was built without. */
#define set_option(transfer_, option_, value_, err_)                                               \
    (curl_easy_setopt((transfer_)->easy, (option_), (value_)) == CURLE_OK                          \
         ? 0                                                                                       \
         : error_set((err_), ERROR_INTERNAL, "libcurl does not support " #option_))

static size_t on_header(char *bytes, size_t size, size_t count, void *data)
{
    const struct http_transfer *transfer = data;

    (void)bytes;
    return http_take_header(transfer->call, size * count) ? size * count : 0;
}

/* curl calls this when it has a connection and is about to send. It sends a request again, even a
 * POST, if a connection that was used before is closed without an answer. It does not say so, but
 * asks each time. */
static int on_send(void *data, char *address, char *own_address, int port, int own_port)
{
    struct http_transfer *transfer = data;

    (void)address;
    (void)own_address;
    (void)port;
    (void)own_port;
    if (transfer->call && http_call_is_refused(transfer->call))
        return CURL_PREREQFUNC_ABORT;
    if (transfer->call)
        transfer->call->response.is_repeated = transfer->is_sent;
    transfer->is_sent = true;
    return CURL_PREREQFUNC_OK;
}

void http_transfer_update_status(struct http_transfer *transfer)
{
    long status = 0;

    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    transfer->call->response.status = (int)status;
}

static size_t on_write(char *bytes, size_t unit, size_t count, void *data)
{
    struct http_transfer *transfer = data;

    http_transfer_update_status(transfer);
    return http_take_bytes(transfer->call, bytes, unit * count) ? unit * count : 0;
}

/* A stream that times out does not close the HTTP/2 connection that others share. With this option
 * the kernel does so after half a minute without acknowledgements instead of a quarter of an hour.
 */
static int on_socket_made(void *data, curl_socket_t fd, curlsocktype purpose)
{
    struct http_client *client = data;
    unsigned timeout_ms = TCP_USER_TIMEOUT_MS;

    (void)purpose;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
    client->connection_count++;
    return CURL_SOCKOPT_OK;
}

/* curl makes OpenSSL free its buffers after every record. Allocating them again costs more than
 * reading the record, and we have few connections. */
static CURLcode keep_buffers(CURL *easy, void *context, void *data)
{
    (void)easy;
    (void)data;
    (void)SSL_CTX_clear_mode(context, SSL_MODE_RELEASE_BUFFERS);
    return CURLE_OK;
}

static void add_header(struct http_transfer *transfer, const char *line)
{
    struct curl_slist *longer = curl_slist_append(transfer->headers, line);

    if (!longer)
        out_of_memory();
    transfer->headers = longer;
}

static int add_headers(struct http_transfer *transfer, const struct http_request *request,
                       struct error *err)
{
    bool has_content_type = false;

    for (size_t i = 0; i < request->header_count; i++) {
        const char *name = request->headers[i].name;
        const char *value = request->headers[i].value;
        cleanup_free char *line =
            value[0] ? xasprintf("%s: %s", name, value) : xasprintf("%s;", name);

        has_content_type = has_content_type || strcasecmp(name, "Content-Type") == 0;
        add_header(transfer, line);
    }
    add_header(transfer, "Expect:"); /* do not wait for "100 Continue" */
    if (!has_content_type)
        add_header(transfer, "Content-Type:"); /* curl would send that of a form */
    return set_option(transfer, CURLOPT_HTTPHEADER, transfer->headers, err);
}

static int set_credentials(struct http_transfer *transfer, const struct http_request *request,
                           struct error *err)
{
    if (set_option(transfer, CURLOPT_UNRESTRICTED_AUTH, 0L, err) < 0 ||
        set_option(transfer, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED, err) < 0)
        return -1;
    if (request->bearer) {
        if (set_option(transfer, CURLOPT_HTTPAUTH, CURLAUTH_BEARER, err) < 0)
            return -1;
        return set_option(transfer, CURLOPT_XOAUTH2_BEARER, request->bearer, err);
    }
    if (!request->basic_user)
        return 0;
    if (set_option(transfer, CURLOPT_HTTPAUTH, CURLAUTH_BASIC, err) < 0 ||
        set_option(transfer, CURLOPT_USERNAME, request->basic_user, err) < 0)
        return -1;
    return set_option(transfer, CURLOPT_PASSWORD,
                      request->basic_password ? request->basic_password : "", err);
}

/* CURLOPT_CUSTOMREQUEST keeps the method on every redirect, so it is used only for methods that
 * curl has no option for. */
static int set_method_and_body(struct http_transfer *transfer, const struct http_request *request,
                               struct error *err)
{
    if (request->body) {
        if (set_option(transfer, CURLOPT_POST, 1L, err) < 0 ||
            set_option(transfer, CURLOPT_POSTFIELDS, request->body, err) < 0 ||
            set_option(transfer, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size, err) <
                0)
            return -1;
        if (strcmp(request->method, "POST") == 0)
            return 0;
    } else if (strcmp(request->method, "GET") == 0) {
        return set_option(transfer, CURLOPT_HTTPGET, 1L, err);
    } else if (strcmp(request->method, "HEAD") == 0) {
        return set_option(transfer, CURLOPT_NOBODY, 1L, err);
    }
    return set_option(transfer, CURLOPT_CUSTOMREQUEST, request->method, err);
}

static int set_redirects(struct http_transfer *transfer, const struct http_request *request,
                         const char *scheme, struct error *err)
{
    const char *protocols = strcmp(scheme, "https") == 0 ? "https" : "http,https";

    if (set_option(transfer, CURLOPT_PROTOCOLS_STR, protocols, err) < 0 ||
        set_option(transfer, CURLOPT_REDIR_PROTOCOLS_STR, protocols, err) < 0 ||
        set_option(transfer, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L, err) < 0 ||
        set_option(transfer, CURLOPT_FOLLOWLOCATION, request->redirects_max > 0 ? 1L : 0L, err) < 0)
        return -1;
    return set_option(transfer, CURLOPT_MAXREDIRS, (long)request->redirects_max, err);
}

static int set_connection(struct http_transfer *transfer, const struct http_request *request,
                          const char *scheme, struct error *err)
{
    uint64_t connect_ms =
        request->connect_timeout_ms ? request->connect_timeout_ms : HTTP_CONNECT_TIMEOUT_MS;
    /* Without TLS there is no HTTP/2, and curl would wait for the first response to learn that. */
    bool is_shared = strcmp(scheme, "https") == 0;

    if (set_option(transfer, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS, err) < 0 ||
        set_option(transfer, CURLOPT_PIPEWAIT, is_shared ? 1L : 0L, err) < 0 ||
        set_option(transfer, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms, err) < 0 ||
        set_option(transfer, CURLOPT_TCP_KEEPALIVE, 1L, err) < 0 ||
        set_option(transfer, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S, err) < 0 ||
        set_option(transfer, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S, err) < 0 ||
        set_option(transfer, CURLOPT_SOCKOPTFUNCTION, on_socket_made, err) < 0 ||
        set_option(transfer, CURLOPT_SOCKOPTDATA, transfer->client, err) < 0 ||
        set_option(transfer, CURLOPT_SSL_CTX_FUNCTION, keep_buffers, err) < 0)
        return -1;
    return set_option(transfer, CURLOPT_NOSIGNAL, 1L, err);
}

static int set_callbacks(struct http_transfer *transfer, struct error *err)
{
    if (set_option(transfer, CURLOPT_PRIVATE, transfer, err) < 0 ||
        set_option(transfer, CURLOPT_ERRORBUFFER, transfer->text, err) < 0 ||
        set_option(transfer, CURLOPT_USERAGENT, transfer->client->user_agent, err) < 0 ||
        set_option(transfer, CURLOPT_HEADERFUNCTION, on_header, err) < 0 ||
        set_option(transfer, CURLOPT_HEADERDATA, transfer, err) < 0 ||
        set_option(transfer, CURLOPT_PREREQFUNCTION, on_send, err) < 0 ||
        set_option(transfer, CURLOPT_PREREQDATA, transfer, err) < 0 ||
        set_option(transfer, CURLOPT_WRITEFUNCTION, on_write, err) < 0)
        return -1;
    return set_option(transfer, CURLOPT_WRITEDATA, transfer, err);
}

/* curl verifies the host of the URL. So tls->server_name becomes the host of the URL, and
 * CURLOPT_CONNECT_TO leads to the real one. */
static int set_url(struct http_transfer *transfer, const struct http_request *request,
                   const struct http_url *url, struct error *err)
{
    const char *name = request->tls ? request->tls->server_name : NULL;
    cleanup_free char *connect_to = NULL;
    cleanup_free char *renamed = NULL;
    const char *rest = strstr(request->url, "://") + 3;

    if (!name || strcmp(url->scheme, "https") != 0)
        return set_option(transfer, CURLOPT_URL, request->url, err);
    rest += strcspn(rest, "/?#");
    connect_to = xasprintf("%s:%s:%s:%s", name, url->port, url->host, url->port);
    renamed = xasprintf("https://%s:%s%s", name, url->port, rest);
    transfer->connect_to = curl_slist_append(NULL, connect_to);
    if (set_option(transfer, CURLOPT_CONNECT_TO, transfer->connect_to, err) < 0)
        return -1;
    return set_option(transfer, CURLOPT_URL, renamed, err);
}

int http_transfer_set_options(struct http_transfer *transfer, const struct http_request *request,
                              struct error *err)
{
    const struct http_url *url = NULL;

    if (http_origin_of(transfer->client, request->url, &url, err) < 0 ||
        set_url(transfer, request, url, err) < 0 ||
        set_redirects(transfer, request, url->scheme, err) < 0 ||
        set_callbacks(transfer, err) < 0 ||
        set_connection(transfer, request, url->scheme, err) < 0 ||
        set_method_and_body(transfer, request, err) < 0 ||
        add_headers(transfer, request, err) < 0 || set_credentials(transfer, request, err) < 0)
        return -1;
    /* Without TLS, and without a redirect to it, the authorities of the system are not read: that
     * would take longer than the request, and every handle would keep a copy of 1 MB. */
    if (strcmp(url->scheme, "http") == 0 && request->redirects_max == 0)
        return 0;
    return http_trust_set(transfer->easy, request->tls, err);
}

/* ---- Links ---- */

/* As curl would choose it for an https:// URL; it also honours no_proxy. "": none. */
static const char *proxy_for_https(void)
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

    for (size_t i = 0; i < array_length(names); i++) {
        const char *proxy = getenv(names[i]);

        if (proxy && proxy[0])
            return proxy;
    }
    return "";
}

bool http_link_has_tls_proxy(void)
{
    static const char scheme[] = "https://";

    return strncasecmp(proxy_for_https(), scheme, strlen(scheme)) == 0;
}

/* For curl this is a tunnel to a server that speaks plain HTTP. */
int http_link_set_options(struct http_transfer *link, const struct http_request *request,
                          struct error *err)
{
    const struct http_url *url = NULL;
    cleanup_free char *text = NULL;

    if (http_origin_of(link->client, request->url, &url, err) < 0)
        return -1;
    text = xasprintf("http://%s:%s/", url->host, url->port);
    /* A proxy answers CONNECT with headers, which do not belong to a call. */
    if (set_option(link, CURLOPT_URL, text, err) < 0 ||
        set_option(link, CURLOPT_PROTOCOLS_STR, "http", err) < 0 || set_callbacks(link, err) < 0 ||
        set_connection(link, request, "http", err) < 0 ||
        set_option(link, CURLOPT_CONNECT_ONLY, 1L, err) < 0 ||
        set_option(link, CURLOPT_FRESH_CONNECT, 1L, err) < 0 ||
        set_option(link, CURLOPT_PROXY, proxy_for_https(), err) < 0 ||
        set_option(link, CURLOPT_HTTPPROXYTUNNEL, 1L, err) < 0)
        return -1;
    return set_option(link, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L, err);
}
