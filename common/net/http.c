/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a call. See http_internal.h for the hard ideas. */
#include "common/net/http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/net/http_h2.h"

static void settle(struct http_client *client);

void http_work_later(struct http_client *client)
{
    client->has_work = true;
    if (!client->depth)
        loop_timer_start(&client->work_timer, 0);
}

static void add_pool(struct http_client *client, struct http_pool *pool)
{
    pool->next = client->pools;
    client->pools = pool;
}

static void remove_from_pool(struct http_call *call)
{
    struct http_pool *pool = call->pool;

    if (!pool)
        return;
    call->pool = NULL;
    (void)curl_multi_remove_handle(pool->multi, call->easy);
    if (--pool->call_count == 0 && pool != call->client->pools)
        http_work_later(call->client);
}

void http_call_free(struct http_call *call)
{
    if (!call)
        return;
    if (call->previous)
        call->previous->next = call->next;
    else if (call->client->calls == call)
        call->client->calls = call->next;
    if (call->next)
        call->next->previous = call->previous;
    loop_timer_stop(&call->stall_timer);
    loop_timer_stop(&call->total_timer);
    remove_from_pool(call);
    http_h2_remove(call);
    http_handle_give(call->client, call->easy, call->is_easy_kept);
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->connect_to);
    if (call->body_copy)
        explicit_bzero(call->body_copy, call->body_size);
    free(call->body_copy);
    free(call->url_for_people);
    free(call->method);
    buffer_done(&call->body);
    buffer_done(&call->answer_headers);
    http_kept_free(call->kept);
    free(call);
}
define_cleanup(struct http_call *, http_call_free)
#define cleanup_call __attribute__((cleanup(http_call_freep)))

/* A server that has said no before it has read the whole request may close the stream at once;
 * its status is the answer all the same, even if the rest of its words is lost. */
static bool is_refusal(const struct http_call *call, CURLcode code)
{
    return call->response.status >= 400 &&
           (code == CURLE_PARTIAL_FILE || code == CURLE_HTTP2_STREAM || code == CURLE_HTTP2 ||
            code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR);
}

/* Not a byte came in time over a connection that may be dead: the next call gets another one. */
static void leave_connection_behind(const struct http_call *call, CURLcode code)
{
    struct http_client *client = call->client;
    struct http_pool *pool = NULL;
    struct error ignored = {0};
    bool is_silent = call->err.os == ETIMEDOUT || call->headers_size == 0;

    if (code != CURLE_OPERATION_TIMEDOUT || !is_silent)
        return;
    if (call->h2)
        call->h2->is_leaving = true;
    else if (call->pool == client->pools && http_pool_new(client, &pool, &ignored) == 0)
        add_pool(client, pool);
}

/* Takes the call out of curl and tells its owner; frees it. */
static void finish_call(struct http_call *call, CURLcode code)
{
    struct error err = {0};

    call->state = HTTP_CALL_ENDED;
    loop_timer_stop(&call->stall_timer);
    loop_timer_stop(&call->total_timer);
    http_response_update(call);
    if (code != CURLE_OK && call->err.kind != ERROR_NONE)
        err = call->err;
    else if (code != CURLE_OK && !call->is_body_cut && !is_refusal(call, code))
        http_error_from_curl(call, code, &err);
    leave_connection_behind(call, code);
    remove_from_pool(call);
    http_h2_remove(call);
    call->is_easy_kept = code == CURLE_OK;
    if (!call->is_easy_kept)
        http_handles_drop(call->client); /* the resolver's configuration may be an old one */
    call->on_done(call->data, &call->response, &err);
    http_call_free(call);
}

void http_call_over(struct http_call *call, CURLcode code)
{
    call->state = HTTP_CALL_OVER;
    call->end_code = code;
    http_work_later(call->client);
}

void http_call_again(struct http_call *call)
{
    http_h2_remove(call);
    call->state = HTTP_CALL_QUEUED;
    http_work_later(call->client);
}

bool http_note_headers(struct http_call *call, size_t size)
{
    call->headers_size += size;
    if (call->headers_size <= HTTP_HEADERS_MAX)
        return true;
    (void)error_set(&call->err, ERROR_TOO_LARGE, "%s '%s': headers of more than %d bytes",
                    call->method, call->url_for_people, HTTP_HEADERS_MAX);
    return false;
}

static bool is_success(int status)
{
    return status >= 200 && status < 300;
}

bool http_take_bytes(struct http_call *call, const char *bytes, size_t size)
{
    if (call->state == HTTP_CALL_DEAD)
        return false;
    if (call->on_data && is_success(call->response.status))
        return call->on_data(call->data, &call->response, bytes, size, &call->err) == 0 &&
               call->state != HTTP_CALL_DEAD;
    if (!is_success(call->response.status) && size > call->body.max - call->body.size) {
        size = call->body.max - call->body.size;
        call->is_body_cut = true;
    }
    if (buffer_append(&call->body, bytes, size, &call->err) < 0) {
        (void)error_wrap(&call->err, "%s '%s'", call->method, call->url_for_people);
        return false;
    }
    return !call->is_body_cut;
}

static void read_messages(struct http_pool *pool)
{
    CURLMsg *message = NULL;
    int left = 0;

    while ((message = curl_multi_info_read(pool->multi, &left))) {
        char *private_data = NULL;
        struct http_call *call = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private_data);
        call = (struct http_call *)(void *)private_data;
        if (call->state == HTTP_CALL_RUNNING)
            finish_call(call, message->data.result);
    }
}

void http_enter(struct http_client *client)
{
    client->depth++;
}

void http_leave(struct http_client *client)
{
    if (--client->depth == 0)
        settle(client);
}

static int add_to_multi(struct http_call *call, struct error *err)
{
    struct http_pool *pool = call->client->pools;
    CURLMcode code = curl_multi_add_handle(pool->multi, call->easy);

    if (code != CURLM_OK)
        return error_set(err, ERROR_INTERNAL, "%s '%s': %s", call->method, call->url_for_people,
                         curl_multi_strerror(code));
    call->pool = pool;
    pool->call_count++;
    return 0;
}

/* One that was to be multiplexed goes by curl after all. */
static int give_to_curl(struct http_call *call, struct error *err)
{
    const struct http_url *url = NULL;

    loop_timer_stop(&call->total_timer); /* curl has its own */
    if (http_origin_of(call->client, call->kept->request.url, &url, err) < 0)
        return -1;
    return http_easy_setup(call, &call->kept->request, url, err);
}

static void send_call(struct http_call *call)
{
    bool is_multiplexed = call->kept && http_h2_takes(call->client, &call->kept->request);
    struct error err = {0};
    int result = 0;

    call->state = HTTP_CALL_RUNNING;
    if (is_multiplexed)
        result = http_h2_add(call, &err);
    else if (call->kept && give_to_curl(call, &err) < 0)
        result = -1;
    else
        result = add_to_multi(call, &err);
    if (result == 0)
        return;
    call->err = err;
    finish_call(call, CURLE_FAILED_INIT);
}

/* True if something was done, after which the list of calls may be another one. */
static bool do_one_work(struct http_client *client)
{
    for (struct http_call *call = client->calls; call; call = call->next) {
        if (call->state == HTTP_CALL_DEAD) {
            http_call_free(call);
            return true;
        }
        if (call->state == HTTP_CALL_QUEUED) {
            send_call(call);
            return true;
        }
        if (call->state == HTTP_CALL_OVER) {
            finish_call(call, call->end_code);
            return true;
        }
    }
    return false;
}

/* Frees old pools that nobody uses. A callback may run the loop and so get here again while a pool
 * is being read, hence only in the outermost settle(). */
static void free_old_pools(struct http_client *client)
{
    struct http_pool **link = &client->pools->next;

    while (client->settling == 1 && *link) {
        struct http_pool *pool = *link;

        if (pool->call_count > 0) {
            link = &pool->next;
            continue;
        }
        *link = pool->next;
        http_pool_free(pool);
    }
}

static void read_all_messages(struct http_client *client)
{
    for (struct http_pool *pool = client->pools; pool; pool = pool->next)
        read_messages(pool);
    http_h2_connected(client);
}

/* Runs outside of curl and nghttp2: hands out what has ended and does what had to wait. */
static void settle(struct http_client *client)
{
    client->settling++;
    do {
        read_all_messages(client);
        client->has_work = false;
        while (do_one_work(client))
            ;
        read_all_messages(client);
        http_h2_flush(client);
    } while (client->has_work);
    loop_timer_stop(&client->work_timer);
    free_old_pools(client);
    if (client->settling == 1)
        http_h2_close_unused(client);
    client->settling--;
}

static void on_work(void *data)
{
    settle(data);
}

int http_client_new(struct loop *loop, const char *user_agent, struct http_client **ret_client,
                    struct error *err)
{
    cleanup_http_client struct http_client *client = xcalloc(1, sizeof(*client));
    struct http_pool *pool = NULL;

    client->loop = loop;
    client->user_agent = xstrdup(user_agent);
    loop_timer_init(&client->work_timer, loop, on_work, client);
    http_h2_setup(client);
    client->has_global = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (!client->has_global)
        return error_set(err, ERROR_INTERNAL, "libcurl does not start");
    if (http_pool_new(client, &pool, err) < 0)
        return -1;
    add_pool(client, pool);
    *ret_client = steal(&client);
    return 0;
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    while (client->calls)
        http_call_free(client->calls);
    while (client->pools) {
        struct http_pool *pool = client->pools;

        client->pools = pool->next;
        http_pool_free(pool);
    }
    http_h2_close_all(client);
    http_handles_drop(client);
    loop_timer_stop(&client->work_timer);
    if (client->has_global)
        curl_global_cleanup();
    http_origin_done(client);
    free(client->user_agent);
    free(client);
}

static uint64_t bytes_moved(const struct http_call *call)
{
    curl_off_t down = 0;
    curl_off_t up = 0;

    if (!call->easy)
        return call->moved_bytes + call->headers_size;
    (void)curl_easy_getinfo(call->easy, CURLINFO_SIZE_DOWNLOAD_T, &down);
    (void)curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &up);
    return (uint64_t)down + (uint64_t)up + call->headers_size;
}

/* Looks several times in the allowed time whether anything has moved. Looks are counted, not
 * milliseconds: after a process has stood still its connections get the benefit of the doubt. */
static void on_stall_check(void *data)
{
    struct http_call *call = data;
    uint64_t bytes = bytes_moved(call);

    if (bytes != call->progress_bytes)
        call->idle_checks = 0;
    else
        call->idle_checks++;
    call->progress_bytes = bytes;
    if (call->idle_checks < HTTP_STALL_CHECKS) {
        loop_timer_start(&call->stall_timer, call->stall_timeout_ms / HTTP_STALL_CHECKS + 1);
        return;
    }
    (void)error_set(&call->err, ERROR_TEMPORARY, "%s '%s': nothing came for %llu ms", call->method,
                    call->url_for_people, (unsigned long long)call->stall_timeout_ms);
    call->err.os = ETIMEDOUT;
    finish_call(call, CURLE_OPERATION_TIMEDOUT);
}

static void on_total_timeout(void *data)
{
    struct http_call *call = data;

    (void)snprintf(call->curl_text, sizeof(call->curl_text), "no whole answer after %llu ms",
                   (unsigned long long)call->kept->request.total_timeout_ms);
    finish_call(call, CURLE_OPERATION_TIMEDOUT);
}

struct http_call *http_call_new(struct http_client *client, const struct http_request *request)
{
    struct http_call *call = xcalloc(1, sizeof(*call));

    call->client = client;
    call->url_for_people = http_url_for_people(request->url);
    call->method = xstrdup(request->method);
    call->on_data = request->on_data;
    call->on_done = request->on_done;
    call->data = request->data;
    call->stall_timeout_ms = request->stall_timeout_ms;
    call->response.call = call;
    call->response.method = call->method;
    call->response.body = &call->body;
    if (request->body || strcmp(request->method, "POST") == 0) {
        call->body_size = request->body ? request->body_size : 0;
        call->body_copy = xmemdup(request->body, call->body_size);
    }
    buffer_init(&call->body, request->body_max ? request->body_max : HTTP_BODY_MAX_DEFAULT);
    buffer_init(&call->answer_headers, 3 * HTTP_HEADERS_MAX);
    loop_timer_init(&call->stall_timer, client->loop, on_stall_check, call);
    loop_timer_init(&call->total_timer, client->loop, on_total_timeout, call);
    return call;
}

static int prepare(struct http_call *call, const struct http_request *request, struct error *err)
{
    const struct http_url *url = NULL;

    if (http_origin_of(call->client, request->url, &url, err) < 0 ||
        http_request_check(call, request, url->scheme, err) < 0)
        return -1;
    if (!http_h2_takes(call->client, request))
        return http_easy_setup(call, request, url, err);
    call->kept = http_request_keep(request);
    if (request->total_timeout_ms)
        loop_timer_start(&call->total_timer, request->total_timeout_ms);
    return 0;
}

int http_start(struct http_client *client, const struct http_request *request,
               struct http_call **ret_call, struct error *err)
{
    cleanup_call struct http_call *call = http_call_new(client, request);
    struct http_call *started = NULL;

    if (prepare(call, request, err) < 0)
        return -1;
    started = steal(&call);
    started->next = client->calls;
    if (client->calls)
        client->calls->previous = started;
    client->calls = started;
    client->request_count++;
    if (started->stall_timeout_ms)
        loop_timer_start(&started->stall_timer, started->stall_timeout_ms / HTTP_STALL_CHECKS + 1);
    http_work_later(client);
    *ret_call = started;
    return 0;
}

void http_cancel(struct http_call *call)
{
    if (!call || call->state == HTTP_CALL_ENDED || call->state == HTTP_CALL_DEAD)
        return;
    if (!call->client->depth) {
        http_call_free(call);
        return;
    }
    call->state = HTTP_CALL_DEAD;
    loop_timer_stop(&call->stall_timer);
    loop_timer_stop(&call->total_timer);
    http_work_later(call->client);
}

bool http_client_is_busy(const struct http_client *client)
{
    return client->depth > 0;
}

void http_client_counts(const struct http_client *client, uint64_t *ret_connections,
                        uint64_t *ret_requests)
{
    *ret_connections = client->connection_count;
    *ret_requests = client->request_count;
}
