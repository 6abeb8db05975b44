/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a call: checked, queued, sent by a transport, ended or cancelled. What can go wrong
 * with re-entrancy is explained in http_transport.h. */
#include "common/net/http.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/net/http_transport.h"

#define BEARER "Bearer "

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

/* ---- A call and its request ---- */

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t request_size(const struct http_request *request)
{
    size_t size = text_size(request->method) + text_size(request->url) +
                  text_size(request->basic_user) + text_size(request->basic_password) +
                  request->body_size;

    for (size_t i = 0; i < request->header_count; i++)
        size += sizeof(struct http_header) + text_size(request->headers[i].name) +
                text_size(request->headers[i].value);
    return size;
}

static char *put_text(char **end, const char *text)
{
    char *copy = *end;

    if (!text)
        return NULL;
    *end = stpcpy(copy, text) + 1;
    return copy;
}

/* Into the memory behind the call, which has room for request_size(). */
static void copy_request(struct http_call *call, const struct http_request *request)
{
    char *end = (char *)&call->headers[request->header_count];
    bool has_body = request->body || strcmp(request->method, "POST") == 0;

    call->request = *request;
    for (size_t i = 0; i < request->header_count; i++) {
        call->headers[i].name = put_text(&end, request->headers[i].name);
        call->headers[i].value = put_text(&end, request->headers[i].value);
    }
    call->request.headers = call->headers;
    call->request.method = put_text(&end, request->method);
    call->request.url = put_text(&end, request->url);
    if (request->bearer) {
        call->authorization = xasprintf("%s%s", BEARER, request->bearer);
        call->request.bearer = call->authorization + strlen(BEARER);
    }
    call->request.basic_user = put_text(&end, request->basic_user);
    call->request.basic_password = put_text(&end, request->basic_password);
    call->request.body = has_body ? end : NULL;
    call->request.body_size = request->body ? request->body_size : 0;
    if (request->body)
        memcpy(end, request->body, request->body_size);
}

static void on_stall_check(void *data);
static void on_total_timeout(void *data);

static struct http_call *call_new(struct http_client *client, const struct http_request *request)
{
    size_t size = sizeof(struct http_call) + request_size(request);
    struct http_call *call = xmalloc(size);

    *call = (struct http_call){.client = client, .size = size};
    copy_request(call, request);
    call->response.call = call;
    call->response.method = call->request.method;
    call->response.body = &call->body;
    buffer_init(&call->body, request->body_max ? request->body_max : HTTP_BODY_MAX_DEFAULT);
    loop_timer_init(&call->stall_timer, client->loop, on_stall_check, call);
    loop_timer_init(&call->total_timer, client->loop, on_total_timeout, call);
    return call;
}

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
    loop_timer_stop(&call->stall_timer);
    loop_timer_stop(&call->total_timer);
    if (call->exchange)
        call->transport->release(call);
    buffer_done(&call->body);
    http_call_drop_credentials(call);
    free(call->err);
    explicit_bzero(call, call->size); /* it may hold credentials */
    free(call);
}
define_cleanup(struct http_call *, call_free)
#define cleanup_call __attribute__((cleanup(call_freep)))

static int call_prepare(struct http_call *call, struct error *err)
{
    call->transport = transport_for(call->client, &call->request);
    return call->transport->prepare(call, err);
}

static bool has_control(const char *text)
{
    for (; text && *text; text++) {
        if (iscntrl((unsigned char)*text) && *text != '\t')
            return true;
    }
    return false;
}

static int check_header(const struct http_header *header, struct error *err)
{
    /* Credentials must come in the fields that keep them from other hosts. */
    static const char *const refused[] = {"Authorization", "Proxy-Authorization", "Cookie"};

    for (size_t i = 0; i < array_length(refused); i++) {
        if (strcasecmp(header->name, refused[i]) == 0)
            return error_set(err, ERROR_INVALID, "header '%s' must not be set by the caller",
                             header->name);
    }
    if (!header->name[0] || strpbrk(header->name, ": ;\t") || has_control(header->name) ||
        has_control(header->value))
        return error_set(err, ERROR_INVALID, "invalid character in an HTTP header");
    return 0;
}

static int check_request(const struct http_request *request, const char *scheme, struct error *err)
{
    cleanup_free char *shown = NULL;

    for (const char *letter = request->method; *letter; letter++) {
        if (*letter < 'A' || *letter > 'Z')
            return error_set(err, ERROR_INVALID, "invalid HTTP method '%s'", request->method);
    }
    for (size_t i = 0; i < request->header_count; i++) {
        if (check_header(&request->headers[i], err) < 0)
            return -1;
    }
    if (strcmp(scheme, "http") == 0 && !request->is_plain_http_allowed) {
        shown = http_url_redact(request->url);
        return error_set(err, ERROR_INVALID, "'%s' is not encrypted (https is required)", shown);
    }
    if (has_control(request->bearer) || has_control(request->basic_user) ||
        has_control(request->basic_password)) {
        shown = http_url_redact(request->url);
        return error_set(err, ERROR_INVALID, "%s '%s': the credentials contain a control character",
                         request->method, shown);
    }
    return 0;
}

void http_call_drop_credentials(struct http_call *call)
{
    wipe_free(call->authorization);
    call->authorization = NULL;
    call->request.bearer = NULL;
}

struct error *http_call_err(struct http_call *call)
{
    if (!call->err)
        call->err = xcalloc(1, sizeof(*call->err));
    return call->err;
}

void http_call_error(struct http_call *call, enum error_kind kind, const char *format, ...)
{
    cleanup_free char *shown = http_url_redact(call->request.url);
    char text[sizeof(call->err->text)];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)error_set(http_call_err(call), kind, "%s '%s': %s", call->request.method, shown, text);
}

bool http_call_is_refused(struct http_call *call)
{
    const struct http_request *request = &call->request;

    /* The owner of a dead call is gone, and with it may_send_data. */
    if (call->is_refused || !request->may_send || call->state == HTTP_CALL_DEAD ||
        request->may_send(request->may_send_data))
        return call->is_refused;
    call->is_refused = true;
    http_call_error(call, ERROR_CANCELLED, "not sent: no longer allowed (leadership lost?)");
    return true;
}

/* ---- What was received ---- */

bool http_take_header(struct http_call *call, size_t size)
{
    call->headers_size += size;
    if (call->headers_size <= HTTP_HEADERS_MAX)
        return true;
    http_call_error(call, ERROR_TOO_LARGE, "response headers exceed %d bytes", HTTP_HEADERS_MAX);
    return false;
}

static bool is_success(int status)
{
    return status >= 200 && status < 300;
}

static bool pass_on(struct http_call *call, const char *bytes, size_t size)
{
    const struct http_request *request = &call->request;
    /* Much is received, and little of it fails: do not clear a kilobyte each time. */
    __attribute__((uninitialized)) struct error err;

    err.kind = ERROR_NONE;
    if (request->on_data(request->data, &call->response, bytes, size, &err) == 0)
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
    bool is_cut = false;

    if (call->state == HTTP_CALL_DEAD)
        return false;
    if (call->request.on_data && is_success(call->response.status))
        return pass_on(call, bytes, size);
    /* The body of an error is only used for a message: what fits is enough. */
    if (!is_success(call->response.status) && size > call->body.max - call->body.size) {
        size = call->body.max - call->body.size;
        is_cut = true;
    }
    if (buffer_append(&call->body, bytes, size, &err) < 0) {
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
    loop_timer_stop(&call->stall_timer);
    loop_timer_stop(&call->total_timer);
    if (call->exchange)
        call->transport->detach(call, end == HTTP_END_COMPLETE);
    call->request.on_done(call->request.data, &call->response, &err);
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

static void on_total_timeout(void *data)
{
    struct http_call *call = data;

    if (is_waiting(call)) {
        loop_timer_start(&call->total_timer, call->request.total_timeout_ms);
        return;
    }
    http_call_error(call, ERROR_TEMPORARY, "timed out after %llu ms",
                    (unsigned long long)call->request.total_timeout_ms);
    time_out(call, call->headers_size == 0);
}

/* Checks several times within the timeout whether any bytes were transferred. Checks are counted,
 * not milliseconds: after the process was stopped (SIGSTOP, a suspended machine) its connections
 * get another chance. */
static void on_stall_check(void *data)
{
    struct http_call *call = data;
    uint64_t timeout_ms = call->request.stall_timeout_ms;
    uint64_t bytes = call->headers_size + call->transport->body_bytes(call);

    call->stall_checks =
        bytes == call->stall_bytes && !is_waiting(call) ? call->stall_checks + 1 : 0;
    call->stall_bytes = bytes;
    if (call->stall_checks < STALL_CHECKS) {
        loop_timer_start(&call->stall_timer, timeout_ms / STALL_CHECKS + 1);
        return;
    }
    http_call_error(call, ERROR_TEMPORARY, "no data for %llu ms", (unsigned long long)timeout_ms);
    time_out(call, true);
}

/* ---- Sending ---- */

/* Another transport may have to take over: the server may have turned out not to support HTTP/2. */
static int choose_transport_again(struct http_call *call, struct error *err)
{
    if (call->exchange && call->transport->accepts(call->client, &call->request))
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
        check_request(request, url->scheme, err) < 0)
        return -1;
    call = call_new(client, request);
    if (call_prepare(call, err) < 0)
        return -1;
    call->next = client->calls;
    if (client->calls)
        client->calls->previous = call;
    client->calls = call;
    client->request_count++;
    if (request->stall_timeout_ms)
        loop_timer_start(&call->stall_timer, request->stall_timeout_ms / STALL_CHECKS + 1);
    if (request->total_timeout_ms)
        loop_timer_start(&call->total_timer, request->total_timeout_ms);
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
    loop_timer_stop(&call->stall_timer);
    loop_timer_stop(&call->total_timer);
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
