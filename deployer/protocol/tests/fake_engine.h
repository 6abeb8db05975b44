/* SPDX-License-Identifier: Apache-2.0 */
/* An engine for tests of the protocol. It is longer than an engine has to be, because the tests of
 * the protocol run with it, too (e2e/api/controller/test_protocol.py): they need an engine that
 * lists its executions at start-up, verifies them, has jobs of several steps, exports, and looks
 * after an item when its job has ended. */
#pragma once

#include "deployer/engine.h"

/* An execution is a ConfigMap of the item's name in the host namespace, with the job in it. Its
 * result is determined by spec.config.result of the item: "hang" runs until it is ended, "fail"
 * fails, anything else succeeds, with an export, after two steps. An item with
 * spec.config.followUp is looked after when its job has ended: its engine makes a ConfigMap
 * "NAME-followed" once. */
extern const struct engine_class FAKE_ENGINE;

struct kube_list;

struct fake_engine {
    struct engine base;
    struct kube_list *list;
    bool is_synced;
};

/* What is tracked of an item: its execution. */
struct fake_run {
    char *job;
    bool is_delete;
    int steps_left;
    bool is_followed; /* not an execution, but an item that is looked after */
};

/* Simulates that the watch has listed an execution. */
void fake_track(struct record *record, const char *job, bool is_delete);
