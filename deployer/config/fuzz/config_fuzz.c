/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: the effective document of an accepted configuration gives the same configuration, and
 * the pod of a minimal item can be created with it. */
#include <stddef.h>
#include <stdint.h>

#include "deployer/tests/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct deployer_config *config)
{
    cleanup_json json_t *doc = config_document(config);
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_config struct deployer_config *again = NULL;
    cleanup_json json_t *doc_again = NULL;
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_pod_objects struct pod_objects objects = {0};
    struct error err = {0};

    if (config_parse(doc, &again, &mistakes) < 0)
        abort();
    doc_again = config_document(again);
    if (!json_equal(doc, doc_again))
        abort();
    if (sample_run_parse(&sample, DEPLOY_ITEM_TYPE_CONTAINER, steal(&again),
                         json_pack("{s:s}", "image", "a")) < 0 ||
        pod_objects_make(&sample.request, &objects, &err) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *doc = NULL;
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_config struct deployer_config *config = NULL;
    struct error err = {0};

    doc_setup();
    if (doc_parse_yaml((const char *)data, size, CONFIG_BYTES_MAX, &doc, &err) < 0)
        return 0;
    if (config_parse(doc, &config, &mistakes) == 0)
        check(config);
    else if (mistakes.errors == 0)
        abort();
    return 0;
}
