/* SPDX-License-Identifier: Apache-2.0 */
/* What to do next for one pair of Environment and DeployerRegistration. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "deployer/registrations/graph.h"

/* Each is one request, but for PAIR_WRITE_TARGET, which requests a token and writes it to the
 * Target. */
enum pair_action {
    PAIR_NONE,
    PAIR_CREATE_ACCOUNT,
    PAIR_CREATE_BINDING,
    PAIR_UPDATE_BINDING,
    PAIR_WRITE_TARGET,
    PAIR_CREATE_INSTALLATION,
    PAIR_PATCH_INSTALLATION,
    PAIR_INTERRUPT,
    PAIR_RETRY,
    PAIR_MARK_INSTALLATION, /* Landscaper is to delete it without uninstalling */
    PAIR_DELETE_INSTALLATION,
    PAIR_DELETE_BINDING,
    PAIR_DELETE_TARGET,
    PAIR_DELETE_ACCOUNT,
    PAIR_REMOVE_FINALIZER,
};

struct pair_situation {
    bool is_wanted;     /* both halves exist, and none is being deleted */
    bool is_accepted;   /* deployers may be installed in the environment */
    bool is_prepared;   /* both are valid and have our finalizer, and the host Target is written */
    bool is_name_taken; /* an object of the pair's name belongs to somebody else */

    bool has_installation, is_deleting, is_uninstalled;
    bool is_installation_current;
    bool has_account, has_binding, has_target; /* ours */
    bool is_binding_current, is_target_current;
    bool is_token_due;
    bool is_access_by_agent; /* no Target: the agent requests the tokens */

    bool is_ready; /* the last job of the Installation has succeeded */
    enum graph_state dependencies;
    bool is_job_running; /* Landscaper works on the Installation */
    bool is_interrupted; /* we have interrupted this job already */
    bool is_retry_due;   /* failed, and a deployer that it needs has become ready since */

    size_t items; /* DeployItems that the deployer has served and that still exist */
    bool is_forced;
    bool is_without_uninstall; /* the cluster of the environment is gone */
    bool is_marked;            /* the Installation is, too */
    enum removal_state removal;
};

struct pair_decision {
    enum pair_action action;
    /* Why nothing is done, or what it waits for: a reason of a condition. "" if it is as it should
     * be. */
    const char *reason;
};

struct pair_decision pair_decide(const struct pair_situation *now);
