/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches the chart of a helm item. Sources, as the controller writes them:
 *
 *     {"raw": base64 of the archive}
 *     {"url": address of the archive}
 *     {"ref": host/repository:tag of an OCI artifact}
 *     {"repository": {"url", "name", "version"}}
 *     {"resource": {"name", ...}}  of the component of the configuration: name and extra identity
 *
 * and beside them CHART_AUTHORIZATIONS and CHART_IS_SEEN_WANTED (common/contract.h). Of the
 * authorizations the one for the address of the repository counts, if any.
 *
 * The archive is checked (chart_check.h) and becomes FILE "chart/chart.tgz" beside the directory of
 * the content. */
#pragma once

#include "common/component/blob.h"
#include "common/component/resolve.h"
#include "init/options.h"
#include "init/setup.h"

struct chart_env {
    struct setup *setup;
    const struct options *options;
    const struct resolution *resolution; /* of the component; NULL: none */
    blob_progress_fn *on_progress;
    void (*on_retry)(void *data, const struct error *err, uint32_t delay_ms);
    void *data;
};

struct chart_counts {
    uint64_t files, bytes, packed;
};

/* Blocks. setup->configuration.chart is set. */
int chart_fetch(const struct chart_env *env, struct chart_counts *ret_counts, struct error *err)
    must_check;
