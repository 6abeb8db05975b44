/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP/2 session of the server, and its responses. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "common/net/tests/h2_server_internal.h"

enum {
    ANSWER_HEADERS_MAX = 1024,
    HEADER_BLOCK_MAX = 1 << 21, /* raises the limit of nghttp2, for tests of large headers */
    OUTPUT_ENOUGH = 256 * 1024,
};

static struct h2_request *request_of(nghttp2_session *session, int32_t stream_id)
{
    return nghttp2_session_get_stream_user_data(session, stream_id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct h2_connection *connection = data;

    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    (void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id,
                                               h2_request_new(connection, frame->hd.stream_id));
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *data)
{
    struct h2_request *request = request_of(session, frame->hd.stream_id);

    (void)flags;
    (void)data;
    if (request)
        h2_request_add(request, (const char *)name, name_size, (const char *)value, value_size);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *bytes,
                   size_t size, void *data)
{
    struct h2_request *request = request_of(session, stream_id);
    struct error err = {0};

    (void)flags;
    (void)data;
    must(!request || buffer_append(&request->body, bytes, size, &err) == 0);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct h2_request *request = request_of(session, frame->hd.stream_id);

    (void)data;
    if (!request)
        return 0;
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        request->is_reset = true;
        request->reset_code = frame->rst_stream.error_code;
        return 0;
    }
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    request->is_whole = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (request->is_whole || frame->hd.type == NGHTTP2_HEADERS)
        h2_request_arrived(request);
    return 0;
}

void h2_session_start(struct h2_connection *connection)
{
    uint32_t streams_max = connection->server->options.streams_max;
    nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_max};
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;

    must(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_option_set_max_send_header_block_length(option, HEADER_BLOCK_MAX);
    must(nghttp2_session_server_new2(&connection->session, callbacks, connection, option) == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    must(nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, &entry,
                                 streams_max ? 1 : 0) == 0);
}

int h2_session_read(struct h2_connection *connection, const void *bytes, size_t size)
{
    return nghttp2_session_mem_recv(connection->session, bytes, size) < 0 ? -1 : 0;
}

void h2_session_fill(struct h2_connection *connection)
{
    const uint8_t *bytes = NULL;
    ssize_t size = 0;
    struct error err = {0};

    while (connection->session && connection->output.size < OUTPUT_ENOUGH &&
           (size = nghttp2_session_mem_send(connection->session, &bytes)) > 0)
        must(buffer_append(&connection->output, bytes, (size_t)size, &err) == 0);
}

/* An answer's headers as nghttp2 wants them, borrowed from text, which is cut into pieces for it.
 */
struct fields {
    char status[16];
    char *text;
    nghttp2_nv list[ANSWER_HEADERS_MAX];
    size_t count;
};

static void add_field(struct fields *fields, char *name, char *value)
{
    must(fields->count < ANSWER_HEADERS_MAX);
    fields->list[fields->count++] = (nghttp2_nv){
        .name = (uint8_t *)name,
        .value = (uint8_t *)value,
        .namelen = strlen(name),
        .valuelen = strlen(value),
    };
}

static struct fields *read_fields(int status, const char *headers)
{
    static char status_name[] = ":status";
    struct fields *fields = xcalloc(1, sizeof(*fields));
    char *line = fields->text = xstrdup(headers);

    if (status > 0) { /* not for trailers */
        (void)snprintf(fields->status, sizeof(fields->status), "%d", status);
        add_field(fields, status_name, fields->status);
    }
    while (*line) {
        char *colon = strstr(line, ": ");
        char *end = strstr(line, "\r\n");

        must(colon && end && colon < end);
        *colon = '\0';
        *end = '\0';
        add_field(fields, line, colon + 2);
        line = end + 2;
    }
    return fields;
}

static void free_fields(struct fields *fields)
{
    free(fields->text);
    free(fields);
}

static ssize_t read_output(nghttp2_session *session, int32_t stream_id, uint8_t *bytes, size_t max,
                           uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct h2_request *request = source->ptr;
    size_t left = request->output.size - request->output_sent;
    size_t size = left < max ? left : max;

    (void)data;
    if (size > 0)
        memcpy(bytes, request->output.data + request->output_sent, size);
    request->output_sent += size;
    if (size < left || !request->is_ended)
        return size > 0 ? (ssize_t)size : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (request->trailers) {
        struct fields *fields = read_fields(0, request->trailers);

        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        must(nghttp2_submit_trailer(session, stream_id, fields->list, fields->count) == 0);
        free_fields(fields);
    }
    return (ssize_t)size;
}

/* Errors are ignored: the stream may have been reset in the meantime. */
static void begin(struct h2_request *request, int status, const char *headers)
{
    nghttp2_data_provider provider = {.source.ptr = request, .read_callback = read_output};
    bool has_body = !request->is_ended || request->output.size > 0;
    struct fields *fields = read_fields(status, headers);

    (void)nghttp2_submit_response(request->connection->session, request->stream_id, fields->list,
                                  fields->count, has_body ? &provider : NULL);
    free_fields(fields);
    h2_flush(request->connection);
}

void h2_begin(struct h2_request *request, int status, const char *headers)
{
    must(request->connection->session != NULL);
    begin(request, status, headers);
}

void h2_answer(struct h2_request *request, int status, const char *headers, const char *body)
{
    struct error err = {0};

    if (!request->connection->session) {
        h2_http1_answer(request, status, headers, body);
        return;
    }
    must(buffer_append(&request->output, body, strlen(body), &err) == 0);
    request->is_ended = true;
    begin(request, status, headers);
}

void h2_inform(struct h2_request *request, int status, const char *headers)
{
    struct fields *fields = read_fields(status, headers);

    must(request->connection->session != NULL);
    (void)nghttp2_submit_headers(request->connection->session, NGHTTP2_FLAG_NONE,
                                 request->stream_id, NULL, fields->list, fields->count, NULL);
    free_fields(fields);
    h2_flush(request->connection);
}

static void go_on(struct h2_request *request)
{
    (void)nghttp2_session_resume_data(request->connection->session, request->stream_id);
    h2_flush(request->connection);
}

void h2_send(struct h2_request *request, const void *bytes, size_t size)
{
    struct error err = {0};

    must(buffer_append(&request->output, bytes, size, &err) == 0);
    go_on(request);
}

void h2_end(struct h2_request *request, const char *trailers)
{
    request->is_ended = true;
    request->trailers = xstrdup_or_null(trailers);
    go_on(request);
}

void h2_reset(struct h2_request *request, uint32_t code)
{
    (void)nghttp2_submit_rst_stream(request->connection->session, NGHTTP2_FLAG_NONE,
                                    request->stream_id, code);
    h2_flush(request->connection);
}

void h2_go_away(struct h2_connection *connection, int32_t last_stream_id)
{
    must(nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE, last_stream_id,
                               NGHTTP2_NO_ERROR, NULL, 0) == 0);
    h2_flush(connection);
}
