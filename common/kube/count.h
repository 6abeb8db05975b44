/* SPDX-License-Identifier: Apache-2.0 */
/* Counts requests by method and status code, for metrics. The table has a fixed size, so servers
 * cannot make it grow. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { KUBE_COUNT_METHODS = 5, KUBE_COUNT_CODES = 23 };

struct kube_counts {
    uint64_t numbers[KUBE_COUNT_METHODS][KUBE_COUNT_CODES];
};

/* status 0: no complete response was received. */
void kube_counts_add(struct kube_counts *counts, const char *method, int status);
/* The label of a row or column as in client-go's metrics ("GET"; "200", "<error>"), or "other". */
const char *kube_count_method(size_t method);
const char *kube_count_code(size_t code);
