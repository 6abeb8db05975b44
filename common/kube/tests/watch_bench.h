/* SPDX-License-Identifier: Apache-2.0 */
/* A watch against a server that answers what a test says, and what it has told. */
#pragma once

#include "common/kube/tests/kube_bench.h"
#include "common/kube/watch.h"

#define OBJECT(name_, version_)                                                                    \
    "{\"metadata\":{\"name\":\"" name_ "\",\"resourceVersion\":\"" version_ "\"}}"
#define EVENT(type_, name_, version_)                                                              \
    "{\"type\":\"" type_ "\",\"object\":" OBJECT(name_, version_) "}\n"
#define PAGE_AT(version_, items_, continue_)                                                       \
    "{\"metadata\":{\"resourceVersion\":\"" version_ "\",\"continue\":\"" continue_                \
    "\"},\"items\":[" items_ "]}"
#define PAGE(items_, continue_) PAGE_AT("100", items_, continue_)

/* Events as letters and names: "La Lb S Ac Mc Dc B R". That a list begins shows as "(". */
struct seen {
    char text[512];
    struct kube_watch *watch;
    char stop_at; /* the letter at which the watch is stopped from inside */
    struct error err;
};

/* Started for pods x=y in namespace a; "known" of version 101 is known already. */
void watch_bench_start(struct kube_bench *bench, struct seen *seen, bool is_watch_only);
/* Runs with these answers (and frees them) until so much has been seen, and then some. */
void watch_bench_run(struct kube_bench *bench, struct seen *seen, char **answers, size_t count,
                     const char *wanted);
