/* SPDX-License-Identifier: Apache-2.0 */
/* Property: any OCM credentials give a Docker configuration that the keyring reads, or refuses with
 * a reason. */
#include <stddef.h>
#include <stdint.h>

#include "common/oci/keyring.h"
#include "deployer/pod/ocm_credentials.h"
#include "deployer/tests/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *config = NULL;
    cleanup_keyring struct keyring *keyring = NULL;
    struct error err = {0};
    size_t helpers = 0;

    doc_setup();
    if (ocm_credentials_docker_config((const char *)data, size, &config, &err) < 0) {
        if (err.kind != ERROR_INVALID || !*err.text)
            abort();
        return 0;
    }
    if (!json_is_object(json_object_get(config, "auths")))
        abort();
    keyring = keyring_new();
    if (keyring_add_docker_config(keyring, "x", config, &helpers, &err) < 0 &&
        err.kind != ERROR_INVALID)
        abort();
    return 0;
}
