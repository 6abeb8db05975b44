/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/cleanup.h"

/* A registered agent that has nothing to do. */
static const struct agent_situation registered = {.is_synced = true,
                                                  .is_leader = true,
                                                  .has_environment = true,
                                                  .has_finalizer = true,
                                                  .has_management_finalizer = true,
                                                  .is_current = true,
                                                  .is_reported = true,
                                                  .is_accepted = true,
                                                  .is_host_access = true,
                                                  .has_target = true,
                                                  .has_host_object = true};
/* An agent that has never registered. */
static const struct agent_situation new = {
    .is_synced = true, .is_leader = true, .is_host_access = true, .is_own_token_due = true};
/* The Environment is deleted, and all deployers are uninstalled. */
static const struct agent_situation leaving = {.is_synced = true,
                                               .is_leader = true,
                                               .has_environment = true,
                                               .is_deleting = true,
                                               .has_finalizer = true,
                                               .is_host_access = true};
/* It has left, and everything is removed. */
static const struct agent_situation left = {
    .is_synced = true, .has_left = true, .is_host_access = true};
static const struct agent_situation unknown;

/* The place of a member, from 1. */
#define AT(member_) (offsetof(struct agent_situation, member_) + 1)

/* A situation, and members that are different there. */
static const struct {
    const char *rule;
    enum agent_action action;
    const struct agent_situation *base;
    size_t different[4];
    uint32_t waiting;
} cases[] = {
    {"not_synced", AGENT_NONE, &unknown, {0}, 0},
    {"registered", AGENT_NONE, &registered, {0}, 0},
    /* registering */
    {"renew_own_token", AGENT_RENEW_OWN_TOKEN, &new, {0}, 0},
    {"register", AGENT_CREATE_ENVIRONMENT, &new, {0}, 1U << AGENT_RENEW_OWN_TOKEN},
    {"register",
     AGENT_NONE,
     &new,
     {0},
     1U << AGENT_RENEW_OWN_TOKEN | 1U << AGENT_CREATE_ENVIRONMENT},
    {"update_environment", AGENT_UPDATE_ENVIRONMENT, &registered, {AT(is_current)}, 0},
    {"report", AGENT_REPORT, &registered, {AT(is_reported)}, 0},
    {"write_host_object", AGENT_WRITE_HOST_OBJECT, &registered, {AT(has_wrong_host_object)}, 0},
    {"publish_target", AGENT_WRITE_TARGET, &registered, {AT(has_target)}, 0},
    {"write_host_object",
     AGENT_WRITE_HOST_OBJECT,
     &registered,
     {AT(has_target), AT(has_wrong_host_object)},
     0},
    {"remove_host_object", AGENT_DELETE_HOST_OBJECT, &registered, {AT(has_old_host_object)}, 0},
    /* only one agent acts */
    {"candidate", AGENT_ELECT, &registered, {AT(is_leader), AT(is_target_due)}, 0},
    {"candidate", AGENT_ELECT, &new, {AT(is_leader)}, 0},
    {"belongs_to_another_cluster", AGENT_NONE, &registered, {AT(is_foreign), AT(is_current)}, 0},
    {"belongs_to_another_cluster", AGENT_NONE, &registered, {AT(is_foreign), AT(is_leader)}, 0},
    {"belongs_to_another_cluster", AGENT_NONE, &registered, {AT(is_foreign), AT(wants_leave)}, 0},
    /* acceptance */
    {"withdraw_target", AGENT_DELETE_TARGET, &registered, {AT(is_accepted)}, 0},
    {"not_accepted",
     AGENT_NONE,
     &registered,
     {AT(is_accepted), AT(has_target), AT(is_access_due)},
     0},
    /* access */
    {"withdraw_target", AGENT_DELETE_TARGET, &registered, {AT(is_host_access)}, 0},
    {"registered", AGENT_NONE, &registered, {AT(is_host_access), AT(has_target)}, 0},
    {"renew_access", AGENT_WRITE_ACCESS, &registered, {AT(is_access_due)}, 0},
    {"remove_access", AGENT_DELETE_ACCESS, &registered, {AT(has_old_access)}, 0},
    /* renewing: no failure of something else delays it */
    {"renew_target",
     AGENT_WRITE_TARGET,
     &registered,
     {AT(is_target_due), AT(has_wrong_host_object)},
     0},
    {"renew_target",
     AGENT_WRITE_TARGET,
     &registered,
     {AT(is_target_due), AT(is_own_token_due)},
     1U << AGENT_RENEW_OWN_TOKEN},
    {"renew_own_token",
     AGENT_RENEW_OWN_TOKEN,
     &registered,
     {AT(is_target_due), AT(is_own_token_due)},
     0},
    {"renew_target",
     AGENT_WRITE_TARGET,
     &registered,
     {AT(is_target_due), AT(is_reported)},
     1U << AGENT_REPORT},
    /* deployers are being uninstalled: they still need access, but the Environment is not touched
     */
    {"registered", AGENT_NONE, &registered, {AT(is_deleting), AT(is_current), AT(is_reported)}, 0},
    {"renew_target", AGENT_WRITE_TARGET, &registered, {AT(is_deleting), AT(is_target_due)}, 0},
    /* leaving */
    {"leave_requested", AGENT_DELETE_ENVIRONMENT, &registered, {AT(wants_leave), AT(is_leader)}, 0},
    {"candidate", AGENT_ELECT, &registered, {AT(wants_leave), AT(is_deleting), AT(is_leader)}, 0},
    {"leave_target_secret",
     AGENT_DELETE_TARGET,
     &leaving,
     {AT(has_target), AT(has_access), AT(has_host_object)},
     0},
    {"leave_access_secret",
     AGENT_DELETE_ACCESS,
     &leaving,
     {AT(has_access), AT(has_host_object)},
     0},
    {"leave_host_object", AGENT_DELETE_HOST_OBJECT, &leaving, {AT(has_host_object)}, 0},
    {"leave_remember", AGENT_REMEMBER_LEFT, &leaving, {0}, 0},
    {"leave_finalizer", AGENT_REMOVE_FINALIZER, &leaving, {AT(has_left)}, 0},
    {"leave_wait", AGENT_NONE, &leaving, {AT(has_left), AT(has_finalizer)}, 0},
    {"leave_remember", AGENT_REMEMBER_LEFT, &new, {AT(wants_leave)}, 0},
    {"leave_host_object",
     AGENT_DELETE_HOST_OBJECT,
     &new,
     {AT(wants_leave), AT(has_host_object)},
     0},
    /* a restart while leaving creates nothing */
    {"leave_remember",
     AGENT_REMEMBER_LEFT,
     &leaving,
     {AT(has_wrong_host_object), AT(is_own_token_due)},
     0},
    /* left */
    {"left_remove_lease", AGENT_REMOVE_LEASE, &left, {AT(is_leader)}, 0},
    {"left_remove_lease", AGENT_REMOVE_LEASE, &left, {AT(has_wrong_host_object)}, 0},
    {"left", AGENT_NONE, &left, {AT(is_lease_gone), AT(is_own_token_due)}, 0},
    {"leave_done", AGENT_FINISH, &left, {AT(is_lease_gone), AT(wants_leave)}, 0},
    {"left_before", AGENT_NONE, &left, {AT(has_environment), AT(is_lease_gone)}, 0},
    {"left_before",
     AGENT_NONE,
     &left,
     {AT(has_environment), AT(is_deleting), AT(has_management_finalizer)},
     0},
    {"candidate", AGENT_ELECT, &left, {AT(is_lease_gone), AT(wants_register)}, 0},
    {"register_again", AGENT_FORGET_LEFT, &left, {AT(is_leader), AT(wants_register)}, 0},
    {"forget_left",
     AGENT_FORGET_LEFT,
     &left,
     {AT(is_leader), AT(wants_register), AT(has_environment)},
     0},
};

static struct agent_situation situation_of(size_t number)
{
    struct agent_situation now = *cases[number].base;

    for (size_t i = 0; i < array_length(cases[number].different); i++) {
        size_t at = cases[number].different[i];
        bool *member = (bool *)((char *)&now + at - 1);

        if (at)
            *member = !*member;
    }
    now.waiting = cases[number].waiting;
    return now;
}

static void every_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        const struct agent_situation now = situation_of(i);
        struct agent_decision decision = agent_decide(&now);

        if (decision.action != cases[i].action)
            print_message("case %zu: %s\n", i, agent_action_name(decision.action));
        assert_string_equal(decision.rule, cases[i].rule);
        assert_int_equal(decision.action, cases[i].action);
    }
}

/* Every request but the one of --leave is sent by the holder of the Lease only. */
static void nothing_is_written_without_the_lease(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct agent_situation now = situation_of(i);
        enum agent_action action = AGENT_NONE;

        now.is_leader = false;
        action = agent_decide(&now).action;
        assert_true(action == AGENT_NONE || action == AGENT_ELECT || action == AGENT_FINISH ||
                    action == AGENT_REMOVE_LEASE || action == AGENT_DELETE_ENVIRONMENT);
    }
}

/* Any combination: while it leaves, and after that, nothing is created. */
static void leaving_creates_nothing(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 1U << 10; bits++) {
        struct agent_situation now = leaving;
        enum agent_action action = AGENT_NONE;

        now.has_left = bits & 1;
        now.has_target = bits & 2;
        now.is_target_due = bits & 4;
        now.has_access = bits & 8;
        now.is_access_due = bits & 16;
        now.has_host_object = bits & 32;
        now.has_wrong_host_object = bits & 64;
        now.is_own_token_due = bits & 128;
        now.is_current = bits & 256;
        now.is_accepted = bits & 512;
        action = agent_decide(&now).action;
        assert_true(action == AGENT_DELETE_TARGET || action == AGENT_DELETE_ACCESS ||
                    action == AGENT_DELETE_HOST_OBJECT || action == AGENT_REMEMBER_LEFT ||
                    action == AGENT_REMOVE_FINALIZER);
        /* The finalizer is last. */
        assert_true(action != AGENT_REMOVE_FINALIZER ||
                    (now.has_left && !now.has_target && !now.has_access && !now.has_host_object));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case),
        cmocka_unit_test(nothing_is_written_without_the_lease),
        cmocka_unit_test(leaving_creates_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
