/* SPDX-License-Identifier: Apache-2.0 */
/* The transport that uses libcurl for everything, and connections that curl makes for the other
 * one. */
#include "common/net/http_curl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

enum {
    IDLE_HANDLES_MAX = 8, /* a handle that has connected takes 200 KB */
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
    http_pool_remove(transfer);
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

/* ---- Links ---- */

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
    if (http_link_set_options(link, request, err) < 0 ||
        http_pool_add(link, client->curl->pools, err) < 0)
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
        http_pool_free(pool);
    }
    drop_idle_handles(curl);
    if (curl->has_global)
        curl_global_cleanup();
    free(curl);
    client->curl = NULL;
}

static void add_pool(struct http_curl *curl, struct http_pool *pool)
{
    pool->next = curl->pools;
    curl->pools = pool;
}

static int open_curl(struct http_client *client, struct error *err)
{
    struct http_pool *pool = NULL;

    client->curl = xcalloc(1, sizeof(*client->curl));
    client->curl->has_global = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (!client->curl->has_global)
        return error_set(err, ERROR_INTERNAL, "libcurl could not be initialized");
    if (http_pool_new(client, &pool, err) < 0)
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
    return http_transfer_set_options(call->exchange, &call->input->request, err);
}

static int send_transfer(struct http_call *call, struct error *err)
{
    return http_pool_add(call->exchange, call->client->curl->pools, err);
}

static void detach_transfer(struct http_call *call, bool is_success)
{
    struct http_transfer *transfer = call->exchange;

    http_transfer_update_status(transfer);
    http_pool_remove(transfer);
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

    if (transfer->pool == curl->pools && http_pool_new(call->client, &pool, &ignored) == 0)
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
        http_transfer_update_status(transfer);
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
        http_pool_free(pool);
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
