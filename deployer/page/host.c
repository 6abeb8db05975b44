/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/page/host.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"

bool host_is_address(const char *host)
{
    cleanup_free char *name = xstrdup(host ? host : "");
    struct in6_addr address = {0};
    char *end = NULL;

    if (name[0] == '[') {
        end = strchr(name, ']');
        if (!end || (end[1] && end[1] != ':'))
            return false;
        *end = '\0';
        return inet_pton(AF_INET6, name + 1, &address) == 1;
    }
    name[strcspn(name, ":")] = '\0';
    return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &address) == 1;
}
