/* SPDX-License-Identifier: Apache-2.0 */
/* Property: any provider configuration is refused with a reason, or its pod is as restricted as
 * that of a minimal item. */
#include <stddef.h>
#include <stdint.h>

#include "deployer/tests/invariants.h"
#include "deployer/tests/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *make_pod(const char *type, json_t *provider)
{
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_pod_objects struct pod_objects objects = {0};
    cleanup_free char *text = NULL;
    struct error err = {0};

    if (sample_run_parse(&sample, type, sample_config(NULL), provider) < 0) {
        text = mistakes_text(&sample.mistakes);
        if (sample.mistakes.errors == 0 || !*text)
            abort();
        return NULL;
    }
    /* The API server would not accept more than fits into a Secret. */
    if (pod_objects_make(&sample.request, &objects, &err) < 0) {
        if (err.kind != ERROR_TOO_LARGE)
            abort();
        return NULL;
    }
    return json_incref(objects.pod);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {DEPLOY_ITEM_TYPE_CONTAINER, DEPLOY_ITEM_TYPE_SCRIPT};
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *plain = NULL;
    struct error err = {0};

    doc_setup();
    if (doc_parse_yaml((const char *)data, size, 1 << 20, &doc, &err) < 0 || !json_is_object(doc))
        return 0;
    plain = make_pod(DEPLOY_ITEM_TYPE_CONTAINER, json_pack("{s:s}", "image", "a"));
    for (size_t i = 0; i < array_length(types); i++) {
        cleanup_json json_t *pod = make_pod(types[i], json_deep_copy(doc));

        if (pod && invariants_broken(pod, plain))
            abort();
    }
    return 0;
}
