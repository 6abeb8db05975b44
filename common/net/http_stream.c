/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a connection and its streams. The callbacks run inside nghttp2, which must not be
 * entered again; the only code of others that they call is on_data of a call. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/net/http_nghttp2.h"

enum {
    ALL_HEADERS_MAX = HTTP_REQUEST_HEADERS_MAX + 8,
    /* Received data is passed on at once, so the windows need not slow the server down. */
    STREAM_WINDOW = 4 * 1024 * 1024,
    CONNECTION_WINDOW = 16 * 1024 * 1024,
    STATUS_INFORMATIONAL_MAX = 199,
    FRAME_BLOCK_MIN = 16 * 1024,
};

/* ---- Frames received ---- */

/* The exchange of a stream, or NULL if its call is not interested any more. */
static struct exchange *live_exchange(nghttp2_session *session, int32_t id)
{
    struct exchange *exchange = nghttp2_session_get_stream_user_data(session, id);

    return exchange && exchange_is_live(exchange) ? exchange : NULL;
}

static void begin_response(struct exchange *exchange, const char *status_text)
{
    uint64_t status = 0;

    exchange->call->response.status = number_parse(status_text, 999, &status) ? (int)status : 0;
    if (exchange->headers)
        buffer_clear(exchange->headers);
}

static bool keep_header(struct exchange *exchange, const uint8_t *text, size_t size)
{
    __attribute__((uninitialized)) struct error err;

    if (!exchange->headers) {
        exchange->headers = xcalloc(1, sizeof(*exchange->headers));
        buffer_init(exchange->headers, 3 * HTTP_HEADERS_MAX);
    }
    if (buffer_append(exchange->headers, text, size, &err) == 0)
        return true;
    *http_call_err(exchange->call) = err;
    return false;
}

static bool is_kept(const struct http_call *call)
{
    return !call->is_headless || call->response.status / 100 != 2;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *data)
{
    static const char status_name[] = ":status";
    struct exchange *exchange = live_exchange(session, frame->hd.stream_id);
    bool is_status =
        name_length == sizeof(status_name) - 1 && memcmp(name, status_name, name_length) == 0;

    (void)flags;
    (void)data;
    if (!exchange)
        return 0;
    /* nghttp2 terminates names and values with a NUL and rejects those that contain one. */
    if (is_status)
        begin_response(exchange, (const char *)value);
    if (!http_take_header(exchange->call, name_length + value_length) ||
        (!is_status && is_kept(exchange->call) &&
         (!keep_header(exchange, name, name_length + 1) ||
          !keep_header(exchange, value, value_length + 1))))
        exchange_end(exchange, HTTP_END_STOPPED);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t size, void *data)
{
    struct exchange *exchange = live_exchange(session, id);

    (void)flags;
    (void)data;
    if (!exchange)
        return 0;
    exchange->body_bytes += size;
    if (!http_take_bytes(exchange->call, (const char *)bytes, size) && exchange_is_live(exchange))
        exchange_end(exchange, HTTP_END_STOPPED);
    return 0;
}

static void open_waiting_streams(struct connection *connection)
{
    connection->is_ready = true;
    for (struct exchange *next = NULL, *exchange = connection->exchanges; exchange;
         exchange = next) {
        next = exchange->next;
        if (!exchange_is_live(exchange) || exchange->stream_id || stream_open(exchange) == 0)
            continue;
        connection_drain(connection);
        http_call_requeue(exchange->call);
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct connection *connection = data;
    struct exchange *exchange = NULL;

    if (frame->hd.type == NGHTTP2_GOAWAY)
        connection_drain(connection);
    else if (frame->hd.type == NGHTTP2_SETTINGS && !connection->is_ready)
        open_waiting_streams(connection);
    if ((frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    exchange = live_exchange(session, frame->hd.stream_id);
    if (exchange && exchange->call->response.status > STATUS_INFORMATIONAL_MAX)
        exchange_end(exchange, HTTP_END_COMPLETE);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *data)
{
    struct exchange *exchange = nghttp2_session_get_stream_user_data(session, id);

    (void)data;
    if (!exchange)
        return 0;
    (void)nghttp2_session_set_stream_user_data(session, id, NULL);
    exchange->stream_id = 0;
    if (exchange_is_live(exchange)) {
        http_call_error(exchange->call, ERROR_TEMPORARY, "stream closed by the server: %s",
                        nghttp2_http2_strerror(code));
        /* REFUSED_STREAM means that the request was not processed and is safe to retry, but only
         * the caller knows whether it still may (it may have lost its lease). */
        if (code == NGHTTP2_REFUSED_STREAM)
            http_call_err(exchange->call)->os = ECONNREFUSED;
        exchange_end(exchange, HTTP_END_BROKEN);
    }
    exchange_unlink(exchange);
    exchange_free_if_unused(exchange);
    return 0;
}

/* ---- Frames sent ---- */

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *bytes, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct exchange *exchange = source->ptr;
    const struct http_request *request = NULL;
    size_t left = 0;

    (void)session;
    (void)id;
    (void)data;
    if (!exchange->call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    request = &exchange->call->input->request;
    left = request->body_size - exchange->body_sent;
    size = left < size ? left : size;
    memcpy(bytes, (const char *)request->body + exchange->body_sent, size);
    exchange->body_sent += size;
    exchange->body_bytes += size;
    if (size == left) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        exchange->is_gathered = true;
    }
    return (ssize_t)size;
}

/* For requests without a body: the headers are all of it. */
static int before_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct exchange *exchange = NULL;

    (void)data;
    if (frame->hd.type != NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    exchange = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (exchange)
        exchange->is_gathered = true;
    return 0;
}

static void add_header(nghttp2_nv *all, size_t *count, const char *name, const char *value)
{
    nghttp2_nv *header = &all[(*count)++];

    /* nghttp2 copies both, and makes names lower-case. */
    memcpy(&header->name, &name, sizeof(name));
    memcpy(&header->value, &value, sizeof(value));
    header->namelen = strlen(name);
    header->valuelen = strlen(value);
    header->flags = NGHTTP2_NV_FLAG_NONE;
}

int stream_open(struct exchange *exchange)
{
    struct connection *connection = exchange->connection;
    const struct http_call *call = exchange->call;
    const struct http_request *request = &call->input->request;
    const char *authority = connection->origin->text + strlen("https://");
    const char *path = request->url + strlen(connection->origin->text);
    nghttp2_data_provider body = {.source.ptr = exchange, .read_callback = read_body};
    nghttp2_nv headers[ALL_HEADERS_MAX];
    char length[32];
    size_t count = 0;
    int32_t id = 0;

    add_header(headers, &count, ":method", request->method);
    add_header(headers, &count, ":scheme", "https");
    add_header(headers, &count, ":authority", authority);
    add_header(headers, &count, ":path", path);
    headers[count - 1].valuelen = strcspn(path, "#");
    add_header(headers, &count, "user-agent", call->client->user_agent);
    for (size_t i = 0; i < request->header_count; i++)
        add_header(headers, &count, request->headers[i].name, request->headers[i].value);
    if (call->input->authorization)
        add_header(headers, &count, "authorization", call->input->authorization);
    if (request->body) {
        (void)snprintf(length, sizeof(length), "%zu", request->body_size);
        add_header(headers, &count, "content-length", length);
    }
    id = nghttp2_submit_request(connection->session, NULL, headers, count,
                                request->body_size ? &body : NULL, exchange);
    if (id == NGHTTP2_ERR_NOMEM)
        out_of_memory();
    if (id < 0)
        return -1;
    exchange->stream_id = id;
    http_call_drop_request(exchange->call);
    exchange->is_gathered = false;
    exchange->is_unsent = call->may_send != NULL;
    connection->unsent_count += exchange->is_unsent;
    connection_mark_dirty(connection);
    return 0;
}

/* ---- The session ---- */

/* nghttp2 allocates a block for the largest frame per session, of which most sessions use only the
 * start. Mapped memory takes only the pages that are used, and those that are not needed any more
 * can be given back. */
static void *allocate(size_t size, void *data)
{
    struct connection *connection = data;
    void *block = NULL;

    if (size < FRAME_BLOCK_MIN || connection->frame_block)
        return malloc(size);
    block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return malloc(size);
    (void)madvise(block, size, MADV_NOHUGEPAGE);
    connection->frame_block = block;
    connection->frame_block_size = size;
    return block;
}

static void release(void *block, void *data)
{
    struct connection *connection = data;

    if (!block || block != connection->frame_block) {
        free(block);
        return;
    }
    (void)munmap(block, connection->frame_block_size);
    connection->frame_block = NULL;
}

static void *allocate_zeroed(size_t count, size_t size, void *data)
{
    (void)data;
    return calloc(count, size);
}

static void *reallocate(void *block, size_t size, void *data)
{
    const struct connection *connection = data;
    void *larger = NULL;

    if (!block)
        return allocate(size, data);
    if (block != connection->frame_block)
        return realloc(block, size);
    larger = malloc(size);
    if (!larger)
        return NULL;
    memcpy(larger, block,
           size < connection->frame_block_size ? size : connection->frame_block_size);
    release(block, data);
    return larger;
}

void stream_release_buffers(struct connection *connection)
{
    if (!connection->is_frame_block_used || !connection->frame_block ||
        nghttp2_session_want_write(connection->session))
        return;
    (void)madvise(connection->frame_block, connection->frame_block_size, MADV_DONTNEED);
    connection->is_frame_block_used = false;
}

void stream_open_session(struct connection *connection)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
    };
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *options = NULL;
    nghttp2_mem memory = {connection, allocate, release, allocate_zeroed, reallocate};

    if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&options) != 0)
        out_of_memory();
    /* A table of header fields takes 2 KB per connection, and saves a hundred bytes per request. */
    nghttp2_option_set_max_deflate_dynamic_table_size(options, 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, before_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if (nghttp2_session_client_new3(&connection->session, callbacks, connection, options,
                                    &memory) != 0 ||
        nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings,
                                array_length(settings)) != 0 ||
        nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0,
                                              CONNECTION_WINDOW) != 0)
        out_of_memory();
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
}
