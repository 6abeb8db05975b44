/* SPDX-License-Identifier: Apache-2.0 */
/* Property: any provider configuration is either read completely or refused with a message within
 * the limits of a status, and its deletion groups can be read in any case. */
#include <stddef.h>
#include <stdint.h>

#include "deployer/objects/configuration.h"
#include "deployer/tests/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *targets = NULL;
    cleanup_manifest_config struct manifest_config *config = NULL;
    cleanup_manifest_config struct manifest_config *deletion = NULL;
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_free char *text = NULL;
    struct error err = {0};
    bool is_valid = false;
    int result = 0;

    doc_setup();
    if (doc_parse_yaml((const char *)data, size, 1 << 20, &doc, &err) < 0)
        return 0;
    result = manifest_config_parse(doc, &config, &mistakes);
    text = mistakes_text(&mistakes);
    if ((result < 0) != (mistakes.errors > 0) || (result < 0) != !config ||
        mistakes.count > MISTAKES_MAX || (mistakes.errors > 0) != (*text != '\0'))
        abort();
    deletion = manifest_config_for_deletion(doc, &is_valid);
    if (config && (!is_valid || deletion->group_count != config->group_count))
        abort();
    targets = manifest_config_targets(config ? config : deletion, false);
    if (!json_is_array(targets))
        abort();
    return 0;
}
