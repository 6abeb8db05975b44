/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a module by what runs it (its manager, a Deployment or StatefulSet) and by its own
 * custom resource. Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "common/base/error.h"
#include "deployer/lifecycle/state.h"

struct state_verdict {
    enum module_state state;
    /* What is missing, without the name of the object; has reasons and numbers, no messages of
     * conditions. Empty if the state is MODULE_READY. */
    char reason[200];
};

/* A Deployment or StatefulSet. first_pod is the first pod of a StatefulSet, or NULL: without all
 * replicas its first container decides. Unlike in the original, a workload that its controller has
 * not seen yet is MODULE_PROCESSING, not MODULE_ERROR. */
struct state_verdict manager_state(const json_t *workload, const json_t *first_pod);

/* A module's custom resource, by status.state or, if checks is a list that is not empty, by the
 * template's customStateCheck ({jsonPath, value, mappedState}): a state holds if all its checks
 * match, the worst of them wins, and if none holds it is MODULE_PROCESSING; with checks that
 * state_checks_validate() refuses it is MODULE_ERROR. A resource without a state is
 * MODULE_PROCESSING, and MODULE_WARNING once it is five minutes old. */
struct state_verdict resource_state(const json_t *resource, const json_t *checks,
                                    int64_t now_unix_ms);
/* Whether resource_state() can judge it: false for a resource whose kind reports no state at all,
 * and which has no checks. */
bool resource_has_state(const json_t *resource, const json_t *checks);

/* ERROR_INVALID "spec.customStateCheck[1].jsonPath: ..." if checks (NULL: none) cannot be used. */
int state_checks_validate(const json_t *checks, struct error *err) must_check;
