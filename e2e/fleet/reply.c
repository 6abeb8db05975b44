/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/reply.h"

#include <stdarg.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "e2e/fleet/record.h"

void reply_init(struct reply *reply)
{
    *reply = (struct reply){.code = 200, .content_type = "application/json"};
    buffer_init(&reply->body, SIZE_MAX);
}

void reply_done(struct reply *reply)
{
    buffer_done(&reply->body);
}

void reply_text(struct reply *reply, int code, const char *text)
{
    buffer_clear(&reply->body);
    reply->code = code;
    reply->content_type = "text/plain; charset=utf-8";
    put_text(&reply->body, text);
}

void reply_json(struct reply *reply, int code, const json_t *value)
{
    cleanup_free char *text = doc_dump(value);

    buffer_clear(&reply->body);
    reply->code = code;
    reply->content_type = "application/json";
    put_text(&reply->body, text);
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text && text[0])
        (void)json_object_set_new(object, key, doc_new_text(text));
}

static json_t *make_status(const char *status, const struct reply_details *details)
{
    json_t *object = json_pack("{s:s, s:s, s:{}, s:s}", "kind", "Status", "apiVersion", "v1",
                               "metadata", "status", status);
    json_t *inner = NULL;

    if (!details)
        return object;
    inner = json_object();
    set_text(inner, "name", details->name);
    set_text(inner, "group", details->group);
    set_text(inner, "kind", details->kind);
    set_text(inner, "uid", details->uid);
    if (details->causes)
        (void)json_object_set_new(inner, "causes", details->causes);
    (void)json_object_set_new(object, "details", inner);
    return object;
}

void reply_add_cause(json_t *causes, const char *reason, const char *field, const char *format, ...)
{
    cleanup_free char *message = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&message, format, arguments) < 0)
        out_of_memory();
    va_end(arguments);
    (void)json_array_append_new(
        causes, json_pack("{s:s, s:s, s:s}", "reason", reason, "message", message, "field", field));
}

void reply_failure(struct reply *reply, int code, const char *reason,
                   const struct reply_details *details, const char *format, ...)
{
    cleanup_json json_t *status = make_status("Failure", details);
    cleanup_free char *message = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&message, format, arguments) < 0)
        out_of_memory();
    va_end(arguments);
    set_text(status, "message", message);
    set_text(status, "reason", reason);
    (void)json_object_set_new(status, "code", json_integer(code));
    if (reply->retry_after_s > 0 && details)
        doc_set_new(status, "details.retryAfterSeconds", json_integer(reply->retry_after_s));
    reply_json(reply, code, status);
}

void reply_success(struct reply *reply, const struct reply_details *details)
{
    cleanup_json json_t *status = make_status("Success", details);

    reply_json(reply, 200, status);
}
