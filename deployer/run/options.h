/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `longshore run`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/options.h"

enum run_output {
    RUN_OUTPUT_TEXT,
    RUN_OUTPUT_JSON,
};

struct run_options {
    /* What to run. All strings are borrowed from argv. */
    const char *const *files; /* the operands; "-" is standard input */
    size_t file_count;
    struct option_list objects; /* --target, --context, --secret: further files */
    const char *image, *imports, *operation, *from_cluster, *kubeconfig, *config;
    /* Directories. */
    const char *state, *out, *cache;
    int64_t cache_bytes;
    /* How to run it. */
    const char *runtime;
    int64_t timeout_ms; /* 0: that of the item; -1: no timeout */
    int64_t grace_ms;
    bool has_network, is_kept, is_shell, is_plain_http, is_insecure;
    /* Output. */
    enum run_output output;
    bool is_verbose, is_help;
};

/* Fails with ERROR_INVALID; the error names the option and its valid values. *ret_options borrows
 * from argv and is released by run_options_done(). After a failure only output and operation are
 * set: they apply to the report of the error, too. */
int run_options_parse(int argc, char **argv, struct run_options *ret_options, struct error *err)
    must_check;
void run_options_done(struct run_options *options);
