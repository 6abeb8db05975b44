/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a call. See http_internal.h for the hard ideas. */
#include "common/net/http.h"

#include <errno.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/net/http_internal.h"

static void settle(struct http_client *client);

static void work_later(struct http_client *client)
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
        work_later(call->client);
}

static void destroy_call(struct http_call *call)
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
    remove_from_pool(call);
    http_handle_give(call->client, call->easy, call->is_easy_kept);
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->connect_to);
    if (call->body_copy)
        explicit_bzero(call->body_copy, call->body_size);
    free(call->body_copy);
    free(call->url_for_people);
    free(call->method);
    buffer_done(&call->body);
    free(call);
}
define_cleanup(struct http_call *, destroy_call)
#define cleanup_call __attribute__((cleanup(destroy_callp)))

/* A server that has said no before it has read the whole request may close the stream at once;
 * its status is the answer all the same, even if the rest of its words is lost. */
static bool is_refusal(const struct http_call *call, CURLcode code)
{
    return call->response.status >= 400 &&
           (code == CURLE_PARTIAL_FILE || code == CURLE_HTTP2_STREAM || code == CURLE_HTTP2 ||
            code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR);
}

/* Not a byte came in time over a connection that may be dead: the next call gets another one. */
static void leave_pool_behind(const struct http_call *call, CURLcode code)
{
    struct http_client *client = call->client;
    struct http_pool *pool = NULL;
    struct error ignored = {0};
    bool is_silent = call->err.os == ETIMEDOUT || call->headers_size == 0;

    if (code == CURLE_OPERATION_TIMEDOUT && is_silent && call->pool == client->pools &&
        http_pool_new(client, &pool, &ignored) == 0)
        add_pool(client, pool);
}

/* Takes the call out of curl and tells its owner; frees it. */
static void finish_call(struct http_call *call, CURLcode code)
{
    struct error err = {0};

    call->state = HTTP_CALL_ENDED;
    loop_timer_stop(&call->stall_timer);
    http_response_update(call);
    if (code != CURLE_OK && call->err.kind != ERROR_NONE)
        err = call->err;
    else if (code != CURLE_OK && !call->is_body_cut && !is_refusal(call, code))
        http_error_from_curl(call, code, &err);
    leave_pool_behind(call, code);
    remove_from_pool(call);
    call->is_easy_kept = code == CURLE_OK;
    if (!call->is_easy_kept)
        http_handles_drop(call->client); /* the resolver's configuration may be an old one */
    call->on_done(call->data, &call->response, &err);
    destroy_call(call);
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

static void add_to_multi(struct http_call *call)
{
    struct http_pool *pool = call->client->pools;
    CURLMcode code = curl_multi_add_handle(pool->multi, call->easy);

    call->state = HTTP_CALL_RUNNING;
    if (code == CURLM_OK) {
        call->pool = pool;
        pool->call_count++;
        return;
    }
    (void)error_set(&call->err, ERROR_INTERNAL, "%s '%s': %s", call->method, call->url_for_people,
                    curl_multi_strerror(code));
    finish_call(call, CURLE_FAILED_INIT);
}

/* True if something was done, after which the list of calls may be another one. */
static bool do_one_work(struct http_client *client)
{
    for (struct http_call *call = client->calls; call; call = call->next) {
        if (call->state == HTTP_CALL_DEAD) {
            destroy_call(call);
            return true;
        }
        if (call->state == HTTP_CALL_QUEUED) {
            add_to_multi(call);
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
}

/* Runs outside of curl: hands out what has ended and does what had to wait. */
static void settle(struct http_client *client)
{
    client->settling++;
    read_all_messages(client);
    while (client->has_work) {
        client->has_work = false;
        while (do_one_work(client))
            ;
        read_all_messages(client);
    }
    free_old_pools(client);
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
        destroy_call(client->calls);
    while (client->pools) {
        struct http_pool *pool = client->pools;

        client->pools = pool->next;
        http_pool_free(pool);
    }
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

static struct http_call *new_call(struct http_client *client, const struct http_request *request)
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
    call->response.body = &call->body;
    buffer_init(&call->body, request->body_max ? request->body_max : HTTP_BODY_MAX_DEFAULT);
    loop_timer_init(&call->stall_timer, client->loop, on_stall_check, call);
    call->easy = http_handle_take(client);
    return call;
}

int http_start(struct http_client *client, const struct http_request *request,
               struct http_call **ret_call, struct error *err)
{
    cleanup_call struct http_call *call = new_call(client, request);
    struct http_call *started = NULL;

    if (http_easy_setup(call, request, err) < 0)
        return -1;
    started = steal(&call);
    started->next = client->calls;
    if (client->calls)
        client->calls->previous = started;
    client->calls = started;
    client->request_count++;
    if (started->stall_timeout_ms)
        loop_timer_start(&started->stall_timer, started->stall_timeout_ms / HTTP_STALL_CHECKS + 1);
    work_later(client);
    *ret_call = started;
    return 0;
}

void http_cancel(struct http_call *call)
{
    if (!call || call->state == HTTP_CALL_ENDED || call->state == HTTP_CALL_DEAD)
        return;
    if (!call->client->depth) {
        destroy_call(call);
        return;
    }
    call->state = HTTP_CALL_DEAD;
    loop_timer_stop(&call->stall_timer);
    work_later(call->client);
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
