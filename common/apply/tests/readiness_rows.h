/* SPDX-License-Identifier: Apache-2.0 */
/* Objects in various states, and the verdict that is expected for each. */
#pragma once

#include "common/apply/readiness.h"
#include "common/apply/tests/parse.h"

#define OBJECT(api_version_, kind_, members_)                                                      \
    "{'apiVersion':'" api_version_ "','kind':'" kind_ "'," members_ "}"
#define POD(status_) OBJECT("v1", "Pod", "'metadata':{'name':'a'},'status':{" status_ "}")
#define DEPLOYMENT(replicas_, status_)                                                             \
    OBJECT("apps/v1", "Deployment",                                                                \
           "'metadata':{'generation':2},'spec':{" replicas_ "},'status':{" status_ "}")
#define STATEFUL_SET(spec_, status_)                                                               \
    OBJECT("apps/v1", "StatefulSet",                                                               \
           "'metadata':{'generation':2},'spec':{" spec_ "},'status':{" status_ "}")
#define DAEMON_SET(spec_, status_)                                                                 \
    OBJECT("apps/v1", "DaemonSet",                                                                 \
           "'metadata':{'generation':2},'spec':{" spec_ "},'status':{" status_ "}")
#define REPLICA_SET(spec_, status_)                                                                \
    OBJECT("apps/v1", "ReplicaSet",                                                                \
           "'metadata':{'generation':2},'spec':{" spec_ "},'status':{" status_ "}")
#define CONTROLLER(spec_, status_)                                                                 \
    OBJECT("v1", "ReplicationController",                                                          \
           "'metadata':{'generation':2},'spec':{" spec_ "},'status':{" status_ "}")
#define CONDITION(type_, status_, reason_)                                                         \
    "{'type':'" type_ "','status':'" status_ "','reason':'" reason_ "','message':'canary'}"
#define SEEN "'observedGeneration':2"
#define ROLLING(max_) "'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{" max_ "}}"

#define NOT_SEEN "its controller has not seen the last change yet"

struct row {
    const char *object;
    enum readiness readiness;
    const char *reason; /* NULL: ready */
};

static inline void check_rows(const struct row *rows, size_t count, enum readiness_rules rules)
{
    for (size_t i = 0; i < count; i++) {
        cleanup_json json_t *object = parse(rows[i].object);
        struct readiness_verdict verdict = readiness_judge(object, rules);

        print_message("%s\n  -> %s\n", rows[i].object, verdict.reason);
        assert_int_equal(verdict.readiness, rows[i].readiness);
        assert_string_equal(verdict.reason, rows[i].reason ? rows[i].reason : "");
    }
}
