/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/decide.h"

#include <stdint.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/base/cleanup.h"

#define WANTED .is_wanted = true, .is_accepted = true, .is_prepared = true
#define ACCESS                                                                                     \
    .has_account = true, .has_binding = true, .has_target = true, .is_binding_current = true,      \
    .is_target_current = true
#define INSTALLED WANTED, ACCESS, .has_installation = true, .is_installation_current = true

static const struct {
    const char *name;
    struct pair_situation now;
    enum pair_action action;
    const char *reason;
} cases[] = {
    {"a new pair begins with the account", {WANTED}, PAIR_CREATE_ACCOUNT, "Creating"},
    {"then the binding", {WANTED, .has_account = true}, PAIR_CREATE_BINDING, "Creating"},
    {"then the token",
     {WANTED, .has_account = true, .has_binding = true, .is_binding_current = true},
     PAIR_WRITE_TARGET,
     "Creating"},
    {"and the Installation last", {WANTED, ACCESS}, PAIR_CREATE_INSTALLATION, "Creating"},
    {"nothing changed", {INSTALLED}, PAIR_NONE, ""},
    {"the agent requests the tokens",
     {WANTED, .has_account = true, .has_binding = true, .is_binding_current = true,
      .is_access_by_agent = true},
     PAIR_CREATE_INSTALLATION,
     "Creating"},
    {"the agent requests the tokens from now on: first the import goes",
     {WANTED, ACCESS, .has_installation = true, .is_access_by_agent = true},
     PAIR_PATCH_INSTALLATION,
     "Updating"},
    {"the agent requests the tokens from now on: then the Target",
     {INSTALLED, .is_access_by_agent = true},
     PAIR_DELETE_TARGET,
     "Updating"},
    {"another spec",
     {WANTED, ACCESS, .has_installation = true},
     PAIR_PATCH_INSTALLATION,
     "Updating"},
    {"a changed binding is repaired",
     {WANTED, .has_account = true, .has_binding = true, .has_installation = true},
     PAIR_UPDATE_BINDING,
     "Creating"},
    {"a token that is due", {INSTALLED, .is_token_due = true}, PAIR_WRITE_TARGET, "Creating"},
    {"a provider became ready", {INSTALLED, .is_retry_due = true}, PAIR_RETRY, "Retrying"},
    {"not accepted", {.is_wanted = true}, PAIR_NONE, "WaitingForAcceptance"},
    {"not accepted any more: nothing is removed",
     {.is_wanted = true, ACCESS, .has_installation = true},
     PAIR_NONE,
     "WaitingForAcceptance"},
    {"not valid", {.is_wanted = true, .is_accepted = true}, PAIR_NONE, "NotPrepared"},
    {"the cluster is gone: marked first, also if others need it",
     {ACCESS, .has_installation = true, .is_without_uninstall = true, .removal = REMOVAL_NEEDED},
     PAIR_MARK_INSTALLATION,
     "Removing"},
    {"the cluster is gone: then deleted",
     {ACCESS, .has_installation = true, .is_without_uninstall = true, .is_marked = true,
      .removal = REMOVAL_CYCLE},
     PAIR_DELETE_INSTALLATION,
     "Removing"},
    {"the cluster is gone while it is uninstalled",
     {ACCESS, .has_installation = true, .is_deleting = true, .is_without_uninstall = true},
     PAIR_MARK_INSTALLATION,
     "Uninstalling"},
    {"items of a cluster that is gone have to be deleted or forced",
     {ACCESS, .has_installation = true, .is_without_uninstall = true, .items = 1},
     PAIR_NONE,
     "ServesItems"},
    {"the name is taken", {WANTED, .is_name_taken = true}, PAIR_NONE, "NameConflict"},
    {"waits for a deployer",
     {WANTED, .dependencies = GRAPH_WAITING},
     PAIR_NONE,
     "WaitingForDeployer"},
    {"an installed pair whose items wait",
     {INSTALLED, .dependencies = GRAPH_WAITING},
     PAIR_NONE,
     "WaitingForDeployer"},
    {"an installed pair does not wait while its provider is updated",
     {INSTALLED, .dependencies = GRAPH_WAITING, .is_ready = true},
     PAIR_NONE,
     ""},
    {"an installed pair is updated although it waits",
     {WANTED, ACCESS, .has_installation = true, .dependencies = GRAPH_WAITING},
     PAIR_PATCH_INSTALLATION,
     "Updating"},
    {"blocked before it exists",
     {WANTED, .dependencies = GRAPH_DEPENDENCY_CYCLE},
     PAIR_NONE,
     "DependencyCycle"},
    {"blocked while a job runs",
     {INSTALLED, .dependencies = GRAPH_DEPLOYER_MISSING, .is_job_running = true},
     PAIR_INTERRUPT,
     "DeployerMissing"},
    {"interrupted once",
     {INSTALLED, .dependencies = GRAPH_DEPLOYER_MISSING, .is_job_running = true,
      .is_interrupted = true},
     PAIR_NONE,
     "DeployerMissing"},
    {"blocked: not triggered",
     {WANTED, ACCESS, .has_installation = true, .dependencies = GRAPH_SELECTOR_MISMATCH},
     PAIR_NONE,
     "SelectorMismatch"},
    {"removed", {ACCESS, .has_installation = true}, PAIR_DELETE_INSTALLATION, "Removing"},
    {"serves items", {ACCESS, .has_installation = true, .items = 3}, PAIR_NONE, "ServesItems"},
    {"serves items, but forced",
     {ACCESS, .has_installation = true, .items = 3, .is_forced = true},
     PAIR_DELETE_INSTALLATION,
     "Removing"},
    {"needed by another deployer, also if forced",
     {ACCESS, .has_installation = true, .is_forced = true, .removal = REMOVAL_NEEDED},
     PAIR_NONE,
     "NeededByDeployer"},
    {"a deletion cycle",
     {ACCESS, .has_installation = true, .removal = REMOVAL_CYCLE},
     PAIR_NONE,
     "DeletionCycle"},
    {"permissions stay while it is uninstalled",
     {ACCESS, .has_installation = true, .is_deleting = true},
     PAIR_NONE,
     "Uninstalling"},
    {"the same if it was deleted by hand",
     {INSTALLED, .is_deleting = true},
     PAIR_NONE,
     "Uninstalling"},
    {"uninstalled: the binding goes first",
     {ACCESS, .has_installation = true, .is_deleting = true, .is_uninstalled = true},
     PAIR_DELETE_BINDING,
     "Removing"},
    {"then the Target",
     {.has_account = true,
      .has_target = true,
      .has_installation = true,
      .is_deleting = true,
      .is_uninstalled = true},
     PAIR_DELETE_TARGET,
     "Removing"},
    {"then the account",
     {.has_account = true, .has_installation = true, .is_deleting = true, .is_uninstalled = true},
     PAIR_DELETE_ACCOUNT,
     "Removing"},
    {"the finalizer last",
     {.has_installation = true, .is_deleting = true, .is_uninstalled = true},
     PAIR_REMOVE_FINALIZER,
     "Removing"},
    {"what a crash left of a pair that was never created",
     {.has_account = true, .has_binding = true},
     PAIR_DELETE_BINDING,
     "Removing"},
    {"nothing is left", {0}, PAIR_NONE, "Removing"},
};

static void the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct pair_decision decision = pair_decide(&cases[i].now);

        if (decision.action != cases[i].action || strcmp(decision.reason, cases[i].reason) != 0)
            fail_msg("%s: %d %s", cases[i].name, decision.action, decision.reason);
    }
}

static struct pair_situation situation_of(unsigned bits)
{
    return (struct pair_situation){
        .is_wanted = bits & 1U,
        .is_prepared = bits & 2U,
        .is_name_taken = bits & 4U,
        .has_installation = bits & 8U,
        .is_deleting = (bits & 16U) && (bits & 8U),
        .is_uninstalled = (bits & 32U) && (bits & 16U) && (bits & 8U),
        .is_installation_current = bits & 64U,
        .has_account = bits & 128U,
        .has_binding = bits & 256U,
        .has_target = bits & 512U,
        .is_binding_current = bits & 1024U,
        .is_target_current = bits & 2048U,
        .is_token_due = bits & 4096U,
        .is_job_running = bits & 8192U,
        .is_retry_due = bits & 16384U,
        .items = bits >> 15 & 1U,
        .is_forced = bits >> 16 & 1U,
        .dependencies = (enum graph_state)(bits >> 17 & 3U),
        .removal = (enum removal_state)(bits >> 19 & 1U),
    };
}

/* The rules that docs/environments.md promises, over all situations. */
static void no_situation_breaks_the_rules(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 1U << 20; bits++) {
        struct pair_situation now = situation_of(bits);
        enum pair_action action = pair_decide(&now).action;
        bool is_access_removal = action == PAIR_DELETE_BINDING || action == PAIR_DELETE_TARGET ||
                                 action == PAIR_DELETE_ACCOUNT;

        /* Permissions exist until the deployer is uninstalled. */
        if (is_access_removal)
            assert_true(!now.has_installation || now.is_uninstalled);
        if (action == PAIR_DELETE_INSTALLATION)
            assert_true(!now.is_wanted && now.removal == REMOVAL_ALLOWED &&
                        (now.items == 0 || now.is_forced));
        if (action == PAIR_REMOVE_FINALIZER)
            assert_true(now.is_uninstalled && !now.has_binding && !now.has_account &&
                        !now.has_target);
        if (action == PAIR_CREATE_INSTALLATION || action == PAIR_PATCH_INSTALLATION)
            assert_true(now.is_wanted && now.is_prepared && !now.is_name_taken &&
                        !graph_is_blocked(now.dependencies) && now.has_account && now.has_binding &&
                        now.has_target && now.is_target_current);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),
        cmocka_unit_test(no_situation_breaks_the_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
