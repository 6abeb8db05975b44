/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of an address to listen on: host and port, formatted and parsed again, are the same;
 * the port is the number after the last colon; an error has a text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "deployer/controller/setup.h"
#include "deployer/serve/daemon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const char *host, uint16_t port)
{
    cleanup_free char *text = xasprintf("[%s]:%u", host, (unsigned)port);
    cleanup_free char *host_again = NULL;
    uint16_t port_again = 0;
    struct error err = {0};

    must(address_parse(text, &host_again, &port_again, &err) == 0);
    must(strcmp(host, host_again) == 0 && port_again == port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size);
    const char *colon = strrchr(text, ':');
    const char *digits = colon ? colon + 1 : text;
    bool is_number = *digits && !digits[strspn(digits, "0123456789")];
    cleanup_free char *host = NULL;
    uint16_t port = 0;
    struct error err = {0};

    if (address_parse(text, &host, &port, &err) < 0) {
        must(err.kind == ERROR_INVALID && err.text[0] && !host);
        must(!is_number || strtoul(digits, NULL, 10) > UINT16_MAX);
        return 0;
    }
    must(strcmp(text, "off") == 0 ? port == 0 : is_number && port == strtoul(digits, NULL, 10));
    must(strlen(host) <= strlen(text));
    check_again(host, port);
    return 0;
}
