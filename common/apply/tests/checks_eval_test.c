/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/checks_eval.h"
#include "common/apply/tests/checks_parse.h"

#define READY_DEPLOYMENT                                                                           \
    "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'd', 'generation': 1}, " \
    "'spec': {'replicas': 1}, 'status': {'observedGeneration': 1, 'replicas': 1, "                 \
    "'readyReplicas': 1, 'updatedReplicas': 1, 'availableReplicas': 1}}"
#define NEW_DEPLOYMENT                                                                             \
    "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'd', 'generation': 1}, " \
    "'spec': {'replicas': 1}}"
#define FAILED_JOB                                                                                 \
    "{'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'j'}, 'status': "              \
    "{'conditions': [{'type': 'Failed', 'status': 'True', 'reason': 'BackoffLimitExceeded'}]}}"

/* Texts that must never be in a message. */
#define CANARY "s3cret-canary"

static void must_not_leak(const char *text)
{
    if (strstr(text, CANARY))
        fail_msg("a value is in the message: %s", text);
}

static void requirements_hold_for_an_object_or_say_why_not(void **state)
{
    static const struct {
        const char *requirements, *object, *expected; /* NULL: holds */
    } cases[] = {
        {"[]", "{}", NULL},
        {"[]", NULL, "does not exist"},
        {"[{'path': '.a'}]", "{'a': null}", NULL},
        {"[{'path': '.a'}]", "{}", ".a: found no value, but operator \"exists\" does not hold"},
        {"[{'path': '.a', 'op': '!'}]", "{}", NULL},
        {"[{'path': '.a', 'op': '!'}]", "{'a': '" CANARY "'}",
         ".a: found a string, but operator \"!\" does not hold"},
        {"[{'path': '.a', 'op': '==', 'values': [2]}]", "{'a': 2.0}", NULL},
        {"[{'path': '.a', 'op': '==', 'values': ['" CANARY "']}]", "{'a': 1}",
         ".a: found a number, but operator \"==\" does not hold"},
        {"[{'path': '.a', 'op': '=', 'values': [1]}]", "{'a': '" CANARY "'}",
         ".a: found a string, but operator \"==\" does not hold"},
        {"[{'path': '.a', 'op': '!=', 'values': [1]}]", "{}",
         ".a: found no value, but operator \"!=\" does not hold"},
        {"[{'path': '.a[*]', 'op': '!=', 'values': [1]}]", "{'a': [2, 1]}",
         ".a[*]: found 2 values, the first is a number, but operator \"!=\" does not hold"},
        {"[{'path': '.a', 'op': 'in', 'values': [1, 2]}]", "{'a': 2}", NULL},
        {"[{'path': '.a', 'op': 'in', 'values': [1, 2]}]", "{'a': 3}",
         ".a: found a number, but operator \"in\" does not hold"},
        {"[{'path': '.a', 'op': 'notin', 'values': [1, 2]}]", "{'a': 2}",
         ".a: found a number, but operator \"notin\" does not hold"},
        /* All of them, the first that fails is named. */
        {"[{'path': '.a'}, {'path': '.b'}, {'path': '.c'}]", "{'a': 1}",
         ".b: found no value, but operator \"exists\" does not hold"},
        {"[{'path': '.a'}, {'path': '.b'}]", "{'a': 1, 'b': 1}", NULL},
        /* Paths that cannot be evaluated now may be later. */
        {"[{'path': '.a[3]'}]", "{'a': ['" CANARY "']}", ".a[3]: "},
        {"[{'path': '.a[?(@.x==1)]'}]", "{'a': '" CANARY "'}", ".a[?(@.x==1)]: "},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *doc = json_object();
        cleanup_json json_t *object = cases[i].object ? parse(cases[i].object) : NULL;
        struct check_subject subject = {0};
        struct custom_check check;
        struct error err = {0};
        bool holds = false;

        doc_set_new(doc, "requirements", parse(cases[i].requirements));
        check = parse_check(doc);
        check_subject_judge(&subject, &check, READINESS_DEFAULT, object);
        holds = check_subject_holds(&subject, &check, NULL, &err);
        if (holds != !cases[i].expected)
            fail_msg("case %zu: %s", i, err.text);
        if (cases[i].expected)
            assert_int_equal(strncmp(err.text, cases[i].expected, strlen(cases[i].expected)), 0);
        must_not_leak(err.text);
        check_subject_done(&subject);
        custom_check_done(&check);
    }
}

static void requirements_too_large_to_compare_do_not_hold(void **state)
{
    cleanup_json json_t *doc = parse("{'requirements': [{'path': '.a', 'op': '=='}]}");
    cleanup_json json_t *object = json_object();
    json_t *list = json_array();
    struct check_subject subject = {0};
    struct custom_check check = parse_check(doc);
    struct error err = {0};

    (void)state;
    for (int i = 0; i < REQUIREMENT_VISITS_MAX; i++)
        (void)json_array_append_new(list, json_integer(i));
    doc_set_new(object, "a", list);
    check.requirements[0].values = json_pack("[O]", list);
    check_subject_judge(&subject, &check, READINESS_DEFAULT, object);
    assert_false(check_subject_holds(&subject, &check, NULL, &err));
    assert_int_equal(strncmp(err.text, ".a: ", 4), 0);
    check_subject_done(&subject);
    custom_check_done(&check);
}

static void readiness_rules_apply_to_default_checks(void **state)
{
    static const struct {
        const char *object;
        enum readiness_rules rules;
        enum readiness expected;
    } cases[] = {
        {READY_DEPLOYMENT, READINESS_DEFAULT, READINESS_READY},
        {NEW_DEPLOYMENT, READINESS_DEFAULT, READINESS_WAITING},
        {NULL, READINESS_DEFAULT, READINESS_WAITING},
        {FAILED_JOB, READINESS_DEFAULT, READINESS_READY},
        {FAILED_JOB, READINESS_STRICT, READINESS_FAILED},
    };

    (void)state;
    for (size_t i = 0; i < 2 * array_length(cases); i++) {
        const size_t row = i / 2;
        cleanup_json json_t *doc = parse("{'default': true, 'requirements': [{'path': '.none'}]}");
        cleanup_json json_t *object = cases[row].object ? parse(cases[row].object) : NULL;
        struct custom_check check = parse_check(doc);
        struct check_subject subject = {0};
        struct error err = {0};

        check_subject_judge(&subject, i % 2 ? &check : NULL, cases[row].rules, object);
        assert_int_equal(subject.readiness, cases[row].expected);
        assert_int_equal(check_subject_holds(&subject, i % 2 ? &check : NULL, NULL, &err),
                         cases[row].expected == READINESS_READY);
        assert_int_equal(err.text[0] == '\0', cases[row].expected == READINESS_READY);
        check_subject_done(&subject);
        custom_check_done(&check);
    }
}

static void values_from_another_object_are_compared(void **state)
{
    static const struct {
        const char *op, *object, *source, *expected; /* source NULL: nothing was found yet */
    } cases[] = {
        {"==", "{'a': '" CANARY "'}", "{'b': '" CANARY "'}", NULL},
        {"==", "{'a': 'other'}", "{'b': '" CANARY "'}",
         ".a: found a string, but operator \"==\" does not hold"},
        {"==", "{}", "{'b': 1}", ".a: found no value, but operator \"==\" does not hold"},
        {"!=", "{'a': 1}", "{'b': 2}", NULL},
        {"==", "{'a': 1}", NULL, ".a: the value of valueFrom is not there yet"},
        {"==", "{'a': null}", "{'b': null}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *doc =
            parse("{'requirements': [{'path': '.c', 'op': '!'}, {'path': '.a', 'from': "
                  "'v1 Secret ns/s', 'fromPath': '.b'}]}");
        cleanup_json json_t *object = parse(cases[i].object);
        cleanup_json json_t *other = cases[i].source ? parse(cases[i].source) : NULL;
        struct custom_check check = parse_check(doc);
        struct check_subject subject = {0};
        struct error err = {0};
        json_t *sources[2] = {NULL, NULL};

        assert_int_equal(
            requirement_parse_operator(cases[i].op, &check.requirements[1].relation, &err), 0);
        if (other)
            sources[1] = check_find_source(&check.requirements[1], other, &err);
        check_subject_judge(&subject, &check, READINESS_DEFAULT, object);
        assert_int_equal(check_subject_holds(&subject, &check, sources, &err), !cases[i].expected);
        if (cases[i].expected)
            assert_string_equal(err.text, cases[i].expected);
        must_not_leak(err.text);
        json_decref(sources[1]);
        check_subject_done(&subject);
        custom_check_done(&check);
    }
}

static void what_there_is_to_compare_with_is_found_or_named(void **state)
{
    static const struct {
        const char *path, *object, *expected; /* NULL: found */
    } cases[] = {
        {".b", "{'b': 1}", NULL},
        {".b", NULL, "does not exist"},
        {".b", "{}", ".b: found no value"},
        {".b[1]", "{'b': ['" CANARY "']}", ".b[1]: "},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *doc = parse("{'path': '.a', 'from': 'v1 Secret ns/s'}");
        cleanup_json json_t *object = cases[i].object ? parse(cases[i].object) : NULL;
        cleanup_json json_t *values = NULL;
        struct custom_check check = {.requirement_count = 1};
        struct error err = {0};

        doc_set_text(doc, "fromPath", cases[i].path);
        check.requirements = xcalloc(1, sizeof(*check.requirements));
        check.requirements[0] = parse_requirement(doc);
        values = check_find_source(&check.requirements[0], object, &err);
        assert_int_equal(values == NULL, cases[i].expected != NULL);
        if (cases[i].expected)
            assert_int_equal(strncmp(err.text, cases[i].expected, strlen(cases[i].expected)), 0);
        must_not_leak(err.text);
        custom_check_done(&check);
    }
}

static void several_values_cannot_be_compared_with_one(void **state)
{
    cleanup_json json_t *doc = parse("{'requirements': [{'path': '.a', 'op': '==', 'from': "
                                     "'v1 Secret ns/s', 'fromPath': '.b[*]'}]}");
    cleanup_json json_t *object = parse("{'a': 1, 'b': [1, 1]}");
    struct custom_check check = parse_check(doc);
    struct check_subject subject = {0};
    struct error err = {0};
    json_t *source = check_find_source(&check.requirements[0], object, &err);

    (void)state;
    check_subject_judge(&subject, &check, READINESS_DEFAULT, object);
    assert_false(check_subject_holds(&subject, &check, &source, &err));
    assert_int_equal(strncmp(err.text, ".a: valueFrom: ", 15), 0);
    json_decref(source);
    check_subject_done(&subject);
    custom_check_done(&check);
}

static void only_objects_whose_status_decides_need_a_watch(void **state)
{
    static const struct {
        const char *object;
        enum readiness_rules rules;
        bool is_settled;
    } cases[] = {
        {"{'apiVersion': 'v1', 'kind': 'ConfigMap'}", READINESS_DEFAULT, true},
        {"{'apiVersion': 'v1', 'kind': 'Namespace', 'status': {'phase': 'Active'}}",
         READINESS_DEFAULT, true},
        {READY_DEPLOYMENT, READINESS_DEFAULT, false},
        {"{'apiVersion': 'v1', 'kind': 'ConfigMap'}", READINESS_STRICT, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = parse(cases[i].object);
        cleanup_json json_t *unchanged = parse(cases[i].object);

        assert_int_equal(check_is_settled(object, cases[i].rules), cases[i].is_settled);
        assert_true(json_equal(object, unchanged));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requirements_hold_for_an_object_or_say_why_not),
        cmocka_unit_test(requirements_too_large_to_compare_do_not_hold),
        cmocka_unit_test(readiness_rules_apply_to_default_checks),
        cmocka_unit_test(values_from_another_object_are_compared),
        cmocka_unit_test(what_there_is_to_compare_with_is_found_or_named),
        cmocka_unit_test(several_values_cannot_be_compared_with_one),
        cmocka_unit_test(only_objects_whose_status_decides_need_a_watch),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
