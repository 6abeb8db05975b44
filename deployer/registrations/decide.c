/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/decide.h"

/* Permissions go after the deployer: it needs them to uninstall what it has deployed. The account
 * is last, because it names the others after a crash. false: nothing is left. */
static bool remove_access(const struct pair_situation *now, struct pair_decision *ret_decision)
{
    ret_decision->reason = "Removing";
    if (now->has_binding)
        ret_decision->action = PAIR_DELETE_BINDING;
    else if (now->has_target)
        ret_decision->action = PAIR_DELETE_TARGET;
    else if (now->has_account)
        ret_decision->action = PAIR_DELETE_ACCOUNT;
    else
        return false;
    return true;
}

static struct pair_decision decide_removal(const struct pair_situation *now)
{
    struct pair_decision decision = {.reason = "Removing"};

    if (!now->has_installation) {
        (void)remove_access(now, &decision);
        return decision;
    }
    if (now->items > 0 && !now->is_forced)
        return (struct pair_decision){PAIR_NONE, "ServesItems"};
    /* Without uninstalling, no deployer needs another one. */
    if (now->removal == REMOVAL_NEEDED && !now->is_without_uninstall)
        return (struct pair_decision){PAIR_NONE, "NeededByDeployer"};
    if (now->removal == REMOVAL_CYCLE && !now->is_without_uninstall)
        return (struct pair_decision){PAIR_NONE, "DeletionCycle"};
    decision.action = now->is_without_uninstall && !now->is_marked ? PAIR_MARK_INSTALLATION
                                                                   : PAIR_DELETE_INSTALLATION;
    return decision;
}

/* The Installation is last: Landscaper starts when it exists, and then everything it imports has to
 * be there. */
static struct pair_decision decide_creation(const struct pair_situation *now)
{
    if (!now->has_account)
        return (struct pair_decision){PAIR_CREATE_ACCOUNT, "Creating"};
    if (!now->has_binding)
        return (struct pair_decision){PAIR_CREATE_BINDING, "Creating"};
    if (!now->is_binding_current)
        return (struct pair_decision){PAIR_UPDATE_BINDING, "Creating"};
    if (!now->is_access_by_agent &&
        (!now->has_target || !now->is_target_current || now->is_token_due))
        return (struct pair_decision){PAIR_WRITE_TARGET, "Creating"};
    if (!now->has_installation)
        return (struct pair_decision){PAIR_CREATE_INSTALLATION, "Creating"};
    if (!now->is_installation_current)
        return (struct pair_decision){PAIR_PATCH_INSTALLATION, "Updating"};
    /* The Installation does not import it any more. */
    if (now->is_access_by_agent && now->has_target)
        return (struct pair_decision){PAIR_DELETE_TARGET, "Updating"};
    if (now->is_retry_due)
        return (struct pair_decision){PAIR_RETRY, "Retrying"};
    /* Its items are there and wait for a deployer, or have waited for it in vain. */
    if (now->dependencies == GRAPH_WAITING && !now->is_ready)
        return (struct pair_decision){PAIR_NONE, graph_reason(now->dependencies)};
    return (struct pair_decision){PAIR_NONE, ""};
}

struct pair_decision pair_decide(const struct pair_situation *now)
{
    struct pair_decision decision = {.reason = "Uninstalling"};

    /* Whoever deleted the Installation: clean up. If the pair is wanted, it is created again. */
    if (now->is_deleting) {
        if (now->is_without_uninstall && !now->is_marked && !now->is_uninstalled)
            decision.action = PAIR_MARK_INSTALLATION;
        else if (now->is_uninstalled && !remove_access(now, &decision))
            decision.action = PAIR_REMOVE_FINALIZER;
        return decision;
    }
    if (!now->is_wanted)
        return decide_removal(now);
    if (!now->is_accepted)
        return (struct pair_decision){PAIR_NONE, "WaitingForAcceptance"};
    if (!now->is_prepared)
        return (struct pair_decision){PAIR_NONE, "NotPrepared"};
    if (now->is_name_taken)
        return (struct pair_decision){PAIR_NONE, "NameConflict"};
    if (graph_is_blocked(now->dependencies))
        return (struct pair_decision){
            now->has_installation && now->is_job_running && !now->is_interrupted ? PAIR_INTERRUPT
                                                                                 : PAIR_NONE,
            graph_reason(now->dependencies)};
    if (now->dependencies == GRAPH_WAITING && !now->has_installation)
        return (struct pair_decision){PAIR_NONE, graph_reason(now->dependencies)};
    return decide_creation(now);
}
