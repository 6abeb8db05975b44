/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a parameter contains no control character and is not longer than the request; a
 * header is one line without spaces around it; without a header there is no gzip. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "deployer/serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *parameter = request_parameter((const char *)data, size, "search");
    cleanup_free char *header = request_header((const char *)data, size, "host");

    cleanup_free char *encodings = request_header((const char *)data, size, "accept-encoding");

    if (request_accepts_gzip((const char *)data, size) && (!encodings || !*encodings))
        abort();
    for (const char *c = parameter; c && *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            abort();
    }
    if ((parameter && strlen(parameter) > size) || (header && strlen(header) > size))
        abort();
    if (header && (strchr(header, '\n') || header[0] == ' ' ||
                   (*header && header[strlen(header) - 1] == '\r')))
        abort();
    return 0;
}
