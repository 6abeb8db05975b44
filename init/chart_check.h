/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the archive of a chart before helm reads it. */
#pragma once

#include <stdint.h>

#include "common/archive/limits.h"
#include "common/base/buffer.h"
#include "common/base/error.h"

enum { CHART_PACKED_MAX = 64 * 1024 * 1024, CHART_FILE_MAX = 8 * 1024 * 1024 };

struct chart_texts {
    struct buffer chart, values; /* Chart.yaml and values.yaml; values may be empty */
    uint64_t files, bytes;
};

void chart_texts_done(struct chart_texts *texts);
#define cleanup_chart_texts __attribute__((cleanup(chart_texts_done)))

/* Unpacks the archive below directory_fd, within limits, and removes what it unpacked. Devices,
 * links that leave the archive, absolute names and "..", and more than 100 MiB are errors. So is
 * anything but one top directory with a Chart.yaml that names chart and version. The offset of
 * packed_fd is 0 afterwards. */
int chart_check(int packed_fd, int directory_fd, struct chart_texts *ret_texts, struct error *err)
    must_check;
