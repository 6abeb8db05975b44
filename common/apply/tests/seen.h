/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of watches: an interest and what was reported to it. */
#pragma once

#include "common/apply/tests/api_bench.h"

#define MAPS "/api/v1/namespaces/a/configmaps"

/* What was reported to one interest: "x=1" for an object and its spec.n, "-" for absence, "x-" for
 * an object that is gone, "." for a complete list, "!" for an error. */
struct seen {
    char text[512];
    struct cluster_interest *interest;
    struct error err;
    const char *stop_at; /* ends itself at this text */
    struct seen *also;   /* ended at the same time */
    struct api_bench *bench;
    const char *start_name; /* starts also for this name, once */
};

/* Starts an interest in ConfigMaps of namespace a. */
void seen_watch(struct api_bench *bench, const char *name, const char *label, struct seen *seen);
void seen_stop(struct seen *seen, size_t count);
void seen_note(void *data, const json_t *object, const struct error *err);
/* Runs until as much was reported, and checks it. */
void seen_expect(struct api_bench *bench, struct seen *seen, const char *format, ...)
    printf_like(3, 4);
void seen_run_until_watched(struct api_bench *bench, size_t count);
/* The streams break; the client comes back. */
void seen_break_watches(struct api_bench *bench);
/* Stores a ConfigMap with label l=m and this spec.n. */
void seen_put(struct api_bench *bench, const char *name, int number);
