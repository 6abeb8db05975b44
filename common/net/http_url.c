/* SPDX-License-Identifier: Apache-2.0 */
#include <curl/curl.h>
#include <string.h>

#include "common/base/digit.h"
#include "common/base/memory.h"
#include "common/net/http_transport.h"

static void url_cleanup(CURLU *url)
{
    curl_url_cleanup(url);
}
define_cleanup(CURLU *, url_cleanup)
#define cleanup_url __attribute__((cleanup(url_cleanupp)))

static char *url_part(CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL;
    char *copy = NULL;

    if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
        return NULL;
    copy = xstrdup(text);
    curl_free(text);
    return copy;
}

void http_url_done(struct http_url *url)
{
    free(url->scheme);
    free(url->host);
    free(url->port);
    free(url->path);
    *url = (struct http_url){0};
}

int http_url_parse(const char *text, struct http_url *ret_url, struct error *err)
{
    cleanup_url CURLU *url = curl_url();
    cleanup_free char *given_port = NULL;
    cleanup_wipe char *user = NULL;
    cleanup_wipe char *password = NULL;
    struct http_url parsed = {0};

    if (!url || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK) {
        cleanup_free char *shown = http_url_redact(text);

        return error_set(err, ERROR_INVALID, "\"%s\" is not a valid URL", shown);
    }
    user = url_part(url, CURLUPART_USER, 0);
    password = url_part(url, CURLUPART_PASSWORD, 0);
    parsed.scheme = url_part(url, CURLUPART_SCHEME, 0);
    parsed.host = url_part(url, CURLUPART_HOST, 0);
    parsed.path = url_part(url, CURLUPART_PATH, 0);
    given_port = url_part(url, CURLUPART_PORT, 0);
    parsed.port = url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    parsed.is_port_given = given_port != NULL;
    if (user || password) {
        (void)error_set(err, ERROR_INVALID,
                        "the URL of host \"%s\" must not contain a user or password",
                        parsed.host ? parsed.host : "");
        http_url_done(&parsed);
        return -1;
    }
    if (!parsed.scheme || !parsed.host || !parsed.path || !parsed.port ||
        (strcmp(parsed.scheme, "https") != 0 && strcmp(parsed.scheme, "http") != 0)) {
        cleanup_free char *shown = http_url_redact(text);

        http_url_done(&parsed);
        return error_set(err, ERROR_INVALID, "\"%s\" is not an http or https URL", shown);
    }
    *ret_url = parsed;
    return 0;
}

/* The length of "scheme://host:port"; 0 if the URL does not start so. */
static size_t origin_length(const char *url)
{
    const char *colon = strchr(url, ':');

    return colon && strncmp(colon, "://", 3) == 0
               ? (size_t)(colon - url) + 3 + strcspn(colon + 3, "/?#")
               : 0;
}

int http_origin_of(struct http_client *client, const char *url, const struct http_url **ret_origin,
                   struct error *err)
{
    size_t length = origin_length(url);
    struct http_url parsed = {0};

    *ret_origin = &client->origin;
    if (length > 0 && client->origin_text && strncmp(client->origin_text, url, length) == 0 &&
        client->origin_text[length] == '\0')
        return 0;
    if (http_url_parse(url, &parsed, err) < 0)
        return -1;
    http_origin_done(client);
    client->origin = parsed;
    client->origin_text = xstrndup(url, length);
    return 0;
}

void http_origin_done(struct http_client *client)
{
    http_url_done(&client->origin);
    free(client->origin_text);
    client->origin_text = NULL;
}

static char *strip(const char *url)
{
    /* A "://" after the first of these characters does not end the scheme (it may be in a query).
     */
    size_t scheme = strcspn(url, ":/?#@");
    const char *start = scheme > 0 && strncmp(url + scheme, "://", 3) == 0 ? url + scheme + 3 : url;
    size_t authority = strcspn(start, "/?#");
    size_t path = strcspn(start + authority, "?#");
    const char *at = memrchr(start, '@', authority);
    const char *host = at ? at + 1 : start;

    return xasprintf("%.*s%.*s", (int)(start - url), url,
                     (int)(authority - (size_t)(host - start) + path), host);
}

/* Does not use curl's parser, because it must also work for invalid URLs. The result of strip() may
 * look like a URL with user info again, so it is repeated until nothing changes. */
char *http_url_redact(const char *url)
{
    char *shown = strip(url);

    while (strchr(shown, '@')) {
        char *again = strip(shown);
        bool is_same = strlen(again) == strlen(shown);

        free(shown);
        shown = again;
        if (is_same)
            break;
    }
    return shown;
}

static bool is_unreserved(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           is_digit(letter) || letter == '-' || letter == '.' || letter == '_' || letter == '~';
}

char *http_url_escape(const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    char *escaped = xmalloc(strlen(text) * 3 + 1);
    char *out = escaped;

    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;

        if (is_unreserved(*text)) {
            *out++ = *text;
            continue;
        }
        *out++ = '%';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    *out = '\0';
    return escaped;
}
