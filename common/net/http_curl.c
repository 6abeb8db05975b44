/* SPDX-License-Identifier: Apache-2.0 */
/* The transport that uses libcurl for everything, and connections that curl makes for the other
 * one. All options of curl handles are set here and in http_trust.c. */
#include "common/net/http_curl.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/base/memory.h"
#include "common/net/http_trust.h"

enum {
    TCP_USER_TIMEOUT_MS = 30000,
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_INTERVAL_S = 5,
    IDLE_HANDLES_MAX = 8, /* a handle that has connected takes 200 KB */
};

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

/* A descriptor of curl's on the loop. Lives from the first to the last callback about it. */
struct http_socket {
    struct http_pool *pool;
    int fd;
};

/* Making a handle costs as much as a request: with c-ares it reads the resolver's configuration. So
 * handles are reused. curl_easy_reset() removes all options, credentials and response headers. Only
 * handles of successful calls are kept: curl clears the Authorization header that it built only
 * once it has been sent. */
struct http_curl {
    bool has_global;
    struct http_pool *pools; /* the first one is for new calls */
    CURL *idle[IDLE_HANDLES_MAX];
    size_t idle_count;
};

/* ---- Pools ---- */

static void on_socket_ready(void *data, uint32_t events)
{
    const struct http_socket *ready = data;
    struct http_client *client = ready->pool->client;
    int mask = 0;
    int running = 0;

    if (client->depth)
        return; /* on_data of a call runs the loop; the descriptor stays ready */
    mask |= events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0;
    mask |= events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
    mask |= events & EPOLLERR ? CURL_CSELECT_ERR : 0;
    http_enter(client);
    (void)curl_multi_socket_action(ready->pool->multi, ready->fd, mask, &running);
    http_leave(client);
}

static int on_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data)
{
    struct http_pool *pool = data;
    struct http_socket *known = socket_data;
    struct error err = {0};
    uint32_t events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        loop_remove_fd(pool->client->loop, fd);
        free(known);
        return 0;
    }
    if (!known) {
        known = xcalloc(1, sizeof(*known));
        known->pool = pool;
        known->fd = fd;
        (void)curl_multi_assign(pool->multi, fd, known);
    }
    events |= what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0;
    events |= what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0;
    return loop_set_fd(pool->client->loop, fd, events, on_socket_ready, known, &err);
}

static int on_timer_wanted(CURLM *multi, long timeout_ms, void *data)
{
    struct http_pool *pool = data;

    (void)multi;
    /* Our clock counts whole milliseconds and may be one ahead of curl's. If the timer fired early,
     * curl would do nothing and not ask for the same time again. */
    if (timeout_ms < 0)
        loop_timer_stop(&pool->timer);
    else
        loop_timer_start(&pool->timer, timeout_ms > 0 ? (uint64_t)timeout_ms + 1 : 0);
    return 0;
}

static void on_timer(void *data)
{
    struct http_pool *pool = data;
    struct http_client *client = pool->client;
    int running = 0;
    long timeout_ms = -1;

    if (client->depth)
        return;
    http_enter(client);
    (void)curl_multi_socket_action(pool->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    /* curl does not always call back with what is left to do, so ask. */
    if (!loop_timer_is_running(&pool->timer) &&
        curl_multi_timeout(pool->multi, &timeout_ms) == CURLM_OK)
        (void)on_timer_wanted(pool->multi, timeout_ms, pool);
    http_leave(client);
}

static void pool_free(struct http_pool *pool)
{
    if (!pool)
        return;
    if (pool->multi)
        (void)curl_multi_cleanup(pool->multi);
    loop_timer_stop(&pool->timer);
    free(pool);
}

static int pool_new(struct http_client *client, struct http_pool **ret_pool, struct error *err)
{
    struct http_pool *pool = xcalloc(1, sizeof(*pool));

    pool->client = client;
    loop_timer_init(&pool->timer, client->loop, on_timer, pool);
    pool->multi = curl_multi_init();
    if (!pool->multi ||
        curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, on_socket_wanted) != CURLM_OK ||
        curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool) != CURLM_OK ||
        curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted) != CURLM_OK ||
        curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool) != CURLM_OK ||
        curl_multi_setopt(pool->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX) != CURLM_OK) {
        pool_free(pool);
        return error_set(err, ERROR_INTERNAL, "libcurl could not be initialized");
    }
    *ret_pool = pool;
    return 0;
}

static void add_pool(struct http_curl *curl, struct http_pool *pool)
{
    pool->next = curl->pools;
    curl->pools = pool;
}

static int add_to_pool(struct http_transfer *transfer, struct http_pool *pool, struct error *err)
{
    CURLMcode code = curl_multi_add_handle(pool->multi, transfer->easy);

    if (code != CURLM_OK)
        return error_set(err, ERROR_INTERNAL, "libcurl: %s", curl_multi_strerror(code));
    transfer->pool = pool;
    pool->transfer_count++;
    return 0;
}

static void remove_from_pool(struct http_transfer *transfer)
{
    struct http_pool *pool = transfer->pool;

    if (!pool)
        return;
    transfer->pool = NULL;
    (void)curl_multi_remove_handle(pool->multi, transfer->easy);
    if (--pool->transfer_count == 0)
        http_work_later(transfer->client); /* it may be an old pool that can be freed */
}

/* ---- Handles ---- */

static CURL *take_handle(struct http_curl *curl)
{
    CURL *easy = curl->idle_count ? curl->idle[--curl->idle_count] : curl_easy_init();

    if (!easy)
        out_of_memory();
    return easy;
}

static void give_handle(struct http_curl *curl, CURL *easy, bool is_reusable)
{
    if (!is_reusable || curl->idle_count == IDLE_HANDLES_MAX) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    curl->idle[curl->idle_count++] = easy;
}

static void drop_idle_handles(struct http_curl *curl)
{
    while (curl->idle_count)
        curl_easy_cleanup(curl->idle[--curl->idle_count]);
}

/* ---- A transfer ---- */

static struct http_transfer *transfer_new(struct http_client *client, struct http_call *call)
{
    struct http_transfer *transfer = xcalloc(1, sizeof(*transfer));

    transfer->client = client;
    transfer->call = call;
    transfer->easy = take_handle(client->curl);
    return transfer;
}

static void transfer_free(struct http_transfer *transfer)
{
    remove_from_pool(transfer);
    give_handle(transfer->client->curl, transfer->easy, transfer->is_reusable);
    curl_slist_free_all(transfer->headers);
    curl_slist_free_all(transfer->connect_to);
    free(transfer);
}

/* curl's text is shown only for codes where it can contain nothing but host, port and reason: some
 * of its messages quote URLs, proxies or headers. */
static const struct {
    CURLcode code;
    enum error_kind kind;
    bool is_text_shown;
} codes[] = {
    {CURLE_URL_MALFORMAT, ERROR_INVALID, false},
    {CURLE_UNSUPPORTED_PROTOCOL, ERROR_INVALID, false},
    {CURLE_TOO_MANY_REDIRECTS, ERROR_INVALID, false},
    {CURLE_BAD_CONTENT_ENCODING, ERROR_INVALID, false},
    {CURLE_COULDNT_RESOLVE_HOST, ERROR_TEMPORARY, true},
    {CURLE_COULDNT_CONNECT, ERROR_TEMPORARY, true},
    {CURLE_OPERATION_TIMEDOUT, ERROR_TEMPORARY, true},
    {CURLE_SSL_CONNECT_ERROR, ERROR_TEMPORARY, true},
    {CURLE_PARTIAL_FILE, ERROR_TEMPORARY, true},
    {CURLE_GOT_NOTHING, ERROR_TEMPORARY, true},
    {CURLE_SEND_ERROR, ERROR_TEMPORARY, true},
    {CURLE_RECV_ERROR, ERROR_TEMPORARY, true},
    {CURLE_HTTP2, ERROR_TEMPORARY, true},
    {CURLE_HTTP2_STREAM, ERROR_TEMPORARY, true},
    {CURLE_PEER_FAILED_VERIFICATION, ERROR_DENIED, true},
    {CURLE_SSL_ISSUER_ERROR, ERROR_DENIED, true},
    {CURLE_SSL_INVALIDCERTSTATUS, ERROR_DENIED, true},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, ERROR_DENIED, true},
    {CURLE_SSL_CERTPROBLEM, ERROR_DENIED, false},
    {CURLE_SSL_CACERT_BADFILE, ERROR_DENIED, false},
    {CURLE_LOGIN_DENIED, ERROR_DENIED, false},
    {CURLE_REMOTE_ACCESS_DENIED, ERROR_DENIED, false},
    {CURLE_FILESIZE_EXCEEDED, ERROR_TOO_LARGE, false},
    {CURLE_NOT_BUILT_IN, ERROR_INTERNAL, false},
    {CURLE_FAILED_INIT, ERROR_INTERNAL, false},
    {CURLE_OUT_OF_MEMORY, ERROR_INTERNAL, false},
    {CURLE_BAD_FUNCTION_ARGUMENT, ERROR_INTERNAL, false},
    {CURLE_UNKNOWN_OPTION, ERROR_INTERNAL, false},
};

void http_transfer_error(const struct http_transfer *transfer, CURLcode code,
                         struct http_call *call)
{
    enum error_kind kind = ERROR_TEMPORARY;
    const char *text = curl_easy_strerror(code);

    for (size_t i = 0; i < array_length(codes); i++) {
        if (codes[i].code != code)
            continue;
        kind = codes[i].kind;
        if (codes[i].is_text_shown && transfer->text[0])
            text = transfer->text;
    }
    /* curl uses this code also for a response that is not HTTP. That is the server's fault, not the
     * URL's, and may be temporary. */
    if (code == CURLE_UNSUPPORTED_PROTOCOL && strstr(transfer->text, "HTTP/0.9"))
        kind = ERROR_TEMPORARY;
    http_call_error(call, kind, "%s", text);
    if (code == CURLE_OPERATION_TIMEDOUT)
        http_call_err(call)->os = ETIMEDOUT;
    else if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
        http_call_err(call)->os = ECONNREFUSED;
}

/* ---- Options ---- */

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

static void update_status(struct http_transfer *transfer)
{
    long status = 0;

    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    transfer->call->response.status = (int)status;
}

static size_t on_write(char *bytes, size_t unit, size_t count, void *data)
{
    struct http_transfer *transfer = data;

    update_status(transfer);
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

static int set_options(struct http_transfer *transfer, const struct http_request *request,
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
static int set_link_options(struct http_transfer *link, const struct http_request *request,
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

void http_link_free(struct http_transfer *link)
{
    if (link)
        transfer_free(link);
}
define_cleanup(struct http_transfer *, http_link_free)
#define cleanup_link __attribute__((cleanup(http_link_freep)))

int http_link_open(struct http_client *client, const struct http_request *request,
                   http_link_fn *on_done, void *data, struct http_transfer **ret_link,
                   struct error *err)
{
    cleanup_link struct http_transfer *link = transfer_new(client, NULL);

    link->on_done = on_done;
    link->on_done_data = data;
    if (set_link_options(link, request, err) < 0 || add_to_pool(link, client->curl->pools, err) < 0)
        return -1;
    *ret_link = steal(&link);
    return 0;
}

int http_link_socket(const struct http_transfer *link)
{
    curl_socket_t fd = CURL_SOCKET_BAD;

    (void)curl_easy_getinfo(link->easy, CURLINFO_ACTIVESOCKET, &fd);
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static void finish_link(struct http_transfer *link, CURLcode code)
{
    link->is_reusable = code == CURLE_OK;
    if (code != CURLE_OK)
        drop_idle_handles(link->client->curl);
    link->on_done(link->on_done_data, link, code);
}

/* ---- The transport ---- */

static void close_curl(struct http_client *client)
{
    struct http_curl *curl = client->curl;

    if (!curl)
        return;
    while (curl->pools) {
        struct http_pool *pool = curl->pools;

        curl->pools = pool->next;
        pool_free(pool);
    }
    drop_idle_handles(curl);
    if (curl->has_global)
        curl_global_cleanup();
    free(curl);
    client->curl = NULL;
}

static int open_curl(struct http_client *client, struct error *err)
{
    struct http_pool *pool = NULL;

    client->curl = xcalloc(1, sizeof(*client->curl));
    client->curl->has_global = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (!client->curl->has_global)
        return error_set(err, ERROR_INTERNAL, "libcurl could not be initialized");
    if (pool_new(client, &pool, err) < 0)
        return -1;
    add_pool(client->curl, pool);
    return 0;
}

static bool accept_any(const struct http_client *client, const struct http_request *request)
{
    (void)client;
    (void)request;
    return true;
}

static int prepare_transfer(struct http_call *call, struct error *err)
{
    call->exchange = transfer_new(call->client, call);
    return set_options(call->exchange, &call->input->request, err);
}

static int send_transfer(struct http_call *call, struct error *err)
{
    return add_to_pool(call->exchange, call->client->curl->pools, err);
}

static void detach_transfer(struct http_call *call, bool is_success)
{
    struct http_transfer *transfer = call->exchange;

    update_status(transfer);
    remove_from_pool(transfer);
    transfer->is_reusable = is_success;
    /* A changed resolver configuration may be the reason: each handle has read it when it was made.
     */
    if (!is_success)
        drop_idle_handles(call->client->curl);
}

static void release_transfer(struct http_call *call)
{
    transfer_free(call->exchange);
    call->exchange = NULL;
}

static void replace_pool(struct http_call *call)
{
    const struct http_transfer *transfer = call->exchange;
    struct http_curl *curl = call->client->curl;
    struct http_pool *pool = NULL;
    struct error ignored = {0};

    if (transfer->pool == curl->pools && pool_new(call->client, &pool, &ignored) == 0)
        add_pool(curl, pool);
}

static bool is_never_waiting(const struct http_call *call)
{
    (void)call;
    return false;
}

static uint64_t transfer_bytes(const struct http_call *call)
{
    const struct http_transfer *transfer = call->exchange;
    curl_off_t down = 0;
    curl_off_t up = 0;

    (void)curl_easy_getinfo(transfer->easy, CURLINFO_SIZE_DOWNLOAD_T, &down);
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_SIZE_UPLOAD_T, &up);
    return (uint64_t)down + (uint64_t)up;
}

static const char *transfer_header(const struct http_call *call, const char *name, size_t index)
{
    const struct http_transfer *transfer = call->exchange;
    struct curl_header *found = NULL;

    if (curl_easy_header(transfer->easy, name, index, CURLH_HEADER, -1, &found) != CURLHE_OK)
        return NULL;
    return found->value;
}

static enum http_end end_of(const struct http_transfer *transfer, CURLcode code)
{
    if (code == CURLE_OK)
        return HTTP_END_COMPLETE;
    if (code == CURLE_WRITE_ERROR)
        return HTTP_END_STOPPED;
    if (transfer->call->is_refused)
        return HTTP_END_FAILED;
    http_transfer_error(transfer, code, transfer->call);
    return code == CURLE_PARTIAL_FILE || code == CURLE_HTTP2_STREAM || code == CURLE_HTTP2 ||
                   code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR
               ? HTTP_END_BROKEN
               : HTTP_END_FAILED;
}

static void finish_pool(struct http_pool *pool)
{
    CURLMsg *message = NULL;
    int left = 0;

    while ((message = curl_multi_info_read(pool->multi, &left))) {
        char *private_data = NULL;
        struct http_transfer *transfer = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private_data);
        transfer = (struct http_transfer *)(void *)private_data;
        if (!transfer->call) {
            finish_link(transfer, message->data.result);
            continue;
        }
        if (transfer->call->state != HTTP_CALL_RUNNING)
            continue;
        update_status(transfer);
        http_call_finish(transfer->call, end_of(transfer, message->data.result));
    }
}

static void finish_transfers(struct http_client *client)
{
    for (struct http_pool *pool = client->curl->pools; pool; pool = pool->next)
        finish_pool(pool);
}

/* Frees old pools without transfers. An owner may run the loop from on_done and so get here while
 * finish_transfers() is still at a pool, hence only in the outermost settle(). */
static void free_old_pools(struct http_client *client)
{
    struct http_pool **link = &client->curl->pools->next;

    while (client->settling == 1 && *link) {
        struct http_pool *pool = *link;

        if (pool->transfer_count > 0) {
            link = &pool->next;
            continue;
        }
        *link = pool->next;
        pool_free(pool);
    }
}

const struct http_transport http_curl_transport = {
    .open = open_curl,
    .close = close_curl,
    .accepts = accept_any,
    .prepare = prepare_transfer,
    .send = send_transfer,
    .detach = detach_transfer,
    .release = release_transfer,
    .note_timeout = replace_pool,
    .is_waiting = is_never_waiting,
    .body_bytes = transfer_bytes,
    .header = transfer_header,
    .finish_ended = finish_transfers,
    .flush = free_old_pools,
};
