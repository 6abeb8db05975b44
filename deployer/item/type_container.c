/* SPDX-License-Identifier: Apache-2.0 */
/* landscaper.gardener.cloud/container: runs an image. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "deployer/item/provider.h"

static void parse_container(const json_t *config, const struct deployer_config *deployer,
                            struct run_spec *run, struct mistakes *mistakes)
{
    (void)mistakes;
    /* The configured command and arguments apply to the default image only. */
    if (!run->image) {
        const struct config_container *image = &deployer->default_image;

        run->image = xstrdup(image->image);
        if (!run->command && !run->args) {
            run->command = json_incref(image->command);
            run->args = json_incref(image->args);
        }
        if (!run->image_pull_policy)
            run->image_pull_policy = xstrdup_or_null(image->image_pull_policy);
    }
    run->configuration = json_deep_copy(config);
}

const struct item_type ITEM_TYPE_CONTAINER = {
    .type = DEPLOY_ITEM_TYPE_CONTAINER,
    .api_version = DEPLOYER_API_VERSION,
    .fields = PROVIDER_FIELDS,
    .parse = parse_container,
};
