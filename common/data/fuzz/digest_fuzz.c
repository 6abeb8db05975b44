/* SPDX-License-Identifier: Apache-2.0 */
/* Property: a parsed digest consists of its algorithm and hex, and only content with that digest
 * matches. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {[DIGEST_SHA256] = "sha256", [DIGEST_SHA512] = "sha512"};
    cleanup_free char *text = xstrndup((const char *)data, size);
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;
    cleanup_free char *written = NULL;
    cleanup_digest struct digest *digest = NULL;
    char own_hex[DIGEST_HEX_MAX] = "";
    char own[DIGEST_TEXT_MAX] = "";
    struct error err = {0};

    if (digest_parse(text, &algorithm, &hex, &err) < 0) {
        must(err.kind == ERROR_INVALID && err.text[0] && !hex);
        return 0;
    }
    written = xasprintf("%s:%s", names[algorithm], hex);
    must(strcmp(written, text) == 0 && hex[strspn(hex, "0123456789abcdef")] == '\0');
    digest = digest_new(algorithm);
    digest_hex(digest, own_hex);
    (void)snprintf(own, sizeof(own), "%s:%s", names[algorithm], own_hex);
    must(strlen(own) == strlen(text) && digest_matches(digest, own));
    must(digest_matches(digest, text) == (strcmp(own, text) == 0));
    return 0;
}
