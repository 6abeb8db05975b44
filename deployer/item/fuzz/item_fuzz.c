/* SPDX-License-Identifier: Apache-2.0 */
/* Property: any DeployItem can be read, and the mistakes in it are reported within the limits of a
 * status. */
#include <stddef.h>
#include <stdint.h>

#include "deployer/item/status.h"
#include "deployer/tests/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *doc = NULL;
    cleanup_item struct item *item = NULL;
    cleanup_free char *text = NULL;
    const struct status_error error = {"a", "b", "c", {CODE_TIMEOUT}};
    struct error err = {0};

    doc_setup();
    if (doc_parse_yaml((const char *)data, size, 1 << 20, &doc, &err) < 0 ||
        item_parse(doc, &item, &err) < 0)
        return 0;
    text = mistakes_text(&item->mistakes);
    if (item->mistakes.count > MISTAKES_MAX || !item->phase || !item->job || !item->status ||
        (item->timeout_ms < 0 && item->timeout_ms != ITEM_TIMEOUT_NONE) ||
        item_deadline_unix_ms(item) < -1)
        abort();
    if ((item->mistakes.errors > 0) != (*text != '\0'))
        abort();
    /* Errors are reported whatever the previous status contains. */
    (void)status_set_error(item->status, &error, 0);
    if (!json_is_object(json_object_get(item->status, "lastError")) ||
        json_array_size(json_object_get(item->status, "lastErrors")) > STATUS_LAST_ERRORS_MAX)
        abort();
    return 0;
}
