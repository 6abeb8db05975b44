/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of every request before it is sent, however it is sent, and copies of requests. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/net/http_internal.h"

#define BEARER "Bearer "

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
    /* Only the fields for credentials keep them from other hosts. */
    static const char *const refused[] = {"Authorization", "Proxy-Authorization", "Cookie"};

    for (size_t i = 0; i < array_length(refused); i++) {
        if (strcasecmp(header->name, refused[i]) == 0)
            return error_set(err, ERROR_INVALID, "header '%s' is not for callers", header->name);
    }
    if (!header->name[0] || strpbrk(header->name, ": ;\t") || has_control(header->name) ||
        has_control(header->value))
        return error_set(err, ERROR_INVALID, "a header that cannot be sent");
    return 0;
}

int http_request_check(const struct http_call *call, const struct http_request *request,
                       const char *scheme, struct error *err)
{
    for (const char *letter = request->method; *letter; letter++) {
        if (*letter < 'A' || *letter > 'Z')
            return error_set(err, ERROR_INVALID, "'%s' is no HTTP method", request->method);
    }
    if (strcmp(scheme, "http") == 0 && !request->is_plain_http_allowed)
        return error_set(err, ERROR_INVALID, "'%s' is not encrypted (https is needed)",
                         call->url_for_people);
    for (size_t i = 0; i < request->header_count; i++) {
        if (check_header(&request->headers[i], err) < 0)
            return -1;
    }
    if (has_control(request->bearer) || has_control(request->basic_user) ||
        has_control(request->basic_password))
        return error_set(err, ERROR_INVALID, "%s '%s': the credential has a control character",
                         call->method, call->url_for_people);
    return 0;
}

static size_t room_for(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static char *put(char **end, const char *text)
{
    char *copy = *end;

    if (!text)
        return NULL;
    *end = stpcpy(copy, text) + 1;
    return copy;
}

struct http_kept *http_request_keep(const struct http_request *request)
{
    size_t count = request->header_count;
    size_t size = room_for(request->url) + sizeof(BEARER) + room_for(request->bearer);
    struct http_kept *kept = NULL;
    char *end = NULL;

    for (size_t i = 0; i < count; i++)
        size += room_for(request->headers[i].name) + room_for(request->headers[i].value);
    size += sizeof(*kept) + count * sizeof(kept->headers[0]);
    kept = xmalloc(size);
    *kept = (struct http_kept){.request = *request, .size = size};
    end = (char *)&kept->headers[count];
    for (size_t i = 0; i < count; i++) {
        kept->headers[i].name = put(&end, request->headers[i].name);
        kept->headers[i].value = put(&end, request->headers[i].value);
    }
    kept->request.headers = kept->headers;
    kept->request.url = put(&end, request->url);
    kept->request.body = NULL; /* the call has it */
    if (request->bearer) {
        kept->authorization = end;
        end = stpcpy(end, BEARER);
        kept->request.bearer = put(&end, request->bearer);
    }
    return kept;
}

void http_kept_free(struct http_kept *kept)
{
    if (kept)
        explicit_bzero(kept, kept->size);
    free(kept);
}
