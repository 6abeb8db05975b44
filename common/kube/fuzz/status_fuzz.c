/* SPDX-License-Identifier: Apache-2.0 */
/* Property: any error response gives an error with a kind, a printable text that starts with the
 * request, and a delay within the limit. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "common/kube/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    cleanup_free char *body = NULL;
    int status = 0;

    doc_setup();
    if (size < 1)
        return 0;
    status = 300 + data[0];
    body = xmemdup(data + 1, size - 1);
    must(kube_status_error(status, body, size - 1, 1000, "do", &err) == -1);
    must(err.kind != ERROR_NONE && err.http_status == status);
    must(strncmp(err.text, "do:", 3) == 0);
    must(err.retry_after_ms >= 1000 && err.retry_after_ms <= KUBE_RETRY_AFTER_MAX_MS);
    must(!strstr(err.text, "error found in #"));
    return 0;
}
