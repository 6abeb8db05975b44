/* SPDX-License-Identifier: Apache-2.0 */
/* Any Secret: its values are texts of the least length, and a message that holds one shows it no
 * more. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/controller/hide.h"
#include "deployer/item/mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = base64_encode(data, size);
    cleanup_json json_t *secret = json_pack("{s:{s:s}}", "data", "key", text);
    struct hidden hidden = {0};

    hidden_add_secret(&hidden, secret);
    if (hidden.count > HIDE_VALUES_MAX || (hidden.items && hidden.items[hidden.count]))
        abort();
    for (size_t i = 0; i < hidden.count && i < 8; i++) {
        cleanup_free char *message = xasprintf("it was %s", hidden.items[i]);
        cleanup_free char *masked = mask_text(message, (const char *const *)hidden.items);

        if (strlen(hidden.items[i]) < HIDE_LENGTH_MIN || strstr(masked, hidden.items[i]))
            abort();
    }
    hidden_done(&hidden);
    return 0;
}
