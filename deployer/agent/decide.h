/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent does next: the first rule of a table that applies. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each is one request, but for those that request a token and store it. */
enum agent_action {
    AGENT_NONE,
    AGENT_ELECT, /* compete for the Lease, or remain a candidate */
    AGENT_DELETE_ENVIRONMENT,
    AGENT_CREATE_ENVIRONMENT,
    AGENT_UPDATE_ENVIRONMENT,
    AGENT_REPORT,            /* write status.agent */
    AGENT_REMOVE_FINALIZER,  /* of the agent, from the Environment */
    AGENT_RENEW_OWN_TOKEN,   /* for Landscaper's cluster */
    AGENT_WRITE_TARGET,      /* token of the host account, Secret of the host Target */
    AGENT_DELETE_TARGET,     /* that Secret */
    AGENT_WRITE_ACCESS,      /* token of a deployer, Secret in the host cluster */
    AGENT_DELETE_ACCESS,     /* that Secret */
    AGENT_WRITE_HOST_OBJECT, /* account, roles, bindings */
    AGENT_DELETE_HOST_OBJECT,
    AGENT_REMEMBER_LEFT,
    AGENT_FORGET_LEFT,
    AGENT_REMOVE_LEASE,
    AGENT_FINISH, /* --leave is done */
    AGENT_ACTION_COUNT,
};

struct agent_situation {
    bool is_synced; /* everything below is known */
    bool is_leader; /* holds the Lease */
    /* The process was started to leave, or to register again after it had left. */
    bool wants_leave, wants_register;

    bool has_environment, is_deleting;
    bool has_finalizer, has_management_finalizer;
    bool is_foreign;  /* the Environment belongs to another cluster */
    bool is_current;  /* finalizer, annotations and spec are as they should be */
    bool is_reported; /* so is status.agent */
    bool is_accepted;
    bool has_left;      /* remembered in the host cluster */
    bool is_lease_gone; /* nothing is left of our Lease */

    bool is_own_token_due;
    bool is_host_access; /* the Secret of the host Target is wanted */
    bool has_target, is_target_due;
    bool is_access_due, has_old_access; /* of some deployer */
    bool has_access;
    bool has_wrong_host_object; /* missing or not as it should be */
    bool has_host_object;
    bool has_old_host_object; /* exists and is not wanted */

    uint32_t waiting; /* 1 << action: it failed and is not retried yet */
};

struct agent_decision {
    enum agent_action action;
    const char *rule; /* its name, for logs */
};

struct agent_decision agent_decide(const struct agent_situation *now);

const char *agent_action_name(enum agent_action action);
