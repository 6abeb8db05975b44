/* SPDX-License-Identifier: Apache-2.0 */
/* What the templates of a chart see, {"Values", "Chart", "Release"}, and the exports that are read
 * from it. No I/O. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "deployer/objects/configuration.h"

/* Chart.yaml as templates see it: the names of its fields begin with a capital letter. A new
 * reference. */
json_t *helm_chart_fields(const json_t *object);

/* The values of a release: defaults, overridden by values. Objects are merged, and null removes a
 * key. helm has added the defaults of subcharts to those of the chart already, and "global" to the
 * defaults of every subchart; what values say about "global" is passed on to them here. subcharts:
 * an array of {"name"}, the dependencies of the chart. A new reference. */
json_t *helm_merge_values(const json_t *defaults, const json_t *values, const json_t *subcharts);

/* The values of config->value_exports in what templates see, by their keys: a new reference; NULL
 * if there are none. ERROR_INVALID names the key whose path finds nothing, or more than one value.
 */
int helm_value_exports(const struct manifest_config *config, const json_t *seen,
                       json_t **ret_exports, struct error *err) must_check;
