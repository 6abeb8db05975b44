/* SPDX-License-Identifier: Apache-2.0 */
/* A stream may outlive its call, which can be cancelled at any time, and a call its stream, which
 * the server can end at any time; each knows the other only as long as both are there. */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/net/http_h2.h"

enum {
    HEADERS_MAX = HTTP_MULTIPLEXED_HEADERS_MAX + 8,
    /* What is read is handed on at once, so these only keep the server from waiting for us. */
    STREAM_WINDOW = 4 * 1024 * 1024,
    CONNECTION_WINDOW = 16 * 1024 * 1024,
    STATUS_INFORMATIONAL_MAX = 199,
};

struct http_stream {
    struct http_stream *next, *previous;
    struct http_h2 *h2;
    struct http_call *call; /* NULL: it has gone */
    int32_t id;
    size_t sent; /* of the call's body */
};

static void part(struct http_stream *stream)
{
    if (stream->call)
        stream->call->stream = NULL;
    stream->call = NULL;
}

static void free_stream(struct http_stream *stream)
{
    part(stream);
    *(stream->previous ? &stream->previous->next : &stream->h2->streams) = stream->next;
    if (stream->next)
        stream->next->previous = stream->previous;
    free(stream);
}

/* The call of a stream that still wants to hear of it. */
static struct http_call *listener(nghttp2_session *session, int32_t id)
{
    const struct http_stream *stream = nghttp2_session_get_stream_user_data(session, id);
    struct http_call *call = stream ? stream->call : NULL;

    return call && call->state == HTTP_CALL_RUNNING ? call : NULL;
}

/* ---- What comes ---- */

static bool is_name(const uint8_t *name, size_t length, const char *wanted)
{
    return length == strlen(wanted) && memcmp(name, wanted, length) == 0;
}

static void begin_answer(struct http_call *call, const char *status_text)
{
    uint64_t status = 0;

    call->response.status = number_parse(status_text, 999, &status) ? (int)status : 0;
    buffer_clear(&call->answer_headers);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *data)
{
    struct http_call *call = listener(session, frame->hd.stream_id);
    bool is_status = is_name(name, name_length, ":status");

    (void)flags;
    (void)data;
    if (!call)
        return 0;
    /* Names and values end with a NUL in nghttp2's memory, and have none in it. */
    if (is_status)
        begin_answer(call, (const char *)value);
    if (!http_note_headers(call, name_length + value_length) ||
        (!is_status &&
         (buffer_append(&call->answer_headers, name, name_length + 1, &call->err) < 0 ||
          buffer_append(&call->answer_headers, value, value_length + 1, &call->err) < 0)))
        http_call_over(call, CURLE_WRITE_ERROR);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t size, void *data)
{
    struct http_call *call = listener(session, id);

    (void)flags;
    (void)data;
    if (!call)
        return 0;
    call->moved_bytes += size;
    if (!http_take_bytes(call, (const char *)bytes, size) && call->state == HTTP_CALL_RUNNING)
        http_call_over(call, CURLE_WRITE_ERROR);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct http_h2 *h2 = data;
    struct http_call *call = NULL;

    if (frame->hd.type == NGHTTP2_GOAWAY)
        h2->is_leaving = true;
    else if (frame->hd.type == NGHTTP2_SETTINGS && !h2->is_ready)
        http_h2_ready(h2);
    if ((frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    call = listener(session, frame->hd.stream_id);
    if (call && call->response.status > STATUS_INFORMATIONAL_MAX)
        http_call_over(call, CURLE_OK);
    return 0;
}

/* An answer that was whole is over already. What the server says it has not looked at can be sent
 * again, but by who asked: he knows when, and whether he still may. */
static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *data)
{
    struct http_stream *stream = nghttp2_session_get_stream_user_data(session, id);
    struct http_call *call = listener(session, id);

    (void)data;
    if (stream)
        free_stream(stream);
    (void)nghttp2_session_set_stream_user_data(session, id, NULL);
    if (!call)
        return 0;
    call->is_unprocessed = code == NGHTTP2_REFUSED_STREAM;
    (void)snprintf(call->curl_text, sizeof(call->curl_text), "the server has ended the stream: %s",
                   nghttp2_http2_strerror(code));
    http_call_over(call, CURLE_HTTP2_STREAM);
    return 0;
}

/* ---- What goes ---- */

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *bytes, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct http_stream *stream = source->ptr;
    const struct http_call *call = stream->call;
    size_t left = 0;

    (void)session;
    (void)id;
    (void)data;
    if (!call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    left = call->body_size - stream->sent;
    size = left < size ? left : size;
    memcpy(bytes, call->body_copy + stream->sent, size);
    stream->sent += size;
    stream->call->moved_bytes += size;
    if (size == left)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)size;
}

static void add(nghttp2_nv *all, size_t *count, const char *name, const char *value)
{
    nghttp2_nv *header = &all[(*count)++];

    /* nghttp2 copies both, and makes names lower-case. */
    memcpy(&header->name, &name, sizeof(name));
    memcpy(&header->value, &value, sizeof(value));
    header->namelen = strlen(name);
    header->valuelen = strlen(value);
    header->flags = NGHTTP2_NV_FLAG_NONE;
}

int http_stream_open(struct http_h2 *h2, struct http_call *call)
{
    const struct http_kept *kept = call->kept;
    const char *authority = h2->origin + strlen("https://");
    const char *path = kept->request.url + strlen(h2->origin);
    struct http_stream *stream = xcalloc(1, sizeof(*stream));
    nghttp2_data_provider body = {.source.ptr = stream, .read_callback = read_body};
    nghttp2_nv headers[HEADERS_MAX];
    char length[32];
    size_t count = 0;

    add(headers, &count, ":method", call->method);
    add(headers, &count, ":scheme", "https");
    add(headers, &count, ":authority", authority);
    add(headers, &count, ":path", path);
    headers[count - 1].valuelen = strcspn(path, "#");
    add(headers, &count, "user-agent", h2->client->user_agent);
    for (size_t i = 0; i < kept->request.header_count; i++)
        add(headers, &count, kept->headers[i].name, kept->headers[i].value);
    if (kept->authorization)
        add(headers, &count, "authorization", kept->authorization);
    if (call->body_copy) {
        (void)snprintf(length, sizeof(length), "%zu", call->body_size);
        add(headers, &count, "content-length", length);
    }
    stream->h2 = h2;
    stream->call = call;
    stream->id = nghttp2_submit_request(h2->session, NULL, headers, count,
                                        call->body_size ? &body : NULL, stream);
    if (stream->id == NGHTTP2_ERR_NOMEM)
        out_of_memory();
    if (stream->id < 0) {
        free(stream);
        return -1;
    }
    stream->next = h2->streams;
    if (stream->next)
        stream->next->previous = stream;
    h2->streams = stream;
    call->stream = stream;
    return 0;
}

void http_stream_leave(struct http_call *call)
{
    struct http_stream *stream = call->stream;

    if (!stream)
        return;
    part(stream);
    if (stream->h2->session)
        (void)nghttp2_submit_rst_stream(stream->h2->session, NGHTTP2_FLAG_NONE, stream->id,
                                        NGHTTP2_CANCEL);
}

/* ---- The session ---- */

void http_session_open(struct http_h2 *h2)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
    };
    nghttp2_session_callbacks *callbacks = NULL;

    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        out_of_memory();
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if (nghttp2_session_client_new(&h2->session, callbacks, h2) != 0 ||
        nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, settings, array_length(settings)) !=
            0 ||
        nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, 0,
                                              CONNECTION_WINDOW) != 0)
        out_of_memory();
    nghttp2_session_callbacks_del(callbacks);
}

void http_session_close(struct http_h2 *h2)
{
    nghttp2_session_del(h2->session);
    h2->session = NULL;
    while (h2->streams)
        free_stream(h2->streams);
}
