/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/pod/redact.h"

static json_t *parse(const char *text)
{
    json_t *doc = NULL;
    struct error err = {0};

    assert_int_equal(doc_parse_json(text, strlen(text), SIZE_MAX, &doc, &err), 0);
    return doc;
}

static void add(struct redaction *redaction, const char *bytes, size_t size)
{
    cleanup_free char *encoded = base64_encode(bytes, size);
    cleanup_json json_t *secret = json_pack("{s:{s:s}}", "data", "key", encoded);

    redaction_add_secret(redaction, secret);
    redaction->is_known = redaction->is_state_known = true;
}

#define TOKEN_KUBECONFIG                                                                           \
    "{\"target\":{\"spec\":{\"type\":\"cluster-type\"}},\"content\":\"{\\\"kubeconfig\\\":"        \
    "\\\"users:\\\\n- user:\\\\n    token: canary\\\\n\\\"}\"}"
#define SCRIPT                                                                                     \
    "#!/bin/sh\nset -eux\nif [ -z \"$A\" ]; then\n\techo 'a: b: c'\nfi\nKEY=canary\n"              \
    "export OTHER=\"canary of blanks\"\ncurl -u admin:canary https://example.com/\n"               \
    "curl https://me:canary@example.com/\nlogin -p canary 4711\nlogin c4n4ry-4711\nreturn\n"

/* An input, output of main that contains it, and the expected redacted text, never with "canary".
 */
static const struct {
    const char *input, *output, *redacted;
} cases[] = {
    {TOKEN_KUBECONFIG, "got canary", "got ***"},
    {"{\"importValues\":{\"a\":[{\"b\":\"canary\"}]}}", "{\"b\":\"canary\"}", "{\"b\":\"***\"}"},
    /* JSON escapes change the value. */
    {"{\"a\":\"canary\\\"\\\\x\"}", "{\"a\":\"canary\\\"\\\\x\"}", "{\"a\":\"***\"}"},
    {"{\"a\":\"canary\\\"\\\\x\"}", "canary\"\\x!", "***!"},
    /* Numbers of six digits or more. */
    {"{\"pin\":4711081547110815}", "pin 4711081547110815 refused", "pin *** refused"},
    {"{\"pin\":-471108.5}", "pin 471108.5 refused", "pin *** refused"},
    {"{\"pin\":471108}", "pin 471108 refused", "pin *** refused"},
    {"{\"port\":65535}", "port 65535 refused", "port 65535 refused"},
    {"pin: 0471108154\n", "pin 0471108154 refused", "pin *** refused"},
    /* base64 in a document: an auth of user:canary, a key. */
    {"{\"auths\":{\"x\":{\"auth\":\"dXNlcjpjYW5hcnk=\"}}}", "as canary", "as ***"},
    {"{\"auths\":{\"x\":{\"auth\":\"dXNlcjpjYW5hcnk=\"}}}", "dXNlcjpjYW5hcnk=", "***"},
    {"{\"a\":\"the canary\"}", "data: {a: dGhlIGNhbmFyeQ==}", "data: {a: ***eQ==}"},
    {"{\"a\":\"the canary\"}", "data: {a: dGhlIGNhbmFyeQo=}", "data: {a: ***eQo=}"},
    /* Programs: whole lines, and values that are assigned or passed as options. */
    {SCRIPT, "+ curl -u admin:canary https://example.com/", "+ ***"},
    {SCRIPT, "user is canary", "user is ***"},
    {SCRIPT, "canary of blanks!", "***!"},
    {SCRIPT, "c4n4ry-4711: refused", "***: refused"},
    {"login c4n4ry-4711", "as c4n4ry-4711", "as ***"},
    {"---\na: canary\n---\nb: 2\n", "a is canary", "a is ***"},
    {"# canary 4711", "# canary 4711", "***"},
    {"canary", "canary", "***"},
    /* Other output of a program stays readable. */
    {SCRIPT, "a: b: c", "a: b: c"},
    {SCRIPT, "login returned: no such host example.com\n",
     "login returned: no such host example.com\n"},
    {"echo base64 sha256 python3\nexit 1\n", "python3: base64 and sha256 differ: exit code 1\n",
     "python3: base64 and sha256 differ: exit code 1\n"},
};

static void inputs_of_the_run_are_redacted_and_other_text_is_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct redaction redaction = {0};
        cleanup_free char *redacted = NULL;

        add(&redaction, cases[i].input, strlen(cases[i].input));
        redacted = redaction_apply(&redaction, cases[i].output);
        assert_string_equal(redacted, cases[i].redacted);
        assert_false(redaction.is_incomplete);
        assert_true(!redaction.items || !redaction.items[redaction.count]);
        redaction_done(&redaction);
        assert_null(redaction.items);
    }
}

static void a_value_after_a_nul_is_redacted(void **state)
{
    static const char bytes[] = "binary\0canary-behind\0";
    struct redaction redaction = {0};
    cleanup_free char *redacted = NULL;

    (void)state;
    add(&redaction, bytes, sizeof(bytes) - 1);
    redacted = redaction_apply(&redaction, "it is canary-behind.");
    assert_string_equal(redacted, "it is ***.");
    redaction_done(&redaction);
}

static char *many(size_t count, const char *last)
{
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};

    buffer_init(&text, (size_t)64 << 20);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(buffer_append_text(&text, &err, "%s\"value %06zu\"", i ? "," : "[", i), 0);
    assert_int_equal(buffer_append_text(&text, &err, ",\"%s\"]", last), 0);
    return buffer_take(&text);
}

static void all_values_up_to_the_limit_are_redacted_and_above_it_the_text_is_dropped(void **state)
{
    static const struct {
        size_t count;
        const char *redacted;
        bool is_redacted;
    } sizes[] = {{40 * 1000, "it is ***.", true}, {REDACT_VALUES_MAX, "(not shown: ", false}};

    (void)state;
    for (size_t i = 0; i < array_length(sizes); i++) {
        cleanup_free char *text = many(sizes[i].count, "the canary");
        struct redaction redaction = {0};
        cleanup_free char *redacted = NULL;

        /* Larger than any Secret can be, but only the number of values is limited. */
        for (size_t part = 0; part < 2; part++)
            add(&redaction, text, strlen(text));
        redacted = redaction_apply(&redaction, "it is the canary.");
        assert_int_equal(redaction.is_incomplete, !sizes[i].is_redacted);
        assert_memory_equal(redacted, sizes[i].redacted, strlen(sizes[i].redacted));
        assert_null(strstr(redacted, "canary"));
        redaction_done(&redaction);
    }
}

static void text_is_dropped_if_inputs_cannot_be_read(void **state)
{
    static const char *const secrets[] = {"{\"data\":{\"a\":\"%%%\"}}", "{\"data\":{\"a\":5}}"};
    struct redaction unknown = {0};

    (void)state;
    assert_null(redaction_apply(NULL, "canary"));
    assert_null(redaction_apply(&unknown, "canary"));
    for (size_t i = 0; i < array_length(secrets); i++) {
        cleanup_json json_t *secret = parse(secrets[i]);
        struct redaction redaction = {.is_known = true, .is_state_known = true};
        cleanup_free char *redacted = NULL;

        redaction_add_secret(&redaction, secret);
        redacted = redaction_apply(&redaction, "canary");
        assert_memory_equal(redacted, "(not shown: ", 12);
        redaction_done(&redaction);
    }
}

static const char *message(const json_t *pod, const char *list, size_t index, const char *path)
{
    return doc_text(json_array_get(doc_member(doc_member(pod, "status"), list), index), path);
}

static void output_of_main_is_redacted_or_dropped_if_the_secrets_are_unknown(void **state)
{
    cleanup_json json_t *pod =
        parse("{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{"
              "\"message\":\"my canary-token is wrong\"}}},{\"name\":\"wait\",\"state\":{"
              "\"terminated\":{\"message\":\"main ended\"}}}]}}");
    char value[] = "canary-token";
    char *items[] = {value, NULL};
    struct redaction redaction = {
        .items = items, .count = 1, .is_known = true, .is_state_known = true};
    cleanup_json json_t *masked = redaction_apply_to_pod(pod, &redaction);
    cleanup_json json_t *without_secrets = redaction_apply_to_pod(pod, NULL);
    static const char list[] = "containerStatuses", path[] = "state.terminated.message";

    (void)state;
    assert_string_equal(message(masked, list, 0, path), "my *** is wrong");
    assert_null(message(without_secrets, list, 0, path));
    assert_string_equal(message(pod, list, 0, path), "my canary-token is wrong");
    assert_string_equal(message(without_secrets, list, 1, path), "main ended");
}

/* Only main can read the state, so an unknown state does not affect messages of other containers.
 */
static void an_unknown_state_drops_only_the_output_of_main(void **state)
{
    cleanup_json json_t *pod =
        parse("{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{"
              "\"message\":\"my canary-token\"}},\"lastState\":{\"waiting\":{\"message\":"
              "\"no image canary-token\"}}},{\"name\":\"wait\",\"state\":{"
              "\"terminated\":{\"message\":\"main ended\"}}}]}}");
    static const char list[] = "containerStatuses";

    (void)state;
    for (int is_incomplete = 0; is_incomplete < 2; is_incomplete++) {
        struct redaction redaction = {0};
        cleanup_json json_t *masked = NULL;
        cleanup_free char *log = NULL;

        add(&redaction, "canary-token", 12);
        redaction.is_state_known = is_incomplete;
        redaction.is_state_incomplete = is_incomplete;
        masked = redaction_apply_to_pod(pod, &redaction);
        log = redaction_apply(&redaction, "canary");
        assert_false(redaction_is_complete(&redaction));
        if (is_incomplete) {
            assert_memory_equal(log, "(not shown: ", 12);
            assert_string_equal(message(masked, list, 0, "state.terminated.message"), log);
        } else {
            assert_null(log);
            assert_null(message(masked, list, 0, "state.terminated.message"));
        }
        assert_string_equal(message(masked, list, 0, "lastState.waiting.message"), "no image ***");
        assert_string_equal(message(masked, list, 1, "state.terminated.message"), "main ended");
        redaction_done(&redaction);
    }
}

static const struct {
    const char *main_state;
    bool is_state_known;
    const char *redacted;
} injected_cases[] = {
    {"waiting", false, "no ***"},
    {"running", false, NULL},
    {"running", true, "no ***"},
};

/* A proxy can see what main sends, a log collector what main prints. */
static void output_of_injected_containers_is_redacted_like_that_of_main(void **state)
{
    static const char injected[] = "{\"name\":\"proxy\",\"state\":{\"terminated\":{\"message\":"
                                   "\"no canary-token\"}}}";
    static const char path[] = "state.terminated.message";

    (void)state;
    for (size_t i = 0; i < array_length(injected_cases); i++) {
        cleanup_free char *text =
            xasprintf("{\"status\":{\"initContainerStatuses\":[%s],\"containerStatuses\":[%s,{"
                      "\"name\":\"main\",\"state\":{\"%s\":{}}}]}}",
                      injected, injected, injected_cases[i].main_state);
        cleanup_json json_t *pod = parse(text);
        cleanup_json json_t *without_secrets = redaction_apply_to_pod(pod, NULL);
        cleanup_json json_t *masked = NULL;
        struct redaction redaction = {0};

        add(&redaction, "canary-token", 12);
        redaction.is_state_known = injected_cases[i].is_state_known;
        masked = redaction_apply_to_pod(pod, &redaction);
        for (size_t j = 0; j < 2; j++) {
            const char *list = j == 0 ? "initContainerStatuses" : "containerStatuses";

            assert_null(message(without_secrets, list, 0, path));
            if (injected_cases[i].redacted)
                assert_string_equal(message(masked, list, 0, path), injected_cases[i].redacted);
            else
                assert_null(message(masked, list, 0, path));
        }
        redaction_done(&redaction);
    }
}

static void
state_is_redacted_like_inputs_and_too_much_state_drops_only_the_output_of_main(void **state)
{
    cleanup_free char *text = many(REDACT_VALUES_MAX, "the canary");
    static const char given[] = "{\"resources\":[{\"result\":\"canary-token\"}]}";
    struct redaction redaction = {.is_known = true, .is_state_known = true};
    cleanup_free char *redacted = NULL, *not_shown = NULL;

    (void)state;
    redaction_add_state_text(&redaction, given, strlen(given));
    redacted = redaction_apply(&redaction, "it is canary-token.");
    assert_string_equal(redacted, "it is ***.");
    assert_true(redaction_is_complete(&redaction));
    redaction_add_state_text(&redaction, text, strlen(text));
    assert_true(redaction.is_state_incomplete);
    assert_false(redaction.is_incomplete);
    not_shown = redaction_apply(&redaction, "it is the canary.");
    assert_memory_equal(not_shown, "(not shown: ", 12);
    redaction_done(&redaction);
}

static const struct {
    const char *pod;
    bool has_started;
} starts[] = {
    {"{}", false},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"wait\",\"state\":{\"running\":{}}}]}}",
     false},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":{}}}]}}",
     false},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\":{}}}]}}", true},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{}}}]}}",
     true},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"lastState\":{\"terminated\":{}}}]}}",
     true},
};

static void main_has_started_if_its_status_is_running_or_terminated(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(starts); i++) {
        cleanup_json json_t *pod = parse(starts[i].pod);

        assert_int_equal(redaction_has_main_started(pod), starts[i].has_started);
    }
}

static void messages_of_the_kubelet_are_redacted_except_for_the_image(void **state)
{
    cleanup_json json_t *pod = parse(
        "{\"status\":{\"initContainerStatuses\":[{\"name\":\"init\",\"image\":\"example.com/init\","
        "\"state\":{\"waiting\":{\"message\":\"no canary-token\"}}}],\"containerStatuses\":[{"
        "\"name\":\"main\",\"image\":\"example.com/main:1\",\"state\":{\"waiting\":{\"message\":"
        "\"exec: canary-command: not in example.com/main:1\"}}}]}}");
    cleanup_json json_t *without_messages =
        parse("{\"status\":{\"containerStatuses\":[{\"name\":\"main\","
              "\"state\":{\"waiting\":{\"reason\":\"Creating\"}}}]}}");
    static const char inputs[] =
        "{\"image\":\"example.com/main:1\",\"command\":[\"canary-command\"],"
        "\"env\":[{\"value\":\"canary-token\"}]}";
    struct redaction redaction = {0};
    cleanup_json json_t *masked = NULL;
    cleanup_json json_t *without_secrets = redaction_apply_to_pod(pod, NULL);
    static const char path[] = "state.waiting.message";

    (void)state;
    add(&redaction, inputs, strlen(inputs));
    redaction_exempt_images(&redaction, pod);
    masked = redaction_apply_to_pod(pod, &redaction);
    assert_string_equal(message(masked, "initContainerStatuses", 0, path), "no ***");
    assert_string_equal(message(masked, "containerStatuses", 0, path),
                        "exec: ***: not in example.com/main:1");
    assert_null(message(without_secrets, "containerStatuses", 0, path));
    assert_true(redaction_is_needed(pod));
    assert_false(redaction_is_needed(without_messages));
    redaction_done(&redaction);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_of_the_run_are_redacted_and_other_text_is_kept),
        cmocka_unit_test(a_value_after_a_nul_is_redacted),
        cmocka_unit_test(all_values_up_to_the_limit_are_redacted_and_above_it_the_text_is_dropped),
        cmocka_unit_test(text_is_dropped_if_inputs_cannot_be_read),
        cmocka_unit_test(output_of_main_is_redacted_or_dropped_if_the_secrets_are_unknown),
        cmocka_unit_test(an_unknown_state_drops_only_the_output_of_main),
        cmocka_unit_test(output_of_injected_containers_is_redacted_like_that_of_main),
        cmocka_unit_test(
            state_is_redacted_like_inputs_and_too_much_state_drops_only_the_output_of_main),
        cmocka_unit_test(main_has_started_if_its_status_is_running_or_terminated),
        cmocka_unit_test(messages_of_the_kubelet_are_redacted_except_for_the_image),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
