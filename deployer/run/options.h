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
    /* What to run. All texts are borrowed from argv. */
    const char *const *files; /* the operands; "-" is standard input */
    size_t file_count;
    struct option_list objects; /* --target, --context, --secret: further files */
    const char *image, *imports, *operation, *from_cluster, *kubeconfig, *config;
    /* Where things are kept. */
    const char *state, *out, *cache;
    int64_t cache_bytes;
    /* How it runs. */
    const char *runtime;
    int64_t timeout_ms; /* 0: the item's own; -1: none */
    int64_t grace_ms;
    bool has_network, is_kept, is_shell, is_plain_http_allowed, is_insecure;
    /* What is shown. */
    enum run_output output;
    bool is_verbose, is_help;
};

/* Fails with ERROR_INVALID naming the option and what it takes. */
int run_options_parse(int argc, char **argv, struct run_options *ret_options, struct error *err)
    must_check;
void run_options_done(struct run_options *options);
