/* SPDX-License-Identifier: Apache-2.0 */
/* What requests came to, by method and status: for metrics. A table of a fixed size, whatever
 * servers answer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { KUBE_COUNT_METHODS = 5, KUBE_COUNT_CODES = 23 };

struct kube_counts {
    uint64_t numbers[KUBE_COUNT_METHODS][KUBE_COUNT_CODES];
};

/* status 0: there was no whole answer. */
void kube_counts_add(struct kube_counts *counts, const char *method, int status);
/* Of a row and a column, as client-go's metrics name them ("GET"; "200", "<error>"), or "other". */
const char *kube_count_method(size_t method);
const char *kube_count_code(size_t code);
