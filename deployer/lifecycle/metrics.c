/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/manager.h"

int lifecycle_write_metrics(struct lifecycle *lifecycle, struct buffer *ret_body)
{
    struct error err = {0};

    return buffer_append_text(ret_body, &err,
                              "# TYPE longshore_lifecycle_clusters gauge\n"
                              "longshore_lifecycle_clusters %zu\n",
                              lifecycle->kyma_count);
}
