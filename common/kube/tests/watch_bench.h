/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for tests of watch: a watch, scripted responses, and a record of its events. */
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

/* Events as letters and names: "( La Lb S Ac Mc Dc B R". "(" is LISTING. */
struct seen {
    char text[512];
    struct kube_watch *watch;
    char stop_at; /* the letter at which on_event stops the watch */
    struct error err;
};

/* Watches pods with x=y in namespace a. Version 101 of pod "known" is known already. */
void watch_bench_start(struct kube_bench *bench, struct seen *seen, bool is_watch_only);
/* Serves these responses (and frees them) until the events are as wanted, and checks that no more
 * follow. */
void watch_bench_run(struct kube_bench *bench, struct seen *seen, char **answers, size_t count,
                     const char *wanted);
