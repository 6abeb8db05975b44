/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of fake clusters, for tests. */
#pragma once

#include "common/apply/checks.h"
#include "common/apply/tests/checks_parse.h"
#include "common/apply/tests/fake_cluster.h"

#define DEPLOYMENT(name_, available_)                                                              \
    "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': '" name_ "', "           \
    "'namespace': 'ns', 'generation': 1}, 'spec': {'replicas': 1}, 'status': "                     \
    "{'observedGeneration': 1, 'replicas': 1, 'readyReplicas': " available_                        \
    ", 'updatedReplicas': 1, 'availableReplicas': " available_ "}}"
#define CONFIG_MAP "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'c'}}"
#define OBJECT(name_, phase_)                                                                      \
    "{'metadata': {'name': '" name_ "', 'namespace': 'ns'}, 'status': {'phase': '" phase_ "'}}"
#define IS_READY "'requirements': [{'path': '.status.phase', 'op': '==', 'values': ['Ready']}]"
#define FAILED_JOB                                                                                 \
    "{'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'j', 'namespace': 'ns'}, "     \
    "'status': {'conditions': [{'type': 'Failed', 'status': 'True', 'reason': 'TooOften'}]}}"

#define SOURCE(value_) "{'metadata': {'name': 's'}, 'revision': " value_ "}"
#define APPLIED(name_, value_)                                                                     \
    "{'metadata': {'name': '" name_ "', 'namespace': 'ns'}, 'applied': " value_ "}"
#define SAME_REVISION                                                                              \
    "'requirements': [{'path': '.applied', 'op': '==', 'from': 'v1 Secret ns/s', 'fromPath': "     \
    "'.revision'}]"

enum { OBJECTS_MAX = 4 };

struct checks_bench {
    struct cluster *cluster, *second;
    struct object_ref refs[OBJECTS_MAX];
    struct kind kinds[OBJECTS_MAX];
    json_t *seen[OBJECTS_MAX];
    size_t count;
    struct custom_check *custom;
    struct cluster **clusters;
    size_t custom_count;
    enum readiness_rules rules;
    struct checks *checks; /* NULL: over */
    bool is_ready;
    char failure[1000];
};

/* An object of the default check. seen NULL: nothing is known of it. */
void bench_add(struct checks_bench *bench, const char *ref, const char *plural, const char *seen);
/* custom is a list of parse_check(). Checks with a target are about the second cluster. */
int bench_try(struct checks_bench *bench, const char *custom, struct error *err) must_check;
void bench_start(struct checks_bench *bench, const char *custom);
/* checks_describe() must contain the text. */
void bench_must_say(const struct checks_bench *bench, const char *text);
int bench_setup(void **state);
int bench_teardown(void **state); /* cancels the checks */
/* For tests that start the checks themselves. */
void bench_on_ready(void *data);
void bench_on_failed(void *data, const struct error *err);
