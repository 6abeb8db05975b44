/* SPDX-License-Identifier: Apache-2.0 */
/* curl's handles outlive their calls. curl_easy_reset() forgets all options, credentials and
 * answers; only a handle whose exchange ended well comes back, as curl clears the header that it
 * made of credentials when that has been sent. */
#include "common/base/memory.h"
#include "common/net/http_internal.h"

CURL *http_handle_take(struct http_client *client)
{
    CURL *easy = client->idle_count ? client->idle[--client->idle_count] : curl_easy_init();

    if (!easy)
        out_of_memory();
    return easy;
}

void http_handle_give(struct http_client *client, CURL *easy, bool is_kept)
{
    if (!easy)
        return;
    if (!is_kept || client->idle_count == HTTP_IDLE_HANDLES_MAX) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    client->idle[client->idle_count++] = easy;
}

void http_handles_drop(struct http_client *client)
{
    while (client->idle_count)
        curl_easy_cleanup(client->idle[--client->idle_count]);
}
