/* SPDX-License-Identifier: Apache-2.0 */
/* Any Secret: its values are texts of the least length, a message that holds one shows it no more,
 * and neither does one that holds a line of the Secret, whatever the Secret is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "deployer/controller/hide.h"

#define SECRET "c4n4ry-value"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const uint8_t *data, size_t size)
{
    cleanup_free char *text = base64_encode(data, size);
    cleanup_json json_t *secret = json_pack("{s:{s:s}}", "data", "key", text);
    struct hidden hidden = {.is_known = true, .is_state_known = true};

    hidden_add_secret(&hidden, secret);
    must(hidden.count <= HIDE_VALUES_MAX && (!hidden.items || !hidden.items[hidden.count]));
    for (size_t i = 0; i < hidden.count && i < 8; i++) {
        cleanup_free char *message = xasprintf("it was %s", hidden.items[i]);
        cleanup_free char *masked = hidden_mask(&hidden, message);

        must(strlen(hidden.items[i]) >= HIDE_LENGTH_MIN && !strstr(masked, hidden.items[i]));
    }
    hidden_done(&hidden);
}

/* A word among whatever else, as a script has it. */
static void check_word(const uint8_t *data, size_t size)
{
    static const char line[] = "\nlogin " SECRET "\n";
    cleanup_free char *whole = xcalloc(size + sizeof(line), 1);
    struct hidden hidden = {.is_known = true, .is_state_known = true};
    cleanup_free char *text = NULL;
    cleanup_free char *masked = NULL;
    cleanup_json json_t *secret = NULL;

    if (size)
        memcpy(whole, data, size);
    memcpy(whole + size, line, sizeof(line));
    text = base64_encode(whole, size + strlen(line));
    secret = json_pack("{s:{s:s}}", "data", "key", text);
    hidden_add_secret(&hidden, secret);
    masked = hidden_mask(&hidden, "it was " SECRET);
    must(!strstr(masked, SECRET));
    hidden_done(&hidden);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_values(data, size);
    check_word(data, size);
    return 0;
}
