/* SPDX-License-Identifier: Apache-2.0 */
/* Property: for any request, the path is printable, begins with a slash, and is part of the
 * request. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "deployer/serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *path = NULL;
    int status = 0, is_head = 0;
    int result = serve_parse((const char *)data, size, &path, &status, &is_head);

    if ((result > 0) != (path != NULL))
        abort();
    if (result < 0 && status != 400 && status != 405)
        abort();
    if (result <= 0)
        return 0;
    if (path[0] != '/' || !memmem(data, size, path, strlen(path)))
        abort();
    for (const char *c = path; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == '?')
            abort();
    }
    return 0;
}
