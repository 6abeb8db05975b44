/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a run: from what wait left in the sink to the result that is shown. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"

/* Sets phase, exitCode, exports, state {bytes, files, how}, exportsHow, error on result. */
void outcome_read(const char *run_path, int main_code, int wait_code, bool is_timed_out,
                  bool is_interrupted, bool is_out_of_memory, json_t *result);
/* exports.json and result.json in a directory of the user's. */
int outcome_write(const char *directory, const json_t *result, struct error *err) must_check;
