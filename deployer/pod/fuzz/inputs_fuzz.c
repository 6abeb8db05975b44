/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of a Secret with registry credentials: each accepted file becomes one configuration,
 * and an error does not quote the file. Input: which key, then the file, in which a NUL stands for
 * a canary. */
#include <stdint.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "deployer/pod/inputs.h"

#define CANARY "canary-5d41402a"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The file in the form of the Secret. */
static char *encode(const uint8_t *data, size_t size)
{
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};

    buffer_init(&text, size * strlen(CANARY) + 1);
    for (size_t i = 0; i < size; i++) {
        const char *piece = data[i] ? (const char *)data + i : CANARY;

        must(buffer_append(&text, piece, data[i] ? 1 : strlen(CANARY), &err) == 0);
    }
    return base64_encode(text.data ? text.data : "", text.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {FILE_DOCKER_CONFIG_JSON, FILE_DOCKER_CFG,
                                       FILE_OCM_CREDENTIALS};
    cleanup_json json_t *secret = NULL;
    cleanup_json json_t *configs = json_array();
    cleanup_free char *encoded = NULL;
    cleanup_json json_t *component = json_object(); /* all credentials are kept for it */
    const struct run_spec run = {.component_descriptor = component, .has_registry_access = true};
    const struct deployer_config config = {0};
    struct error err = {0};

    doc_setup();
    if (size == 0)
        return 0;
    encoded = encode(data + 1, size - 1);
    secret = json_pack("{s:{s:s, s:s}, s:{s:s}}", "metadata", "name", "n", "namespace", "ns",
                       "data", keys[data[0] % array_length(keys)], encoded);
    if (inputs_add_docker_secret(configs, secret, &run, &config, &err) < 0) {
        must(err.text[0] && !strstr(err.text, CANARY) && json_array_size(configs) == 0);
        return 0;
    }
    must(json_array_size(configs) == 1 &&
         json_is_object(doc_get(json_array_get(configs, 0), "config")));
    return 0;
}
