/* SPDX-License-Identifier: Apache-2.0 */
/* A removal from a fake cluster, for tests. */
#pragma once

#include "common/apply/tests/fake_cluster.h"
#include "common/apply/tests/removal_parse.h"

struct removal_bench {
    struct cluster *cluster;
    struct cluster *second; /* of groups with a target */
    struct inventory entries;
    struct test_groups groups;
    struct cluster **clusters; /* of the groups */
    struct removal *removal;   /* NULL: it is over */
    char removed[2000];        /* "ns/a deleted; b kept" */
    bool is_done;
    int cancel_at; /* removal_cancel() from inside the n-th on_removed; 0: never */
};

/* The live object "a" in namespace ns, with uid u-a, our label, and more members of metadata. */
#define LIVE(name_, more_)                                                                         \
    "{'metadata': {'name': '" name_ "', 'namespace': 'ns', 'uid': 'u-" name_                       \
    "', 'resourceVersion': '7', 'labels': {'owner': 'me'}" more_ "}}"
#define EMPTY_LIST "{'metadata': {'resourceVersion': '1'}, 'items': []}"
#define TERMINATING ", 'deletionTimestamp': '2026-01-01T00:00:00Z'"

/* An entry is a text of parse_ref(), which may begin with "keep " or "ignore ". */
void bench_add(struct removal_bench *bench, const char *entry);
int bench_try(struct removal_bench *bench, const char *groups, struct error *err) must_check;
void bench_start(struct removal_bench *bench, const char *groups);
/* The watch says that the object does not exist, and the list that is asked for then, too. */
void bench_absent(struct cluster *cluster, const char *plural, const char *namespace_name,
                  const char *name);
/* removal_describe() must contain the text; NULL: it must have nothing to say. */
void bench_must_say(const struct removal_bench *bench, const char *text);
int bench_setup(void **state);
int bench_teardown(void **state); /* cancels the removal */
