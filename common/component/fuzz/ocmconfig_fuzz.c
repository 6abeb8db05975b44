/* SPDX-License-Identifier: Apache-2.0 */
/* Parses an OCM configuration. Property: resolvers are sorted, have a typed repository, and are
 * within the limits. Root certificates by path are excluded, so that no file is opened. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/component/ocmconfig.h"
#include "common/component/typed.h"
#include "common/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    cleanup_ocmconfig struct ocmconfig config = {0};
    cleanup_free char *text = xstrndup((const char *)data, size);
    struct error err = {0};

    if (strcasestr(text, "path"))
        return 0;
    if (ocmconfig_parse(text, strlen(text), keyring, &config, &err) < 0) {
        must(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
        return 0;
    }
    must(config.resolver_count <= OCMCONFIG_RESOLVERS_MAX);
    for (size_t i = 0; i < config.resolver_count; i++) {
        must(typed_text(config.resolvers[i].repository, "type") != NULL);
        must(i == 0 || config.resolvers[i - 1].priority >= config.resolvers[i].priority);
        must(ocm_resolver_matches(&config.resolvers[i], config.resolvers[i].prefix));
    }
    return 0;
}
