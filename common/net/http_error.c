/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "common/net/http_internal.h"

/* What curl says about one transfer, by code. Its own text is shown only where it can hold nothing
 * but host, port and reason: some of its messages quote URLs, proxies or headers. */
static const struct {
    CURLcode code;
    enum error_kind kind;
    bool is_text_shown;
} codes[] = {
    {CURLE_URL_MALFORMAT, ERROR_INVALID, false},
    {CURLE_UNSUPPORTED_PROTOCOL, ERROR_INVALID, false},
    {CURLE_TOO_MANY_REDIRECTS, ERROR_INVALID, false},
    {CURLE_BAD_CONTENT_ENCODING, ERROR_INVALID, false},
    {CURLE_COULDNT_RESOLVE_HOST, ERROR_TEMPORARY, true},
    {CURLE_COULDNT_CONNECT, ERROR_TEMPORARY, true},
    {CURLE_OPERATION_TIMEDOUT, ERROR_TEMPORARY, true},
    {CURLE_SSL_CONNECT_ERROR, ERROR_TEMPORARY, true},
    {CURLE_PARTIAL_FILE, ERROR_TEMPORARY, true},
    {CURLE_GOT_NOTHING, ERROR_TEMPORARY, true},
    {CURLE_SEND_ERROR, ERROR_TEMPORARY, true},
    {CURLE_RECV_ERROR, ERROR_TEMPORARY, true},
    {CURLE_HTTP2, ERROR_TEMPORARY, true},
    {CURLE_HTTP2_STREAM, ERROR_TEMPORARY, true},
    {CURLE_PEER_FAILED_VERIFICATION, ERROR_DENIED, true},
    {CURLE_SSL_ISSUER_ERROR, ERROR_DENIED, true},
    {CURLE_SSL_INVALIDCERTSTATUS, ERROR_DENIED, true},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, ERROR_DENIED, true},
    {CURLE_SSL_CERTPROBLEM, ERROR_DENIED, false},
    {CURLE_SSL_CACERT_BADFILE, ERROR_DENIED, false},
    {CURLE_LOGIN_DENIED, ERROR_DENIED, false},
    {CURLE_REMOTE_ACCESS_DENIED, ERROR_DENIED, false},
    {CURLE_FILESIZE_EXCEEDED, ERROR_TOO_LARGE, false},
    {CURLE_NOT_BUILT_IN, ERROR_INTERNAL, false},
    {CURLE_FAILED_INIT, ERROR_INTERNAL, false},
    {CURLE_OUT_OF_MEMORY, ERROR_INTERNAL, false},
    {CURLE_BAD_FUNCTION_ARGUMENT, ERROR_INTERNAL, false},
    {CURLE_UNKNOWN_OPTION, ERROR_INTERNAL, false},
};

void http_error_from_curl(const struct http_call *call, CURLcode code, struct error *err)
{
    enum error_kind kind = ERROR_TEMPORARY;
    const char *text = curl_easy_strerror(code);

    for (size_t i = 0; i < array_length(codes); i++) {
        if (codes[i].code != code)
            continue;
        kind = codes[i].kind;
        if (codes[i].is_text_shown && call->curl_text[0])
            text = call->curl_text;
    }
    /* Also said of an answer that is no HTTP at all: the server's trouble, not the URL's. */
    if (code == CURLE_UNSUPPORTED_PROTOCOL && strstr(call->curl_text, "HTTP/0.9"))
        kind = ERROR_TEMPORARY;
    (void)error_set(err, kind, "%s '%s': %s", call->method, call->url_for_people, text);
    if (code == CURLE_OPERATION_TIMEDOUT)
        err->os = ETIMEDOUT;
    else if (call->is_unprocessed || code == CURLE_COULDNT_CONNECT ||
             code == CURLE_COULDNT_RESOLVE_HOST)
        err->os = ECONNREFUSED;
}
