/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to a curl handle: every option that is set on one is set here. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "common/base/memory.h"
#include "common/net/http_internal.h"
#include "common/net/http_trust.h"

/* curl fails here only for options that it was built without, which is a mistake of the build. */
#define set_option(call_, option_, value_, err_)                                                   \
    (curl_easy_setopt((call_)->easy, (option_), (value_)) == CURLE_OK                              \
         ? 0                                                                                       \
         : error_set((err_), ERROR_INTERNAL, "libcurl refuses its option " #option_))

static size_t on_header(char *bytes, size_t size, size_t count, void *data)
{
    (void)bytes;
    return http_note_headers(data, size * count) ? size * count : 0;
}

static size_t on_write(char *bytes, size_t unit, size_t count, void *data)
{
    struct http_call *call = data;

    http_response_update(call);
    return http_take_bytes(call, bytes, unit * count) ? unit * count : 0;
}

/* Unacknowledged bytes end a dead connection in half a minute, not in the kernel's quarter of an
 * hour: a stream that times out does not close the HTTP/2 connection that others share. */
static int on_socket_made(void *data, curl_socket_t fd, curlsocktype purpose)
{
    struct http_client *client = data;
    unsigned timeout_ms = HTTP_TCP_USER_TIMEOUT_MS;

    (void)purpose;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
    client->connection_count++;
    return CURL_SOCKOPT_OK;
}

/* curl has OpenSSL give its buffers back after every record. To get them anew costs more than to
 * read what is in them, and we have a handful of connections. */
static CURLcode keep_buffers(CURL *easy, void *context, void *data)
{
    (void)easy;
    (void)data;
    (void)SSL_CTX_clear_mode(context, SSL_MODE_RELEASE_BUFFERS);
    return CURLE_OK;
}

static int add_header(struct http_call *call, const char *line)
{
    struct curl_slist *longer = curl_slist_append(call->headers, line);

    if (!longer)
        out_of_memory();
    call->headers = longer;
    return 0;
}

static int add_headers(struct http_call *call, const struct http_request *request,
                       struct error *err)
{
    bool has_content_type = false;

    for (size_t i = 0; i < request->header_count; i++) {
        const char *name = request->headers[i].name;
        const char *value = request->headers[i].value;
        cleanup_free char *line =
            value[0] ? xasprintf("%s: %s", name, value) : xasprintf("%s;", name);

        has_content_type = has_content_type || strcasecmp(name, "Content-Type") == 0;
        (void)add_header(call, line);
    }
    (void)add_header(call, "Expect:"); /* no round trip before a body */
    if (!has_content_type)
        (void)add_header(call, "Content-Type:"); /* curl would call it a form */
    return set_option(call, CURLOPT_HTTPHEADER, call->headers, err);
}

static int set_credentials(struct http_call *call, const struct http_request *request,
                           struct error *err)
{
    if (set_option(call, CURLOPT_UNRESTRICTED_AUTH, 0L, err) < 0 ||
        set_option(call, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED, err) < 0)
        return -1;
    if (request->bearer) {
        if (set_option(call, CURLOPT_HTTPAUTH, CURLAUTH_BEARER, err) < 0)
            return -1;
        return set_option(call, CURLOPT_XOAUTH2_BEARER, request->bearer, err);
    }
    if (!request->basic_user)
        return 0;
    if (set_option(call, CURLOPT_HTTPAUTH, CURLAUTH_BASIC, err) < 0 ||
        set_option(call, CURLOPT_USERNAME, request->basic_user, err) < 0)
        return -1;
    return set_option(call, CURLOPT_PASSWORD,
                      request->basic_password ? request->basic_password : "", err);
}

/* A method by name keeps its name on every redirect; curl knows better for those it knows. */
static int set_method_and_body(struct http_call *call, const struct http_request *request,
                               struct error *err)
{
    if (call->body_copy) {
        if (set_option(call, CURLOPT_POST, 1L, err) < 0 ||
            set_option(call, CURLOPT_POSTFIELDS, call->body_copy, err) < 0 ||
            set_option(call, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_size, err) < 0)
            return -1;
        if (strcmp(request->method, "POST") == 0)
            return 0;
    } else if (strcmp(request->method, "GET") == 0) {
        return set_option(call, CURLOPT_HTTPGET, 1L, err);
    } else if (strcmp(request->method, "HEAD") == 0) {
        return set_option(call, CURLOPT_NOBODY, 1L, err);
    }
    return set_option(call, CURLOPT_CUSTOMREQUEST, request->method, err);
}

static int set_redirects(struct http_call *call, const struct http_request *request,
                         const char *scheme, struct error *err)
{
    const char *protocols = strcmp(scheme, "https") == 0 ? "https" : "http,https";

    if (set_option(call, CURLOPT_PROTOCOLS_STR, protocols, err) < 0 ||
        set_option(call, CURLOPT_REDIR_PROTOCOLS_STR, protocols, err) < 0 ||
        set_option(call, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L, err) < 0 ||
        set_option(call, CURLOPT_FOLLOWLOCATION, request->redirects_max > 0 ? 1L : 0L, err) < 0)
        return -1;
    return set_option(call, CURLOPT_MAXREDIRS, (long)request->redirects_max, err);
}

static int set_connection(struct http_call *call, const struct http_request *request,
                          const char *scheme, struct error *err)
{
    uint64_t connect_ms =
        request->connect_timeout_ms ? request->connect_timeout_ms : HTTP_CONNECT_TIMEOUT_MS;
    /* Without TLS there is no HTTP/2, and curl would wait for the first answer to find that out. */
    bool is_shared = strcmp(scheme, "https") == 0;

    if (set_option(call, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS, err) < 0 ||
        set_option(call, CURLOPT_PIPEWAIT, is_shared ? 1L : 0L, err) < 0 ||
        set_option(call, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms, err) < 0 ||
        set_option(call, CURLOPT_TIMEOUT_MS, (long)request->total_timeout_ms, err) < 0 ||
        set_option(call, CURLOPT_TCP_KEEPALIVE, 1L, err) < 0 ||
        set_option(call, CURLOPT_TCP_KEEPIDLE, (long)HTTP_KEEPALIVE_IDLE_S, err) < 0 ||
        set_option(call, CURLOPT_TCP_KEEPINTVL, (long)HTTP_KEEPALIVE_INTERVAL_S, err) < 0 ||
        set_option(call, CURLOPT_SOCKOPTFUNCTION, on_socket_made, err) < 0 ||
        set_option(call, CURLOPT_SOCKOPTDATA, call->client, err) < 0 ||
        set_option(call, CURLOPT_SSL_CTX_FUNCTION, keep_buffers, err) < 0)
        return -1;
    return set_option(call, CURLOPT_NOSIGNAL, 1L, err);
}

static int set_callbacks(struct http_call *call, struct error *err)
{
    if (set_option(call, CURLOPT_PRIVATE, call, err) < 0 ||
        set_option(call, CURLOPT_ERRORBUFFER, call->curl_text, err) < 0 ||
        set_option(call, CURLOPT_USERAGENT, call->client->user_agent, err) < 0 ||
        set_option(call, CURLOPT_HEADERFUNCTION, on_header, err) < 0 ||
        set_option(call, CURLOPT_HEADERDATA, call, err) < 0 ||
        set_option(call, CURLOPT_WRITEFUNCTION, on_write, err) < 0)
        return -1;
    return set_option(call, CURLOPT_WRITEDATA, call, err);
}

/* The name to verify takes the host's place in the URL, and the connection goes to the host. */
static int set_url(struct http_call *call, const struct http_request *request,
                   const struct http_url *url, struct error *err)
{
    const char *name = request->tls ? request->tls->server_name : NULL;
    cleanup_free char *connect_to = NULL;
    cleanup_free char *renamed = NULL;
    const char *rest = strstr(request->url, "://") + 3;

    if (!name || strcmp(url->scheme, "https") != 0)
        return set_option(call, CURLOPT_URL, request->url, err);
    rest += strcspn(rest, "/?#");
    connect_to = xasprintf("%s:%s:%s:%s", name, url->port, url->host, url->port);
    renamed = xasprintf("https://%s:%s%s", name, url->port, rest);
    call->connect_to = curl_slist_append(NULL, connect_to);
    if (set_option(call, CURLOPT_CONNECT_TO, call->connect_to, err) < 0)
        return -1;
    return set_option(call, CURLOPT_URL, renamed, err);
}

int http_easy_setup(struct http_call *call, const struct http_request *request,
                    const struct http_url *url, struct error *err)
{
    call->easy = http_handle_take(call->client);
    if (set_url(call, request, url, err) < 0 ||
        set_redirects(call, request, url->scheme, err) < 0 || set_callbacks(call, err) < 0 ||
        set_connection(call, request, url->scheme, err) < 0 ||
        set_method_and_body(call, request, err) < 0 || add_headers(call, request, err) < 0 ||
        set_credentials(call, request, err) < 0)
        return -1;
    return http_trust_set(call->easy, request->tls, err);
}

int http_easy_setup_link(struct http_call *call, curl_ssl_ctx_callback on_context, void *data,
                         struct error *err)
{
    /* The protocols that on_context offers are not curl's business. */
    if (set_option(call, CURLOPT_CONNECT_ONLY, 1L, err) < 0 ||
        set_option(call, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1, err) < 0 ||
        set_option(call, CURLOPT_SSL_ENABLE_ALPN, 0L, err) < 0 ||
        set_option(call, CURLOPT_SSL_CTX_FUNCTION, on_context, err) < 0)
        return -1;
    return set_option(call, CURLOPT_SSL_CTX_DATA, data, err);
}
