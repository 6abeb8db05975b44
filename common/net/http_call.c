/* SPDX-License-Identifier: Apache-2.0 */
/* A call and the copy of its request: checked, stored, dropped; and what its errors say. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/net/http_transport.h"

#define BEARER "Bearer "

static const struct buffer NO_BODY;

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

static struct http_input *input_new(const struct http_request *request)
{
    size_t size = sizeof(struct http_input) + request_size(request);
    struct http_input *input = xmalloc(size);
    struct http_request *copy = &input->request;
    char *end = (char *)&input->headers[request->header_count];
    bool has_body = request->body || strcmp(request->method, "POST") == 0;

    input->size = size;
    *copy = *request;
    for (size_t i = 0; i < request->header_count; i++) {
        input->headers[i].name = put_text(&end, request->headers[i].name);
        input->headers[i].value = put_text(&end, request->headers[i].value);
    }
    copy->headers = input->headers;
    copy->method = put_text(&end, request->method);
    copy->url = put_text(&end, request->url);
    input->authorization = NULL;
    if (request->bearer) {
        input->authorization = xasprintf("%s%s", BEARER, request->bearer);
        copy->bearer = input->authorization + strlen(BEARER);
    }
    copy->basic_user = put_text(&end, request->basic_user);
    copy->basic_password = put_text(&end, request->basic_password);
    copy->body = has_body ? end : NULL;
    copy->body_size = request->body ? request->body_size : 0;
    if (request->body)
        memcpy(end, request->body, request->body_size);
    return input;
}

static void input_free(struct http_input *input)
{
    if (!input)
        return;
    explicit_bzero(input, input->size); /* it may hold credentials */
    free(input);
}

static uint32_t limit_u32(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

struct http_call *http_call_new(struct http_client *client, const struct http_request *request)
{
    struct http_call *call = xcalloc(1, sizeof(*call));
    struct http_input *input = input_new(request);

    call->client = client;
    call->input = input;
    call->may_send = request->may_send;
    call->may_send_data = request->may_send_data;
    call->on_data = request->on_data;
    call->on_done = request->on_done;
    call->data = request->data;
    call->total_timeout_ms = limit_u32(request->total_timeout_ms);
    call->stall_timeout_ms = limit_u32(request->stall_timeout_ms);
    call->is_headless = request->is_headless;
    call->response.call = call;
    call->response.method = input->request.method;
    call->response.body = &NO_BODY;
    call->body_max = request->body_max ? limit_u32(request->body_max) : HTTP_BODY_MAX_DEFAULT;
    return call;
}

void http_call_free(struct http_call *call)
{
    if (call->body)
        buffer_done(call->body);
    free(call->body);
    http_call_drop_credentials(call);
    input_free(call->input);
    free(call->shown);
    free(call->err);
    free(call);
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
            return error_set(err, ERROR_INVALID, "header \"%s\" must not be set by the caller",
                             header->name);
    }
    if (!header->name[0] || strpbrk(header->name, ": ;\t") || has_control(header->name) ||
        has_control(header->value))
        return error_set(err, ERROR_INVALID, "invalid character in an HTTP header");
    return 0;
}

int http_request_check(const struct http_request *request, const char *scheme, struct error *err)
{
    cleanup_free char *shown = NULL;

    for (const char *letter = request->method; *letter; letter++) {
        if (*letter < 'A' || *letter > 'Z')
            return error_set(err, ERROR_INVALID, "invalid HTTP method \"%s\"", request->method);
    }
    for (size_t i = 0; i < request->header_count; i++) {
        if (check_header(&request->headers[i], err) < 0)
            return -1;
    }
    if (strcmp(scheme, "http") == 0 && !request->is_plain_http_allowed) {
        shown = http_url_redact(request->url);
        return error_set(err, ERROR_INVALID, "\"%s\" is not encrypted (https is required)", shown);
    }
    if (has_control(request->bearer) || has_control(request->basic_user) ||
        has_control(request->basic_password)) {
        shown = http_url_redact(request->url);
        return error_set(err, ERROR_INVALID,
                         "%s \"%s\": the credentials contain a control character", request->method,
                         shown);
    }
    return 0;
}

void http_call_drop_credentials(struct http_call *call)
{
    if (!call->input)
        return;
    wipe_free(call->input->authorization);
    call->input->authorization = NULL;
    call->input->request.bearer = NULL;
}

void http_call_drop_request(struct http_call *call)
{
    const struct http_request *request = &call->input->request;
    cleanup_free char *url = NULL;
    size_t method_size = 0;
    size_t url_size = 0;

    http_call_drop_credentials(call);
    if (!call->is_headless || request->body)
        return;
    url = http_url_redact(request->url);
    method_size = text_size(request->method);
    url_size = text_size(url);
    call->shown = xmalloc(method_size + url_size);
    memcpy(call->shown, request->method, method_size);
    memcpy(call->shown + method_size, url, url_size);
    call->response.method = call->shown;
    input_free(call->input);
    call->input = NULL;
}

struct buffer *http_call_body(struct http_call *call)
{
    if (!call->body) {
        call->body = xcalloc(1, sizeof(*call->body));
        buffer_init(call->body, call->body_max);
        call->response.body = call->body;
    }
    return call->body;
}

struct error *http_call_err(struct http_call *call)
{
    if (!call->err)
        call->err = xcalloc(1, sizeof(*call->err));
    return call->err;
}

void http_call_error(struct http_call *call, enum error_kind kind, const char *format, ...)
{
    const char *method = call->response.method;
    cleanup_free char *url = call->input ? http_url_redact(call->input->request.url)
                                         : xstrdup(call->shown + strlen(method) + 1);
    char text[sizeof(call->err->text)];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)error_set(http_call_err(call), kind, "%s \"%s\": %s", method, url, text);
}

bool http_call_is_refused(struct http_call *call)
{
    /* The owner of a dead call is gone, and with it may_send_data. */
    if (call->is_refused || !call->may_send || call->state == HTTP_CALL_DEAD ||
        call->may_send(call->may_send_data))
        return call->is_refused;
    call->is_refused = true;
    http_call_error(call, ERROR_CANCELLED, "not sent: no longer allowed (leadership lost?)");
    return true;
}
