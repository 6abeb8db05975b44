/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP/1.1 part of the server: one request at a time, bodies with content-length only. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "common/net/tests/h2_server_internal.h"

static void read_head(struct h2_request *request, char *head)
{
    char *rest = NULL;
    char *line = strtok_r(head, "\r\n", &rest);
    const char *space = line ? strchr(line, ' ') : NULL;

    must(space != NULL);
    h2_request_add(request, ":method", 7, line, (size_t)(space - line));
    h2_request_add(request, ":path", 5, space + 1, strcspn(space + 1, " "));
    while ((line = strtok_r(NULL, "\r\n", &rest))) {
        size_t name_size = strcspn(line, ":");
        const char *value = line + name_size + 1;

        value += strspn(value, " ");
        if (name_size == 4 && strncasecmp(line, "host", 4) == 0)
            h2_request_add(request, ":authority", 10, value, strlen(value));
        else
            h2_request_add(request, line, name_size, value, strlen(value));
    }
}

void h2_http1_read(struct h2_connection *connection, const void *bytes, size_t size)
{
    struct h2_request *request = connection->current;
    struct buffer *input = &connection->input;
    const char *length = NULL;
    const char *end = NULL;
    struct error err = {0};

    must(buffer_append(input, bytes, size, &err) == 0);
    end = strstr(input->data, "\r\n\r\n");
    if (!request && end) {
        size_t head_size = (size_t)(end - input->data);
        cleanup_free char *head = xstrndup(input->data, head_size);

        request = connection->current = h2_request_new(connection, 0);
        read_head(request, head);
        buffer_consume(input, head_size + 4);
    }
    if (!request || request->is_whole)
        return;
    length = h2_request_header(request, "content-length");
    size = length ? strtoul(length, NULL, 10) : 0;
    if (input->size < size)
        return;
    must(buffer_append(&request->body, input->data, size, &err) == 0);
    buffer_consume(input, size);
    request->is_whole = true;
    h2_request_arrived(request);
}

void h2_http1_answer(struct h2_request *request, int status, const char *headers, const char *body)
{
    struct h2_connection *connection = request->connection;
    struct error err = {0};

    must(connection->current == request);
    connection->current = NULL;
    must(buffer_append_text(&connection->output, &err,
                            "HTTP/1.1 %d Said\r\n%sContent-Length: %zu\r\n\r\n%s", status, headers,
                            strlen(body), body) == 0);
    h2_flush(connection);
}
