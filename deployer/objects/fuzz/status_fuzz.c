/* SPDX-License-Identifier: Apache-2.0 */
/* Property: a provider status that can be read is the same after it was written and read again. */
#include <stddef.h>
#include <stdint.h>

#include "deployer/objects/status.h"
#include "deployer/tests/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *first = NULL;
    cleanup_json json_t *second = NULL;
    cleanup_manifest_status struct manifest_status status = {0}, again = {0};
    struct error err = {0};

    doc_setup();
    if (doc_parse_yaml((const char *)data, size, 1 << 20, &doc, &err) < 0 ||
        manifest_status_parse(doc, &status, &err) < 0)
        return 0;
    first = manifest_status_document(&status.inventory, status.cluster, status.late);
    if (manifest_status_parse(first, &again, &err) < 0)
        abort();
    second = manifest_status_document(&again.inventory, again.cluster, again.late);
    if (!json_equal(first, second))
        abort();
    return 0;
}
