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
#include "deployer/controller/hide.h"

static json_t *parse(const char *text)
{
    json_t *doc = NULL;
    struct error err = {0};

    assert_int_equal(doc_parse_json(text, strlen(text), SIZE_MAX, &doc, &err), 0);
    return doc;
}

static void add(struct hidden *hidden, const char *bytes, size_t size)
{
    cleanup_free char *encoded = base64_encode(bytes, size);
    cleanup_json json_t *secret = json_pack("{s:{s:s}}", "data", "key", encoded);

    hidden_add_secret(hidden, secret);
    hidden->is_known = hidden->is_state_known = true;
}

#define TOKEN_KUBECONFIG                                                                           \
    "{\"target\":{\"spec\":{\"type\":\"cluster-type\"}},\"content\":\"{\\\"kubeconfig\\\":"        \
    "\\\"users:\\\\n- user:\\\\n    token: canary\\\\n\\\"}\"}"
#define SCRIPT                                                                                     \
    "#!/bin/sh\nset -eux\nif [ -z \"$A\" ]; then\n\techo 'a: b: c'\nfi\nKEY=canary\n"              \
    "export OTHER=\"canary of blanks\"\ncurl -u admin:canary https://example.com/\n"               \
    "curl https://me:canary@example.com/\nlogin -p canary 4711\nlogin c4n4ry-4711\nreturn\n"

/* An input, and what main says of it: the word "canary" must not be in what is told. */
static const struct {
    const char *input, *said, *told;
} cases[] = {
    {TOKEN_KUBECONFIG, "got canary", "got ***"},
    {"{\"importValues\":{\"a\":[{\"b\":\"canary\"}]}}", "{\"b\":\"canary\"}", "{\"b\":\"***\"}"},
    /* In JSON it has other letters. */
    {"{\"a\":\"canary\\\"\\\\x\"}", "{\"a\":\"canary\\\"\\\\x\"}", "{\"a\":\"***\"}"},
    {"{\"a\":\"canary\\\"\\\\x\"}", "canary\"\\x!", "***!"},
    /* Numbers, from six digits on. */
    {"{\"pin\":4711081547110815}", "pin 4711081547110815 refused", "pin *** refused"},
    {"{\"pin\":-471108.5}", "pin 471108.5 refused", "pin *** refused"},
    {"{\"port\":65535}", "port 65535 refused", "port 65535 refused"},
    {"pin: 0471108154\n", "pin 0471108154 refused", "pin *** refused"},
    /* base64 in a document: an auth of user:canary, a key. */
    {"{\"auths\":{\"x\":{\"auth\":\"dXNlcjpjYW5hcnk=\"}}}", "as canary", "as ***"},
    {"{\"auths\":{\"x\":{\"auth\":\"dXNlcjpjYW5hcnk=\"}}}", "dXNlcjpjYW5hcnk=", "***"},
    {"{\"a\":\"the canary\"}", "data: {a: dGhlIGNhbmFyeQ==}", "data: {a: ***eQ==}"},
    {"{\"a\":\"the canary\"}", "data: {a: dGhlIGNhbmFyeQo=}", "data: {a: ***eQo=}"},
    /* Programs: their lines, and what is given to somebody in them. */
    {SCRIPT, "+ curl -u admin:canary https://example.com/", "+ ***"},
    {SCRIPT, "user is canary", "user is ***"},
    {SCRIPT, "canary of blanks!", "***!"},
    {SCRIPT, "c4n4ry-4711: refused", "***: refused"},
    {"login c4n4ry-4711", "as c4n4ry-4711", "as ***"},
    {"---\na: canary\n---\nb: 2\n", "a is canary", "a is ***"},
    {"# canary 4711", "# canary 4711", "***"},
    {"canary", "canary", "***"},
    /* What else a program prints can still be read. */
    {SCRIPT, "a: b: c", "a: b: c"},
    {SCRIPT, "login returned: no such host example.com\n",
     "login returned: no such host example.com\n"},
    {"echo base64 sha256 python3\nexit 1\n", "python3: base64 and sha256 differ: exit code 1\n",
     "python3: base64 and sha256 differ: exit code 1\n"},
};

static void what_the_run_was_given_is_hidden_and_the_rest_is_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct hidden hidden = {0};
        cleanup_free char *told = NULL;

        add(&hidden, cases[i].input, strlen(cases[i].input));
        told = hidden_mask(&hidden, cases[i].said);
        assert_string_equal(told, cases[i].told);
        assert_false(hidden.is_incomplete);
        assert_true(!hidden.items || !hidden.items[hidden.count]);
        hidden_done(&hidden);
        assert_null(hidden.items);
    }
}

static void a_value_behind_a_nul_is_hidden(void **state)
{
    static const char bytes[] = "binary\0canary-behind\0";
    struct hidden hidden = {0};
    cleanup_free char *told = NULL;

    (void)state;
    add(&hidden, bytes, sizeof(bytes) - 1);
    told = hidden_mask(&hidden, "it is canary-behind.");
    assert_string_equal(told, "it is ***.");
    hidden_done(&hidden);
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

static void the_last_of_many_values_is_hidden_and_of_too_many_none_is_told(void **state)
{
    static const struct {
        size_t count;
        const char *told;
        bool is_told;
    } crowds[] = {{40 * 1000, "it is ***.", true}, {HIDE_VALUES_MAX, "(left out: ", false}};

    (void)state;
    for (size_t i = 0; i < array_length(crowds); i++) {
        cleanup_free char *text = many(crowds[i].count, "the canary");
        struct hidden hidden = {0};
        cleanup_free char *told = NULL;

        /* Over the size of any Secret, but the limit is of the values. */
        for (size_t part = 0; part < 2; part++)
            add(&hidden, text, strlen(text));
        told = hidden_mask(&hidden, "it is the canary.");
        assert_int_equal(hidden.is_incomplete, !crowds[i].is_told);
        assert_memory_equal(told, crowds[i].told, strlen(crowds[i].told));
        assert_null(strstr(told, "canary"));
        hidden_done(&hidden);
    }
}

static void inputs_that_cannot_be_read_leave_the_words_out(void **state)
{
    static const char *const secrets[] = {"{\"data\":{\"a\":\"%%%\"}}", "{\"data\":{\"a\":5}}"};
    struct hidden unknown = {0};

    (void)state;
    assert_null(hidden_mask(NULL, "canary"));
    assert_null(hidden_mask(&unknown, "canary"));
    for (size_t i = 0; i < array_length(secrets); i++) {
        cleanup_json json_t *secret = parse(secrets[i]);
        struct hidden hidden = {.is_known = true, .is_state_known = true};
        cleanup_free char *told = NULL;

        hidden_add_secret(&hidden, secret);
        told = hidden_mask(&hidden, "canary");
        assert_memory_equal(told, "(left out: ", 11);
        hidden_done(&hidden);
    }
}

static const char *message(const json_t *pod, const char *list, size_t index, const char *path)
{
    return doc_text(json_array_get(doc_member(doc_member(pod, "status"), list), index), path);
}

static void main_says_nothing_secret_and_nothing_at_all_if_nobody_knows(void **state)
{
    cleanup_json json_t *pod =
        parse("{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{"
              "\"message\":\"my canary-token is wrong\"}}},{\"name\":\"wait\",\"state\":{"
              "\"terminated\":{\"message\":\"main ended\"}}}]}}");
    char value[] = "canary-token";
    char *items[] = {value, NULL};
    struct hidden hidden = {.items = items, .count = 1, .is_known = true, .is_state_known = true};
    cleanup_json json_t *masked = hidden_from_pod(pod, &hidden);
    cleanup_json json_t *silent = hidden_from_pod(pod, NULL);
    static const char list[] = "containerStatuses", path[] = "state.terminated.message";

    (void)state;
    assert_string_equal(message(masked, list, 0, path), "my *** is wrong");
    assert_null(message(silent, list, 0, path));
    assert_string_equal(message(pod, list, 0, path), "my canary-token is wrong");
    assert_string_equal(message(silent, list, 1, path), "main ended");
}

/* The state is known to nobody but main: what is unknown of it keeps nobody else from speaking. */
static void an_unknown_state_silences_main_alone(void **state)
{
    cleanup_json json_t *pod =
        parse("{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{"
              "\"message\":\"my canary-token\"}},\"lastState\":{\"waiting\":{\"message\":"
              "\"no image canary-token\"}}},{\"name\":\"wait\",\"state\":{"
              "\"terminated\":{\"message\":\"main ended\"}}}]}}");
    static const char list[] = "containerStatuses";

    (void)state;
    for (int is_incomplete = 0; is_incomplete < 2; is_incomplete++) {
        struct hidden hidden = {0};
        cleanup_json json_t *masked = NULL;
        cleanup_free char *log = NULL;

        add(&hidden, "canary-token", 12);
        hidden.is_state_known = is_incomplete;
        hidden.is_state_incomplete = is_incomplete;
        masked = hidden_from_pod(pod, &hidden);
        log = hidden_mask(&hidden, "canary");
        assert_false(hidden_is_all_known(&hidden));
        if (is_incomplete) {
            assert_memory_equal(log, "(left out: ", 11);
            assert_string_equal(message(masked, list, 0, "state.terminated.message"), log);
        } else {
            assert_null(log);
            assert_null(message(masked, list, 0, "state.terminated.message"));
        }
        assert_string_equal(message(masked, list, 0, "lastState.waiting.message"), "no image ***");
        assert_string_equal(message(masked, list, 1, "state.terminated.message"), "main ended");
        hidden_done(&hidden);
    }
}

static const struct {
    const char *main_state;
    bool is_state_known;
    const char *told;
} injected_cases[] = {
    {"waiting", false, "no ***"},
    {"running", false, NULL},
    {"running", true, "no ***"},
};

/* A proxy sees what main sends, a collector of logs what it prints. */
static void an_injected_container_says_no_more_than_main(void **state)
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
        cleanup_json json_t *silent = hidden_from_pod(pod, NULL);
        cleanup_json json_t *masked = NULL;
        struct hidden hidden = {0};

        add(&hidden, "canary-token", 12);
        hidden.is_state_known = injected_cases[i].is_state_known;
        masked = hidden_from_pod(pod, &hidden);
        for (size_t j = 0; j < 2; j++) {
            const char *list = j == 0 ? "initContainerStatuses" : "containerStatuses";

            assert_null(message(silent, list, 0, path));
            if (injected_cases[i].told)
                assert_string_equal(message(masked, list, 0, path), injected_cases[i].told);
            else
                assert_null(message(masked, list, 0, path));
        }
        hidden_done(&hidden);
    }
}

static void a_state_is_hidden_as_an_input_and_too_much_of_it_silences_main_alone(void **state)
{
    cleanup_free char *text = many(HIDE_VALUES_MAX, "the canary");
    static const char given[] = "{\"resources\":[{\"result\":\"canary-token\"}]}";
    struct hidden hidden = {.is_known = true, .is_state_known = true};
    cleanup_free char *told = NULL, *left_out = NULL;

    (void)state;
    hidden_add_state_text(&hidden, given, strlen(given));
    told = hidden_mask(&hidden, "it is canary-token.");
    assert_string_equal(told, "it is ***.");
    assert_true(hidden_is_all_known(&hidden));
    hidden_add_state_text(&hidden, text, strlen(text));
    assert_true(hidden.is_state_incomplete);
    assert_false(hidden.is_incomplete);
    left_out = hidden_mask(&hidden, "it is the canary.");
    assert_memory_equal(left_out, "(left out: ", 11);
    hidden_done(&hidden);
}

static const struct {
    const char *pod;
    bool may;
} speakers[] = {
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

static void a_main_that_has_not_begun_has_not_spoken(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(speakers); i++) {
        cleanup_json json_t *pod = parse(speakers[i].pod);

        assert_int_equal(hidden_may_have_spoken(pod), speakers[i].may);
    }
}

static void the_kubelets_words_are_masked_but_for_the_image(void **state)
{
    cleanup_json json_t *pod = parse(
        "{\"status\":{\"initContainerStatuses\":[{\"name\":\"init\",\"image\":\"example.com/init\","
        "\"state\":{\"waiting\":{\"message\":\"no canary-token\"}}}],\"containerStatuses\":[{"
        "\"name\":\"main\",\"image\":\"example.com/main:1\",\"state\":{\"waiting\":{\"message\":"
        "\"exec: canary-command: not in example.com/main:1\"}}}]}}");
    cleanup_json json_t *quiet = parse("{\"status\":{\"containerStatuses\":[{\"name\":\"main\","
                                       "\"state\":{\"waiting\":{\"reason\":\"Creating\"}}}]}}");
    static const char inputs[] =
        "{\"image\":\"example.com/main:1\",\"command\":[\"canary-command\"],"
        "\"env\":[{\"value\":\"canary-token\"}]}";
    struct hidden hidden = {0};
    cleanup_json json_t *masked = NULL;
    cleanup_json json_t *silent = hidden_from_pod(pod, NULL);
    static const char path[] = "state.waiting.message";

    (void)state;
    add(&hidden, inputs, strlen(inputs));
    hidden_spare_images(&hidden, pod);
    masked = hidden_from_pod(pod, &hidden);
    assert_string_equal(message(masked, "initContainerStatuses", 0, path), "no ***");
    assert_string_equal(message(masked, "containerStatuses", 0, path),
                        "exec: ***: not in example.com/main:1");
    assert_null(message(silent, "containerStatuses", 0, path));
    assert_true(hidden_has_words(pod));
    assert_false(hidden_has_words(quiet));
    hidden_done(&hidden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_run_was_given_is_hidden_and_the_rest_is_not),
        cmocka_unit_test(a_value_behind_a_nul_is_hidden),
        cmocka_unit_test(the_last_of_many_values_is_hidden_and_of_too_many_none_is_told),
        cmocka_unit_test(inputs_that_cannot_be_read_leave_the_words_out),
        cmocka_unit_test(main_says_nothing_secret_and_nothing_at_all_if_nobody_knows),
        cmocka_unit_test(an_unknown_state_silences_main_alone),
        cmocka_unit_test(an_injected_container_says_no_more_than_main),
        cmocka_unit_test(a_state_is_hidden_as_an_input_and_too_much_of_it_silences_main_alone),
        cmocka_unit_test(a_main_that_has_not_begun_has_not_spoken),
        cmocka_unit_test(the_kubelets_words_are_masked_but_for_the_image),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
