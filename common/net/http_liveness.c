/* SPDX-License-Identifier: Apache-2.0 */
/* Notices servers that do not respond any more. Every connection is looked at from time to time; if
 * nothing was received for long, the server has to answer a PING.
 *
 * The connections to look at are in a list for each second, and one timer serves them all: with
 * thousands of idle connections, a timer for each of them was a tenth of all CPU time. */
#include <errno.h>

#include "common/net/http_nghttp2.h"

static void start_timer(struct http_liveness *liveness, uint64_t due_s)
{
    uint64_t now_ms = loop_now_ms(liveness->timer.loop);
    uint64_t due_ms = due_s * 1000;

    loop_timer_start_at_latest(&liveness->timer, due_ms > now_ms ? due_ms - now_ms : 0);
}

/* Looks at the connection after this time, rounded up to a full second. */
static void look_after(struct connection *connection, uint64_t delay_ms)
{
    struct http_liveness *liveness = &connection->client->nghttp2->liveness;
    uint64_t due_s = (loop_now_ms(connection->client->loop) + delay_ms + 999) / 1000;
    struct connection **list = &liveness->lists[due_s % HTTP_LIVENESS_SECONDS];

    liveness_forget(connection);
    connection->look_at_s = due_s;
    connection->next_look = *list;
    if (*list)
        (*list)->look_link = &connection->next_look;
    connection->look_link = list;
    *list = connection;
    start_timer(liveness, due_s);
}

void liveness_watch(struct connection *connection)
{
    connection->received_ms = loop_now_ms(connection->client->loop);
    look_after(connection, HTTP_PING_AFTER_MS);
}

void liveness_forget(struct connection *connection)
{
    if (!connection->look_link)
        return;
    *connection->look_link = connection->next_look;
    if (connection->next_look)
        connection->next_look->look_link = connection->look_link;
    connection->look_link = NULL;
}

/* Looks are counted, not milliseconds: after the process was stopped (SIGSTOP, a suspended machine)
 * its connections get another chance. */
static void look_at(struct connection *connection)
{
    uint64_t quiet_ms = loop_now_ms(connection->client->loop) - connection->received_ms;

    if (quiet_ms < HTTP_PING_AFTER_MS || connection->call_count == 0) {
        connection->ping_checks = 0;
        look_after(connection, quiet_ms < HTTP_PING_AFTER_MS ? HTTP_PING_AFTER_MS - quiet_ms
                                                             : HTTP_PING_AFTER_MS);
        return;
    }
    if (connection->ping_checks == HTTP_PING_CHECKS) {
        connection_time_out(connection, "the server does not respond to HTTP/2 PING");
        return;
    }
    if (connection->ping_checks++ == 0) {
        (void)nghttp2_submit_ping(connection->session, NGHTTP2_FLAG_NONE, NULL);
        connection_mark_dirty(connection);
    }
    look_after(connection, HTTP_PING_CHECK_MS);
}

/* After a pause of the process the list may contain connections of a later second, too. */
static void look_at_list(struct connection *connection, uint64_t now_s)
{
    for (struct connection *next = NULL; connection; connection = next) {
        next = connection->next_look;
        if (connection->look_at_s > now_s)
            continue;
        liveness_forget(connection);
        look_at(connection);
    }
}

static void on_timer(void *data)
{
    struct http_liveness *liveness = data;
    uint64_t now_s = loop_now_ms(liveness->timer.loop) / 1000;
    uint64_t next_s = UINT64_MAX;

    if (liveness->done_s + HTTP_LIVENESS_SECONDS < now_s)
        liveness->done_s = now_s - HTTP_LIVENESS_SECONDS;
    while (liveness->done_s < now_s)
        look_at_list(liveness->lists[++liveness->done_s % HTTP_LIVENESS_SECONDS], now_s);
    for (size_t i = 0; i < HTTP_LIVENESS_SECONDS; i++) {
        if (liveness->lists[i] && liveness->lists[i]->look_at_s < next_s)
            next_s = liveness->lists[i]->look_at_s;
    }
    if (next_s < UINT64_MAX)
        start_timer(liveness, next_s);
}

void liveness_init(struct http_liveness *liveness, struct loop *loop)
{
    loop_timer_init(&liveness->timer, loop, on_timer, liveness);
}

void liveness_done(struct http_liveness *liveness)
{
    loop_timer_stop(&liveness->timer);
}
