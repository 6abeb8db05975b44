/* SPDX-License-Identifier: Apache-2.0 */
/* Property: any pod status gives a verdict with a message and a provider status within the limits.
 */
#include <stddef.h>
#include <stdint.h>

#include "deployer/item/status.h"
#include "deployer/pod/provider_status.h"
#include "deployer/tests/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const json_t *pod, const struct deployer_config *config)
{
    cleanup_pod_verdict struct pod_verdict verdict = {0};
    cleanup_json json_t *status = json_object();
    cleanup_json json_t *provider = NULL;
    cleanup_free char *message = NULL;
    bool is_wrong = false;

    pod_judge(pod, config, 1767776400000, 0, &verdict);
    is_wrong = verdict.outcome == POD_FAILED || verdict.outcome == POD_STUCK ||
               verdict.outcome == POD_HOPELESS;
    if (is_wrong != (verdict.operation && verdict.reason && verdict.message))
        abort();
    message = pod_verdict_message(&verdict, "tail");
    if (strlen(message) > STATUS_MESSAGE_MAX)
        abort();
    provider = status_provider(pod, OPERATION_RECONCILE, "job", &verdict, "tail");
    if (!doc_text(provider, "podStatus.podName"))
        abort();
    status_set_conditions(status, pod, 1767776400000);
    if (json_array_size(doc_get(status, "conditions")) > 2)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *doc = NULL;
    cleanup_config struct deployer_config *config = NULL;
    struct error err = {0};

    doc_setup();
    if (doc_parse_yaml((const char *)data, size, 1 << 20, &doc, &err) < 0)
        return 0;
    config = sample_config(NULL);
    check(doc, config);
    return 0;
}
