/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/decide.h"

#include "common/base/cleanup.h"

/* ---- conditions ---- */

static bool is_unknown(const struct agent_situation *now)
{
    return !now->is_synced;
}

static bool is_foreign(const struct agent_situation *now)
{
    return now->has_environment && now->is_foreign;
}

/* Needs no Lease: the agent that holds it then does the rest. */
static bool leave_is_requested(const struct agent_situation *now)
{
    return now->wants_leave && now->has_environment && !now->is_deleting;
}

/* The part of the agent: longshore registrations has uninstalled all deployers, or nobody else has
 * anything to do with it. Until then deployers need their access to be uninstalled. */
static bool is_leaving(const struct agent_situation *now)
{
    if (now->has_environment)
        return now->is_deleting && !now->has_management_finalizer;
    return now->wants_leave || now->has_left;
}

static bool has_leftovers(const struct agent_situation *now)
{
    return now->has_target || now->has_access || now->has_host_object || !now->has_left;
}

/* It has left, and nothing is left to be removed. */
static bool is_gone(const struct agent_situation *now)
{
    return !now->has_environment && is_leaving(now) && !has_leftovers(now);
}

static bool rejoins(const struct agent_situation *now)
{
    return now->wants_register && now->has_left && !now->has_environment;
}

static bool is_gone_with_lease(const struct agent_situation *now)
{
    return is_gone(now) && !rejoins(now) && !now->is_lease_gone;
}

static bool leave_is_done(const struct agent_situation *now)
{
    return is_gone(now) && now->wants_leave;
}

static bool stays_away(const struct agent_situation *now)
{
    return is_gone(now) && !rejoins(now);
}

/* An Environment of this name that somebody created after the agent had left. */
static bool was_left(const struct agent_situation *now)
{
    return now->has_left && now->has_environment && !now->wants_register && !is_leaving(now);
}

static bool is_candidate(const struct agent_situation *now)
{
    return !now->is_leader;
}

static bool leaves_target(const struct agent_situation *now)
{
    return is_leaving(now) && now->has_target;
}

static bool leaves_access(const struct agent_situation *now)
{
    return is_leaving(now) && now->has_access;
}

static bool leaves_host_object(const struct agent_situation *now)
{
    return is_leaving(now) && now->has_host_object;
}

/* Before the finalizer goes: without it and without this mark, a restart would register again. */
static bool leaves_unremembered(const struct agent_situation *now)
{
    return is_leaving(now) && !now->has_left;
}

static bool leaves_finalizer(const struct agent_situation *now)
{
    return is_leaving(now) && now->has_environment && now->has_finalizer;
}

static bool has_marker(const struct agent_situation *now)
{
    return now->has_left; /* and registers again, see above */
}

static bool own_token_is_due(const struct agent_situation *now)
{
    return now->is_own_token_due;
}

static bool is_unregistered(const struct agent_situation *now)
{
    return !now->has_environment;
}

static bool is_outdated(const struct agent_situation *now)
{
    return !now->is_deleting && !now->is_current;
}

static bool is_unreported(const struct agent_situation *now)
{
    return !now->is_deleting && !now->is_reported;
}

static bool target_is_unwanted(const struct agent_situation *now)
{
    return now->has_target && (!now->is_host_access || !now->is_accepted);
}

static bool is_unaccepted(const struct agent_situation *now)
{
    return !now->is_accepted;
}

static bool target_is_due(const struct agent_situation *now)
{
    return now->is_host_access && now->has_target && now->is_target_due;
}

static bool access_is_due(const struct agent_situation *now)
{
    return now->is_access_due;
}

static bool access_is_old(const struct agent_situation *now)
{
    return now->has_old_access;
}

static bool host_object_is_old(const struct agent_situation *now)
{
    return now->has_old_host_object;
}

static bool host_object_is_wrong(const struct agent_situation *now)
{
    return now->has_wrong_host_object;
}

static bool target_is_missing(const struct agent_situation *now)
{
    return now->is_host_access && !now->has_target;
}

/* ---- rules ---- */

/* While an action waits for its retry, a rule that is optional is skipped, and any other ends the
 * search: what follows depends on it. */
static const struct {
    const char *name;
    bool (*applies)(const struct agent_situation *now);
    enum agent_action action;
    bool is_optional;
} rules[] = {
    {"not_synced", is_unknown, AGENT_NONE, false},
    {"belongs_to_another_cluster", is_foreign, AGENT_NONE, false},
    {"leave_requested", leave_is_requested, AGENT_DELETE_ENVIRONMENT, false},
    {"left_remove_lease", is_gone_with_lease, AGENT_REMOVE_LEASE, true},
    {"leave_done", leave_is_done, AGENT_FINISH, false},
    {"left", stays_away, AGENT_NONE, false},
    {"left_before", was_left, AGENT_NONE, false},
    {"candidate", is_candidate, AGENT_ELECT, false},
    {"register_again", rejoins, AGENT_FORGET_LEFT, false},
    {"leave_target_secret", leaves_target, AGENT_DELETE_TARGET, false},
    {"leave_access_secret", leaves_access, AGENT_DELETE_ACCESS, false},
    {"leave_host_object", leaves_host_object, AGENT_DELETE_HOST_OBJECT, false},
    {"leave_remember", leaves_unremembered, AGENT_REMEMBER_LEFT, false},
    {"leave_finalizer", leaves_finalizer, AGENT_REMOVE_FINALIZER, false},
    {"leave_wait", is_leaving, AGENT_NONE, false},
    {"forget_left", has_marker, AGENT_FORGET_LEFT, false},
    {"renew_own_token", own_token_is_due, AGENT_RENEW_OWN_TOKEN, true},
    {"register", is_unregistered, AGENT_CREATE_ENVIRONMENT, false},
    {"update_environment", is_outdated, AGENT_UPDATE_ENVIRONMENT, true},
    {"report", is_unreported, AGENT_REPORT, true},
    {"withdraw_target", target_is_unwanted, AGENT_DELETE_TARGET, false},
    {"not_accepted", is_unaccepted, AGENT_NONE, false},
    {"renew_target", target_is_due, AGENT_WRITE_TARGET, true},
    {"renew_access", access_is_due, AGENT_WRITE_ACCESS, true},
    {"remove_access", access_is_old, AGENT_DELETE_ACCESS, true},
    {"remove_host_object", host_object_is_old, AGENT_DELETE_HOST_OBJECT, true},
    {"write_host_object", host_object_is_wrong, AGENT_WRITE_HOST_OBJECT, false},
    {"publish_target", target_is_missing, AGENT_WRITE_TARGET, false},
};

struct agent_decision agent_decide(const struct agent_situation *now)
{
    for (size_t i = 0; i < array_length(rules); i++) {
        bool is_waiting = (now->waiting >> rules[i].action & 1U) != 0;

        if (!rules[i].applies(now) || (is_waiting && rules[i].is_optional))
            continue;
        return (struct agent_decision){is_waiting ? AGENT_NONE : rules[i].action, rules[i].name};
    }
    return (struct agent_decision){AGENT_NONE, "registered"};
}

const char *agent_action_name(enum agent_action action)
{
    static const char *const names[AGENT_ACTION_COUNT] = {
        [AGENT_NONE] = "none",
        [AGENT_ELECT] = "elect",
        [AGENT_DELETE_ENVIRONMENT] = "delete-environment",
        [AGENT_CREATE_ENVIRONMENT] = "create-environment",
        [AGENT_UPDATE_ENVIRONMENT] = "update-environment",
        [AGENT_REPORT] = "report",
        [AGENT_REMOVE_FINALIZER] = "remove-finalizer",
        [AGENT_RENEW_OWN_TOKEN] = "renew-own-token",
        [AGENT_WRITE_TARGET] = "write-target",
        [AGENT_DELETE_TARGET] = "delete-target",
        [AGENT_WRITE_ACCESS] = "write-access",
        [AGENT_DELETE_ACCESS] = "delete-access",
        [AGENT_WRITE_HOST_OBJECT] = "write-host-object",
        [AGENT_DELETE_HOST_OBJECT] = "delete-host-object",
        [AGENT_REMEMBER_LEFT] = "remember-left",
        [AGENT_FORGET_LEFT] = "forget-left",
        [AGENT_REMOVE_LEASE] = "remove-lease",
        [AGENT_FINISH] = "finish",
    };

    return names[action];
}
