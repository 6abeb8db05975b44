/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the archive of a chart before helm reads it. */
#pragma once

#include <stdint.h>

#include "common/archive/limits.h"
#include "common/base/error.h"

enum { CHART_PACKED_MAX = 64 * 1024 * 1024, CHART_FILE_MAX = 8 * 1024 * 1024 };

struct chart_summary {
    char *top; /* name of the directory that the archive consists of */
    uint64_t files, bytes;
};

void chart_summary_done(struct chart_summary *summary);
#define cleanup_chart_summary __attribute__((cleanup(chart_summary_done)))

/* Unpacks the archive below directory_fd, within limits, and removes what it unpacked. Devices,
 * links that leave the archive, absolute names and "..", and more than 100 MiB are errors. So is
 * anything but one top directory with a Chart.yaml that names chart and version, and a file with
 * the reserved name FILE_HELM_SEEN. The offset of packed_fd is 0 afterwards. */
int chart_check(int packed_fd, int directory_fd, struct chart_summary *ret_summary,
                struct error *err) must_check;
