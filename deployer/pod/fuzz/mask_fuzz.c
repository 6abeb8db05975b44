/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: masked text contains no known secret, and no fragment of one at a truncated beginning
 * or end; the text grows by at most one mask per character. Input: text, in which a NUL stands for
 * the secret. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "deployer/pod/mask.h"

#define SECRET "s3cr3t-value"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The last bytes of the secret before the text, its first bytes after it: fragments of 4 bytes or
 * more are masked. */
static void check_cut(const char *text, size_t cut, const char *const *secrets)
{
    size_t left = strlen(SECRET) - cut;
    cleanup_free char *front = xasprintf("%s %1024s", &SECRET[cut], text);
    cleanup_free char *back = xasprintf("%1024s %.*s", text, (int)left, SECRET);
    cleanup_free char *front_masked = mask_text(front, secrets);
    cleanup_free char *back_masked = mask_text(back, secrets);
    size_t size = strlen(back_masked);

    if (left < 4)
        return;
    must(strncmp(front_masked, &SECRET[cut], left) != 0);
    must(strncmp(front_masked, "***", 3) == 0);
    must(size >= 3 && strcmp(back_masked + size - 3, "***") == 0);
}

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
    for (size_t cut = 1; cut < strlen(SECRET); cut++)
        check_cut(text, cut, secrets);
    return 0;
}
