/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/net/http_internal.h"

void http_response_update(struct http_call *call)
{
    long status = 0;

    if (!call->easy)
        return; /* nghttp2 has told */
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    call->response.status = (int)status;
}

static const char *multiplexed_header(const struct http_call *call, const char *name, size_t index)
{
    const char *end = call->answer_headers.data + call->answer_headers.size;

    for (const char *text = call->answer_headers.data; text && text < end;) {
        const char *value = text + strlen(text) + 1;

        if (strcasecmp(text, name) == 0 && index-- == 0)
            return value;
        text = value + strlen(value) + 1;
    }
    return NULL;
}

const char *http_response_header_at(const struct http_response *response, const char *name,
                                    size_t index)
{
    struct curl_header *header = NULL;

    if (response && response->call && !response->call->easy)
        return multiplexed_header(response->call, name, index);
    if (!response || !response->call ||
        curl_easy_header(response->call->easy, name, index, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return NULL;
    return header->value;
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
