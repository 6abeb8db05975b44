/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: for any Secret, its values have at least the minimum length, and a redacted message
 * contains neither a value nor a line of the Secret. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "deployer/pod/redact.h"

#define SECRET "c4n4ry-value"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const uint8_t *data, size_t size)
{
    cleanup_free char *text = base64_encode(data, size);
    cleanup_json json_t *secret = json_pack("{s:{s:s}}", "data", "key", text);
    struct redaction redaction = {.is_known = true, .is_state_known = true};

    redaction_add_secret(&redaction, secret);
    must(redaction.count <= REDACT_VALUES_MAX &&
         (!redaction.items || !redaction.items[redaction.count]));
    for (size_t i = 0; i < redaction.count && i < 8; i++) {
        cleanup_free char *message = xasprintf("it was %s", redaction.items[i]);
        cleanup_free char *masked = redaction_apply(&redaction, message);

        must(strlen(redaction.items[i]) >= REDACT_LENGTH_MIN &&
             !strstr(masked, redaction.items[i]));
    }
    redaction_done(&redaction);
}

/* A secret as a word in a script or another text. */
static void check_word(const uint8_t *data, size_t size)
{
    static const char line[] = "\nlogin " SECRET "\n";
    cleanup_free char *whole = xcalloc(size + sizeof(line), 1);
    struct redaction redaction = {.is_known = true, .is_state_known = true};
    cleanup_free char *text = NULL;
    cleanup_free char *masked = NULL;
    cleanup_json json_t *secret = NULL;

    if (size)
        memcpy(whole, data, size);
    memcpy(whole + size, line, sizeof(line));
    text = base64_encode(whole, size + strlen(line));
    secret = json_pack("{s:{s:s}}", "data", "key", text);
    redaction_add_secret(&redaction, secret);
    masked = redaction_apply(&redaction, "it was " SECRET);
    must(!strstr(masked, SECRET));
    redaction_done(&redaction);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_values(data, size);
    check_word(data, size);
    return 0;
}
