/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of WWW-Authenticate: no value is longer than the header, and a challenge written in
 * canonical form parses to the same. Parameters in the URL of a token request are escaped, so that
 * they can't change anything but the query. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "common/oci/auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bound(const char *text, size_t size)
{
    must(!text || strlen(text) <= size);
}

static char *quote(const char *text)
{
    char *quoted = xmalloc(strlen(text) * 2 + 1);
    size_t used = 0;

    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            quoted[used++] = '\\';
        quoted[used++] = *text;
    }
    quoted[used] = '\0';
    return quoted;
}

static void check_url(const struct challenge *challenge)
{
    cleanup_free char *url = auth_token_url(challenge->realm, challenge->service,
                                            challenge->scope ? challenge->scope : "");
    size_t realm = strlen(challenge->realm);

    must(strncmp(url, challenge->realm, realm) == 0);
    must(!url[realm + strspn(url + realm, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789-._~%?&=")]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *header = xstrndup((const char *)data, size);
    cleanup_challenge struct challenge challenge = {0};
    cleanup_challenge struct challenge again = {0};

    challenge_add(&challenge, header);
    check_bound(challenge.realm, size);
    check_bound(challenge.service, size);
    check_bound(challenge.scope, size);
    must(challenge.realm || (!challenge.service && !challenge.scope));
    if (challenge.realm) {
        cleanup_free char *realm = quote(challenge.realm);
        cleanup_free char *canonical = xasprintf("Bearer realm=\"%s\"", realm);
        cleanup_realm struct realm parsed = {0};
        struct error err = {0};

        check_url(&challenge);
        if (strlen(canonical) <= CHALLENGE_MAX_BYTES) {
            challenge_add(&again, canonical);
            must(again.realm && strcmp(again.realm, challenge.realm) == 0);
        }
        if (auth_parse_realm(challenge.realm, &parsed, &err) == 0) {
            must(*parsed.host && auth_is_realm_of(parsed.host, parsed.host));
            must(!strchr(parsed.host, '@') && !strchr(parsed.host, '/'));
        }
    }
    return 0;
}
