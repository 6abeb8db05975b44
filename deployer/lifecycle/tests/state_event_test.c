/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/state_event.h"

static json_t *status(const char *state)
{
    return state ? json_pack("{s:s, s:{s:s}}", "state", state, "lastOperation", "operation", "text")
                 : NULL;
}

static void some_changes_become_events(void **state)
{
    static const struct {
        const char *kind, *before, *after, *type; /* type NULL: no Event */
    } cases[] = {
        {"Kyma", NULL, "Processing", NULL},
        {"Kyma", NULL, "Error", "Warning"},
        {"Kyma", "Processing", "Ready", "Normal"},
        {"Kyma", "Ready", "Ready", NULL},
        {"Kyma", "Ready", "Processing", NULL},
        {"Kyma", "Ready", "Error", "Warning"},
        {"Kyma", "Error", "Error", NULL},
        {"Kyma", "Error", "Warning", "Warning"},
        {"Kyma", "Error", "Ready", "Normal"},
        {"Kyma", "Ready", "Deleting", "Normal"},
        {"Manifest", NULL, "Processing", NULL},
        {"Manifest", "Processing", "Ready", NULL},
        {"Manifest", "Processing", "Error", "Warning"},
        {"Manifest", "Ready", "Warning", "Warning"},
        {"Manifest", "Error", "Ready", "Normal"},
        {"Manifest", "Error", "Processing", NULL},
        {"Manifest", "Ready", "Deleting", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *before = status(cases[i].before), *after = status(cases[i].after);
        cleanup_json json_t *event = state_event(cases[i].kind, before, after);

        if (!cases[i].type != !event)
            fail_msg("%s: %s -> %s", cases[i].kind, cases[i].before, cases[i].after);
        if (!event)
            continue;
        assert_string_equal(doc_text(event, "type"), cases[i].type);
        assert_string_equal(doc_text(event, "reason"), cases[i].after);
        assert_string_equal(doc_text(event, "message"), "text");
    }
}

static void the_event_names_the_module_that_is_the_reason(void **state)
{
    cleanup_json json_t *bad = json_pack(
        "{s:s, s:[{s:s, s:s}, {s:s, s:s, s:s}], s:{s:s}}", "state", "Error", "modules", "name",
        "fine", "state", "Ready", "name", "broken", "state", "Error", "message", "no such image",
        "lastOperation", "operation", "waiting for all modules to become ready");
    cleanup_json json_t *event = state_event("Kyma", NULL, bad);

    (void)state;
    assert_string_equal(doc_text(event, "message"), "module broken: no such image");
}

static void events_are_limited(void **state)
{
    uint64_t next = 0;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_true(event_is_allowed(&next, 1000, 100, 3));
    assert_false(event_is_allowed(&next, 1000, 100, 3));
    assert_false(event_is_allowed(&next, 1099, 100, 3));
    assert_true(event_is_allowed(&next, 1100, 100, 3));
    assert_false(event_is_allowed(&next, 1100, 100, 3));
    /* After a pause the whole burst is allowed again. */
    for (size_t i = 0; i < 3; i++)
        assert_true(event_is_allowed(&next, 90000, 100, 3));
    assert_false(event_is_allowed(&next, 90000, 100, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_changes_become_events),
        cmocka_unit_test(the_event_names_the_module_that_is_the_reason),
        cmocka_unit_test(events_are_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
