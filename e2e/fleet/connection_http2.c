/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "e2e/fleet/connection.h"

enum { STREAMS_MAX = 250, OUTPUT_ENOUGH = 64 * 1024 };

static struct exchange *exchange_of(nghttp2_session *session, int32_t stream_id)
{
    return nghttp2_session_get_stream_user_data(session, stream_id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct connection *connection = data;

    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        (void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id,
                                                   exchange_new(connection, frame->hd.stream_id));
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *data)
{
    struct exchange *exchange = exchange_of(session, frame->hd.stream_id);

    (void)flags;
    (void)data;
    if (exchange)
        exchange_add_header(exchange, (const char *)name, name_size, (const char *)value,
                            value_size);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *bytes,
                   size_t size, void *data)
{
    struct exchange *exchange = exchange_of(session, stream_id);
    struct error err = {0};

    (void)flags;
    (void)data;
    if (exchange && buffer_append(&exchange->body, bytes, size, &err) < 0)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct connection *connection = data;
    struct exchange *exchange = exchange_of(session, frame->hd.stream_id);
    bool has_stream = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;

    if (!exchange || !has_stream || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    exchange->is_whole = true;
    if (!exchange->method || !exchange->target)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    connection->host->on_request(connection->host->data, exchange);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t code, void *data)
{
    struct exchange *exchange = exchange_of(session, stream_id);

    (void)code;
    (void)data;
    if (exchange) {
        (void)nghttp2_session_set_stream_user_data(session, stream_id, NULL);
        exchange_free(exchange);
    }
    return 0;
}

int http2_start(struct connection *connection)
{
    nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX};
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    int result = 0;

    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return -1;
    if (nghttp2_option_new(&option) != 0) {
        nghttp2_session_callbacks_del(callbacks);
        return -1;
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_option_set_no_closed_streams(option, 1); /* saves memory */
    result = nghttp2_session_server_new2(&connection->session, callbacks, connection, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    if (result != 0)
        return -1;
    return nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, &entry, 1) == 0 ? 0 : -1;
}

int http2_receive(struct connection *connection, const char *bytes, size_t size)
{
    return nghttp2_session_mem_recv(connection->session, (const uint8_t *)bytes, size) < 0 ? -1 : 0;
}

void http2_fill(struct connection *connection)
{
    const uint8_t *bytes = NULL;
    ssize_t size = 0;

    while (connection->output.size < OUTPUT_ENOUGH &&
           (size = nghttp2_session_mem_send(connection->session, &bytes)) > 0)
        put_bytes(&connection->output, bytes, (size_t)size);
}

static ssize_t read_output(nghttp2_session *session, int32_t stream_id, uint8_t *bytes, size_t max,
                           uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct exchange *exchange = source->ptr;
    size_t left = exchange->output.size - exchange->output_sent;
    size_t size = left < max ? left : max;

    (void)session;
    (void)stream_id;
    (void)data;
    if (size > 0)
        memcpy(bytes, exchange->output.data + exchange->output_sent, size);
    exchange->output_sent += size;
    if (exchange->output_sent == exchange->output.size) { /* an idle watch takes no memory for it */
        buffer_done(&exchange->output);
        buffer_init(&exchange->output, SIZE_MAX);
        exchange->output_sent = 0;
        if (exchange->is_ended)
            *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return size > 0 || exchange->is_ended ? (ssize_t)size : NGHTTP2_ERR_DEFERRED;
}

/* Copied by nghttp2. */
static nghttp2_nv make_header(char *name, char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)name,
                        .value = (uint8_t *)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

void http2_begin(struct exchange *exchange, int code, const char *content_type,
                 uint32_t retry_after_s)
{
    char names[3][16] = {":status", "content-type", "retry-after"};
    char status[16] = "", type[64] = "", delay[16] = "";
    nghttp2_nv headers[] = {make_header(names[0], status), make_header(names[1], type),
                            make_header(names[2], delay)};
    nghttp2_data_provider provider = {.source.ptr = exchange, .read_callback = read_output};

    headers[0].valuelen = (size_t)snprintf(status, sizeof(status), "%d", code);
    headers[1].valuelen = (size_t)snprintf(type, sizeof(type), "%s", content_type);
    headers[2].valuelen = (size_t)snprintf(delay, sizeof(delay), "%u", retry_after_s);
    /* The client may have reset the stream in the meantime, so errors are ignored. */
    (void)nghttp2_submit_response(exchange->connection->session, exchange->stream_id, headers,
                                  retry_after_s > 0 ? 3 : 2, &provider);
}
