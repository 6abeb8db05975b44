/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a redacted URL has no query, fragment or user info, and redacting is idempotent. An
 * escaped text consists of unreserved characters and percent-encoded bytes, and has the expected
 * length. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "common/net/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size);
    cleanup_free char *shown = http_url_redact(text);
    cleanup_free char *again = http_url_redact(shown);
    cleanup_free char *escaped = http_url_escape(text);
    const char *host = strstr(shown, "://");
    size_t plain = 0;

    must(!strpbrk(shown, "?#"));
    must(strlen(shown) <= strlen(text));
    host =
        host && host > shown && strcspn(shown, "/:@") == (size_t)(host - shown) ? host + 3 : shown;
    must(!memchr(host, '@', strcspn(host, "/")));
    must(strcmp(shown, again) == 0);
    for (const char *at = escaped; *at; at++) {
        must(isalnum((unsigned char)*at) || strchr("-._~%", *at));
        plain += *at != '%';
    }
    must(strlen(escaped) - plain == (strlen(escaped) - strlen(text)) / 2);
    return 0;
}
