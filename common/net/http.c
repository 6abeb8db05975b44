/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a call: checked, queued, sent by a transport, ended or cancelled. What can go wrong
 * with re-entrancy is explained in http_transport.h. */
#include "common/net/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/net/http_transport.h"

enum { STALL_CHECKS = 4 };

/* In order of preference; the last one accepts everything. */
static const struct http_transport *const transports[] = {
    &http_nghttp2_transport,
    &http_curl_transport,
};

static void settle(struct http_client *client);

static const struct http_transport *transport_for(const struct http_client *client,
                                                  const struct http_request *request)
{
    size_t i = 0;

    while (i + 1 < array_length(transports) && !transports[i]->accepts(client, request))
        i++;
    return transports[i];
}

/* ---- Calls that wait to be sent or freed ---- */

void http_work_later(struct http_client *client)
{
    client->has_work = true;
    if (!client->depth)
        loop_timer_start(&client->work_timer, 0);
}

static void add_work(struct http_call *call)
{
    struct http_client *client = call->client;

    if (!call->is_in_work) {
        call->is_in_work = true;
        call->next_work = NULL;
        *client->work_end = call;
        client->work_end = &call->next_work;
    }
    http_work_later(client);
}

static void remove_work(struct http_call *call)
{
    struct http_call **link = &call->client->work;

    if (!call->is_in_work)
        return;
    while (*link != call)
        link = &(*link)->next_work;
    *link = call->next_work;
    if (!*link)
        call->client->work_end = link;
    call->is_in_work = false;
}

/* ---- Calls ---- */

static void call_free(struct http_call *call)
{
    if (!call)
        return;
    remove_work(call);
    if (call->previous)
        call->previous->next = call->next;
    else if (call->client->calls == call)
        call->client->calls = call->next;
    if (call->next)
        call->next->previous = call->previous;
    loop_timer_stop(&call->timer);
    if (call->exchange)
        call->transport->release(call);
    http_call_free(call);
}
define_cleanup(struct http_call *, call_free)
#define cleanup_call __attribute__((cleanup(call_freep)))

static int call_prepare(struct http_call *call, struct error *err)
{
    call->transport = transport_for(call->client, &call->input->request);
    return call->transport->prepare(call, err);
}

/* ---- What was received ---- */

bool http_take_header(struct http_call *call, size_t size)
{
    if (size <= HTTP_HEADERS_MAX - call->headers_size) {
        call->headers_size += (uint32_t)size;
        return true;
    }
    http_call_error(call, ERROR_TOO_LARGE, "response headers exceed %d bytes", HTTP_HEADERS_MAX);
    return false;
}

static bool is_success(int status)
{
    return status >= 200 && status < 300;
}

static bool pass_on(struct http_call *call, const char *bytes, size_t size)
{
    /* Much is received, and little of it fails: do not clear a kilobyte each time. */
    __attribute__((uninitialized)) struct error err;

    err.kind = ERROR_NONE;
    if (call->on_data(call->data, &call->response, bytes, size, &err) == 0)
        return call->state != HTTP_CALL_DEAD;
    if (err.kind == ERROR_NONE)
        http_call_error(call, ERROR_INTERNAL, "on_data failed without an error");
    else
        *http_call_err(call) = err;
    return false;
}

bool http_take_bytes(struct http_call *call, const char *bytes, size_t size)
{
    __attribute__((uninitialized)) struct error err;
    struct buffer *body = NULL;
    bool is_cut = false;

    if (call->state == HTTP_CALL_DEAD)
        return false;
    if (call->on_data && is_success(call->response.status))
        return pass_on(call, bytes, size);
    /* The body of an error is only used for a message: what fits is enough. */
    body = http_call_body(call);
    if (!is_success(call->response.status) && size > body->max - body->size) {
        size = body->max - body->size;
        is_cut = true;
    }
    if (buffer_append(body, bytes, size, &err) < 0) {
        http_call_error(call, err.kind, "%s", err.text);
        return false;
    }
    return !is_cut;
}

const char *http_response_header_at(const struct http_response *response, const char *name,
                                    size_t index)
{
    const struct http_call *call = response ? response->call : NULL;

    return call && call->exchange ? call->transport->header(call, name, index) : NULL;
}

const char *http_response_header(const struct http_response *response, const char *name)
{
    return http_response_header_at(response, name, 0);
}

uint32_t http_parse_retry_after(const char *text, int64_t unix_now_s, uint32_t max_ms)
{
    size_t length = strspn(text, "0123456789");
    int64_t seconds = 0;

    if (length > 0 && text[length] == '\0') {
        for (size_t i = 0; i < length && seconds <= max_ms / 1000; i++)
            seconds = seconds * 10 + (text[i] - '0');
    } else {
        time_t date = curl_getdate(text, NULL);

        if (date < 0 || (int64_t)date <= unix_now_s)
            return 0;
        seconds = (int64_t)date - unix_now_s;
    }
    return seconds > max_ms / 1000 ? max_ms : (uint32_t)seconds * 1000;
}

uint32_t http_retry_after_ms(const struct http_response *response, uint32_t max_ms)
{
    const char *text = http_response_header(response, "Retry-After");

    return text ? http_parse_retry_after(text, time(NULL), max_ms) : 0;
}

/* ---- The end of a call ---- */

void http_call_finish(struct http_call *call, enum http_end end)
{
    bool is_answered =
        end == HTTP_END_COMPLETE || (end == HTTP_END_BROKEN && call->response.status >= 400);
    struct error err = {0};

    if (!is_answered)
        err = *http_call_err(call);
    call->state = HTTP_CALL_ENDED;
    loop_timer_stop(&call->timer);
    if (call->exchange)
        call->transport->detach(call, end == HTTP_END_COMPLETE);
    call->on_done(call->data, &call->response, &err);
    call_free(call);
}

static void time_out(struct http_call *call, bool is_silent)
{
    http_call_err(call)->os = ETIMEDOUT;
    if (is_silent && call->exchange)
        call->transport->note_timeout(call);
    http_call_finish(call, HTTP_END_FAILED);
}

static bool is_waiting(const struct http_call *call)
{
    return call->exchange && call->transport->is_waiting(call);
}

static uint64_t stall_period_ms(const struct http_call *call)
{
    return call->stall_timeout_ms / STALL_CHECKS + 1;
}

static void start_timer(struct http_call *call)
{
    uint64_t now_ms = loop_now_ms(call->client->loop);
    uint64_t delay_ms = call->stall_timeout_ms ? stall_period_ms(call) : UINT64_MAX;

    if (call->total_due_ms && call->total_due_ms - now_ms < delay_ms)
        delay_ms = call->total_due_ms - now_ms;
    if (delay_ms != UINT64_MAX)
        loop_timer_start(&call->timer, delay_ms);
}

/* Several checks within the timeout show whether any bytes were transferred. Checks are counted,
 * not milliseconds: after the process was stopped (SIGSTOP, a suspended machine) its connections
 * get another chance. */
static bool is_stalled(struct http_call *call)
{
    uint64_t bytes = call->headers_size + call->transport->body_bytes(call);

    call->stall_checks =
        bytes == call->stall_bytes && !is_waiting(call) ? call->stall_checks + 1 : 0;
    call->stall_bytes = bytes;
    return call->stall_checks >= STALL_CHECKS;
}

static void on_timer(void *data)
{
    struct http_call *call = data;
    uint64_t now_ms = loop_now_ms(call->client->loop);

    if (call->total_due_ms && call->total_due_ms <= now_ms) {
        if (!is_waiting(call)) {
            http_call_error(call, ERROR_TEMPORARY, "timed out after %lu ms",
                            (unsigned long)call->total_timeout_ms);
            time_out(call, call->headers_size == 0);
            return;
        }
        call->total_due_ms = now_ms + call->total_timeout_ms;
    }
    if (call->stall_timeout_ms && is_stalled(call)) {
        http_call_error(call, ERROR_TEMPORARY, "no data for %lu ms",
                        (unsigned long)call->stall_timeout_ms);
        time_out(call, true);
        return;
    }
    start_timer(call);
}

/* ---- Sending ---- */

/* Another transport may have to take over: the server may have turned out not to support HTTP/2. */
static int choose_transport_again(struct http_call *call, struct error *err)
{
    if (call->exchange && call->transport->accepts(call->client, &call->input->request))
        return 0;
    if (call->exchange)
        call->transport->release(call);
    return call_prepare(call, err);
}

static void send_call(struct http_call *call)
{
    struct error err = {0};

    call->state = HTTP_CALL_RUNNING;
    if (http_call_is_refused(call)) {
        http_call_finish(call, HTTP_END_FAILED);
        return;
    }
    if (choose_transport_again(call, &err) == 0 && call->transport->send(call, &err) == 0)
        return;
    http_call_error(call, err.kind, "%s", err.text);
    http_call_finish(call, HTTP_END_FAILED);
}

void http_call_requeue(struct http_call *call)
{
    call->transport->detach(call, false);
    call->state = HTTP_CALL_QUEUED;
    add_work(call);
}

static void do_work(struct http_client *client)
{
    while (client->work) {
        struct http_call *call = client->work;

        remove_work(call);
        if (call->state == HTTP_CALL_DEAD)
            call_free(call);
        else
            send_call(call);
    }
}

static void finish_ended(struct http_client *client)
{
    for (size_t i = 0; i < array_length(transports); i++)
        transports[i]->finish_ended(client);
}

/* Runs when no library function is under way: calls owners and does what had to wait. */
static void settle(struct http_client *client)
{
    client->settling++;
    do {
        finish_ended(client);
        client->has_work = false;
        do_work(client);
        finish_ended(client);
        for (size_t i = 0; i < array_length(transports); i++)
            transports[i]->flush(client);
    } while (client->has_work);
    loop_timer_stop(&client->work_timer);
    client->settling--;
}

static void on_work(void *data)
{
    settle(data);
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

/* ---- The interface ---- */

int http_client_new(struct loop *loop, const char *user_agent, struct http_client **ret_client,
                    struct error *err)
{
    cleanup_http_client struct http_client *client = xcalloc(1, sizeof(*client));

    client->loop = loop;
    client->user_agent = xstrdup(user_agent);
    client->work_end = &client->work;
    loop_timer_init(&client->work_timer, loop, on_work, client);
    for (size_t i = 0; i < array_length(transports); i++) {
        if (transports[i]->open(client, err) < 0)
            return -1;
    }
    *ret_client = steal(&client);
    return 0;
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    while (client->calls) {
        client->calls->state = HTTP_CALL_DEAD;
        call_free(client->calls);
    }
    for (size_t i = 0; i < array_length(transports); i++)
        transports[i]->close(client);
    loop_timer_stop(&client->work_timer);
    http_origin_done(client);
    free(client->user_agent);
    free(client);
}

int http_start(struct http_client *client, const struct http_request *request,
               struct http_call **ret_call, struct error *err)
{
    cleanup_call struct http_call *call = NULL;
    const struct http_url *url = NULL;

    if (http_origin_of(client, request->url, &url, err) < 0 ||
        http_request_check(request, url->scheme, err) < 0)
        return -1;
    call = http_call_new(client, request);
    loop_timer_init(&call->timer, client->loop, on_timer, call);
    if (call_prepare(call, err) < 0)
        return -1;
    call->next = client->calls;
    if (client->calls)
        client->calls->previous = call;
    client->calls = call;
    client->request_count++;
    if (call->total_timeout_ms)
        call->total_due_ms = loop_now_ms(client->loop) + call->total_timeout_ms;
    start_timer(call);
    add_work(call);
    *ret_call = steal(&call);
    return 0;
}

void http_cancel(struct http_call *call)
{
    if (!call || call->state == HTTP_CALL_ENDED || call->state == HTTP_CALL_DEAD)
        return;
    if (!call->client->depth) {
        call_free(call);
        return;
    }
    (void)http_call_is_refused(call); /* the last chance to ask */
    call->state = HTTP_CALL_DEAD;
    loop_timer_stop(&call->timer);
    add_work(call);
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
