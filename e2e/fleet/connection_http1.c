/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1: one request at a time, with Content-Length. Responses of unknown length are chunked. */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "e2e/fleet/connection.h"

enum { HEAD_MAX = 64 * 1024, BODY_MAX = 4 * 1024 * 1024 };

static void read_request_line(struct exchange *exchange, char *line)
{
    char *space = strchr(line, ' ');
    char *end = space ? strchr(space + 1, ' ') : NULL;

    if (!end)
        return;
    exchange->method = xstrndup(line, (size_t)(space - line));
    exchange->target = xstrndup(space + 1, (size_t)(end - space - 1));
}

/* Reads a head that ends with an empty line; returns the length of the body, or -1. */
static int64_t read_head(struct exchange *exchange, char *head)
{
    uint64_t length = 0;
    char *line = strsep(&head, "\n");

    read_request_line(exchange, line);
    while ((line = strsep(&head, "\n"))) {
        char *value = strchr(line, ':');
        size_t name_size = 0;

        if (!value)
            continue;
        name_size = (size_t)(value - line);
        value++;
        value += strspn(value, " \t");
        value[strcspn(value, "\r")] = '\0';
        exchange_add_header(exchange, line, name_size, value, strlen(value));
        if (name_size == 14 && strncasecmp(line, "content-length", 14) == 0 &&
            !number_parse(value, BODY_MAX, &length))
            return -1;
        if (name_size == 17 && strncasecmp(line, "transfer-encoding", 17) == 0)
            return -1; /* no client of the tests sends chunks */
    }
    return exchange->method ? (int64_t)length : -1;
}

/* Takes one whole request out of the input. 1: done; 0: it is not complete; -1: it is malformed. */
static int take_request(struct connection *connection)
{
    struct buffer *input = &connection->input;
    const char *end = input->size > 0 ? memmem(input->data, input->size, "\r\n\r\n", 4) : NULL;
    size_t head_size = 0;
    cleanup_free char *head = NULL;
    struct exchange *exchange = NULL;
    int64_t length = 0;
    struct error err = {0};

    if (!end)
        return input->size > HEAD_MAX ? -1 : 0;
    head_size = (size_t)(end - input->data) + 4;
    head = xstrndup(input->data, head_size - 2);
    exchange = exchange_new(connection, 0);
    length = read_head(exchange, head);
    if (length < 0 || input->size < head_size + (size_t)length) {
        exchange_free(exchange);
        return length < 0 ? -1 : 0;
    }
    if (buffer_append(&exchange->body, input->data + head_size, (size_t)length, &err) < 0)
        return -1;
    exchange->is_whole = true;
    buffer_consume(input, head_size + (size_t)length);
    connection->host->on_request(connection->host->data, exchange);
    return 1;
}

int http1_receive(struct connection *connection, const char *bytes, size_t size)
{
    int result = 1;

    put_bytes(&connection->input, bytes, size);
    while (result > 0 && !connection->exchanges && !connection->is_broken)
        result = take_request(connection);
    if (connection->input.size == 0) {
        buffer_done(&connection->input);
        buffer_init(&connection->input, SIZE_MAX);
    }
    return result < 0 ? -1 : 0;
}

void http1_begin(struct exchange *exchange, int code, const char *content_type,
                 uint32_t retry_after_s, const struct reply *reply)
{
    struct buffer *output = &exchange->connection->output;
    char head[512];
    int size = snprintf(head, sizeof(head), "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", code,
                        code < 300 ? "OK" : "Error", content_type);

    put_bytes(output, head, (size_t)size);
    if (retry_after_s > 0) {
        size = snprintf(head, sizeof(head), "Retry-After: %u\r\n", retry_after_s);
        put_bytes(output, head, (size_t)size);
    }
    if (!reply) {
        put_text(output, "Transfer-Encoding: chunked\r\n\r\n");
        exchange->stream_id = -1; /* chunked */
        return;
    }
    size = snprintf(head, sizeof(head), "Content-Length: %zu\r\n\r\n", reply->body.size);
    put_bytes(output, head, (size_t)size);
    put_bytes(output, reply->body.data ? reply->body.data : "", reply->body.size);
}

void http1_write(struct exchange *exchange, const void *bytes, size_t size)
{
    struct buffer *output = &exchange->connection->output;
    char head[32];

    if (size == 0)
        return;
    put_bytes(output, head, (size_t)snprintf(head, sizeof(head), "%zx\r\n", size));
    put_bytes(output, bytes, size);
    put_text(output, "\r\n");
}

void http1_end(struct exchange *exchange)
{
    struct connection *connection = exchange->connection;

    if (exchange->stream_id < 0)
        put_text(&connection->output, "0\r\n\r\n");
    exchange_free(exchange);
    connection_flush(connection);
    /* The next request may have arrived meanwhile. */
    if (!connection->is_receiving && connection->input.size > 0 && !connection->is_broken &&
        http1_receive(connection, "", 0) < 0)
        connection_break(connection);
}
