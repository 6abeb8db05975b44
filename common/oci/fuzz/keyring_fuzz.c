/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of a Docker configuration: every accepted entry is found by its own address, and is
 * unchanged in the configuration written for a kubelet. */
#include <stdint.h>
#include <string.h>

#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "common/oci/keyring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct credential *credential)
{
    cleanup_json json_t *config = keyring_docker_config("h.example", credential);
    cleanup_keyring struct keyring *keyring = keyring_new();
    const struct credential *found = NULL;
    struct error err = {0};
    size_t helpers = 0;

    if (!credential->username || strchr(credential->username, ':') || !*credential->username)
        return;
    must(keyring_add_docker_config(keyring, "fuzz", config, &helpers, &err) == 1);
    found = keyring_find(keyring, "h.example", "r");
    must(found && strcmp(found->username, credential->username) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    cleanup_json json_t *config = NULL;
    struct error err = {0};
    size_t helpers = 0;
    int added = 0;
    const char *address = NULL;
    json_t *value = NULL;
    json_t *auths = NULL;
    int found = 0;

    if (doc_parse_json((const char *)data, size, 1 << 20, &config, &err) < 0)
        return 0;
    added = keyring_add_docker_config(keyring, "fuzz", config, &helpers, &err);
    if (added < 0) {
        must(err.kind == ERROR_INVALID);
        return 0;
    }
    auths = json_object_get(config, "auths");
    json_object_foreach(auths ? auths : config, address, value)
    {
        const char *host = strstr(address, "://");
        const char *path = NULL;
        const struct credential *credential = NULL;

        host = host ? host + 3 : address;
        path = strchr(host, '/');
        credential = keyring_find(keyring, address, path ? path + strspn(path, "/") : "");
        if (!credential)
            continue;
        found++;
        check_round_trip(credential);
    }
    must(added == 0 || found > 0);
    return 0;
}
