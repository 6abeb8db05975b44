/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run: from what wait left in the sink directory to the document that is shown. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct main_end {
    int exit_code;      /* 128 + n for signal n */
    int64_t timeout_ms; /* that it was stopped after; 0: it did not time out */
    bool is_interrupted, is_out_of_memory;
};

struct outcome_summary {
    const char *state;   /* "stored", "unchanged", "not stored" */
    const char *exports; /* "stored", "none", "not stored" */
};

/* Sets every field of result (see result.h) that depends on main and on wait. */
struct outcome_summary outcome_read(const char *run_path, const struct main_end *end,
                                    int wait_exit_code, json_t *result);

/* Opens the directory of --out for outcome_write(), creating it if it is missing. ERROR_INVALID if
 * that is not possible or it is not writable. Returns a descriptor. */
int outcome_open(const char *directory, struct error *err) must_check;
/* Writes exports.json and result.json. */
int outcome_write(int directory_fd, const json_t *result, struct error *err) must_check;
