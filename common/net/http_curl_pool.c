/* SPDX-License-Identifier: Apache-2.0 */
/* curl's multi handles on the loop. */
#include <stdlib.h>
#include <sys/epoll.h>

#include "common/base/memory.h"
#include "common/net/http_curl.h"

/* A descriptor of curl's on the loop. Lives from the first to the last callback about it. */
struct http_socket {
    struct http_pool *pool;
    int fd;
};

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

void http_pool_free(struct http_pool *pool)
{
    if (!pool)
        return;
    if (pool->multi)
        (void)curl_multi_cleanup(pool->multi);
    loop_timer_stop(&pool->timer);
    free(pool);
}

int http_pool_new(struct http_client *client, struct http_pool **ret_pool, struct error *err)
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
        http_pool_free(pool);
        return error_set(err, ERROR_INTERNAL, "libcurl could not be initialized");
    }
    *ret_pool = pool;
    return 0;
}

int http_pool_add(struct http_transfer *transfer, struct http_pool *pool, struct error *err)
{
    CURLMcode code = curl_multi_add_handle(pool->multi, transfer->easy);

    if (code != CURLM_OK)
        return error_set(err, ERROR_INTERNAL, "libcurl: %s", curl_multi_strerror(code));
    transfer->pool = pool;
    pool->transfer_count++;
    return 0;
}

void http_pool_remove(struct http_transfer *transfer)
{
    struct http_pool *pool = transfer->pool;

    if (!pool)
        return;
    transfer->pool = NULL;
    (void)curl_multi_remove_handle(pool->multi, transfer->easy);
    if (--pool->transfer_count == 0)
        http_work_later(transfer->client); /* it may be an old pool that can be freed */
}
