/* SPDX-License-Identifier: Apache-2.0 */
/* No known secret is left in masked text, wherever it stood; what is masked already stays as it is;
 * the text grows by no more than a mask for a letter. Input: text, in which a NUL stands for the
 * secret. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "deployer/item/mask.h"

#define SECRET "s3cr3t-value"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const secrets[] = {SECRET, "short", NULL};
    cleanup_free char *text = xcalloc(size + 1, strlen(SECRET));
    cleanup_free char *masked = NULL;
    size_t used = 0;

    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\0') {
            memcpy(text + used, SECRET, sizeof(SECRET) - 1);
            used += sizeof(SECRET) - 1;
        } else {
            text[used++] = (char)data[i];
        }
    }
    masked = mask_text(text, secrets);
    must(!strstr(masked, SECRET));
    must(strlen(masked) <= 3 * strlen(text));
    must(!strstr(text, SECRET) || strstr(masked, "***"));
    return 0;
}
