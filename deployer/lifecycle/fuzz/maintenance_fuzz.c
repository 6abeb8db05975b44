/* SPDX-License-Identifier: Apache-2.0 */
/* Property: a window that is found ends when it is asked to or later, and after it began. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/data/doc.h"
#include "deployer/lifecycle/maintenance.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct maintenance_cluster cluster = {"account", "trial", "eu-1", "mars"};
    static const int64_t now_unix_ms = 1728000000000, least_ms = 20 * 60 * 1000;
    cleanup_maintenance struct maintenance_policy *policy = NULL;
    struct maintenance_window window;
    struct error err = {0};

    doc_setup();
    if (maintenance_parse((const char *)data, size, &policy, &err) < 0 ||
        maintenance_find(policy, &cluster, now_unix_ms, least_ms, &window, &err) < 0)
        return 0;
    if (window.end_unix_ms <= window.begin_unix_ms || window.end_unix_ms < now_unix_ms + least_ms)
        abort();
    return 0;
}
