/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/uuid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

void uuid_make(char ret_text[UUID_TEXT_SIZE])
{
    unsigned char b[16] = {0};
    ssize_t size = 0;

    /* getrandom() never returns less for requests of up to 256 bytes. */
    do {
        size = getrandom(b, sizeof(b), 0);
    } while (size < 0 && errno == EINTR);
    if (size != (ssize_t)sizeof(b)) {
        perror("getrandom");
        abort();
    }
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* version 4 */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80); /* variant of RFC 4122 */
    (void)snprintf(ret_text, UUID_TEXT_SIZE,
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                   b[14], b[15]);
}
