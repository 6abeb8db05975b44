/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/count.h"

#include <stdio.h>
#include <string.h>

static const char *const METHODS[KUBE_COUNT_METHODS] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

/* Status codes that API servers send; "other" counts all the rest. */
static const char *const CODES[KUBE_COUNT_CODES] = {
    "<error>", "200", "201", "202", "204", "400", "401", "403", "404", "405", "406",  "409",
    "410",     "413", "415", "422", "429", "500", "501", "502", "503", "504", "other"};

static size_t code_index(int status)
{
    char text[16];
    size_t i = 0;

    if (status == 0)
        return 0;
    (void)snprintf(text, sizeof(text), "%d", status);
    while (i < KUBE_COUNT_CODES - 1 && strcmp(CODES[i], text) != 0)
        i++;
    return i;
}

void kube_counts_add(struct kube_counts *counts, const char *method, int status)
{
    for (size_t i = 0; i < KUBE_COUNT_METHODS; i++) {
        if (strcmp(METHODS[i], method) == 0)
            counts->numbers[i][code_index(status)]++;
    }
}

const char *kube_count_method(size_t method)
{
    return METHODS[method];
}

const char *kube_count_code(size_t code)
{
    return CODES[code];
}
