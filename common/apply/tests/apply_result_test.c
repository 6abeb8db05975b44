/* SPDX-License-Identifier: Apache-2.0 */
/* What people read, and what is remembered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/apply_internal.h"
#include "common/apply/late_patch.h"
#include "common/apply/tests/apply_run.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

static void the_kind_of_all_errors(void **state)
{
    static const struct {
        enum error_kind kinds[3]; /* ERROR_NONE: the object did not fail */
        enum error_kind wanted;
    } cases[] = {
        {{ERROR_DENIED, ERROR_DENIED, ERROR_NONE}, ERROR_DENIED},
        {{ERROR_DENIED, ERROR_INVALID, ERROR_NONE}, ERROR_INVALID},
        {{ERROR_TOO_LARGE, ERROR_NONE, ERROR_NONE}, ERROR_INVALID},
        {{ERROR_DENIED, ERROR_TEMPORARY, ERROR_INVALID}, ERROR_TEMPORARY},
        {{ERROR_CANCELLED, ERROR_INVALID, ERROR_INVALID}, ERROR_TEMPORARY},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_object_result objects[3] = {{0}};
        struct apply_result result = {.objects = objects, .count = 3};
        struct error err = {0};

        for (size_t j = 0; j < 3; j++) {
            if (cases[i].kinds[j] == ERROR_NONE)
                continue;
            objects[j].outcome = APPLY_FAILED;
            (void)error_set(&objects[j].error, cases[i].kinds[j], "text %zu", j);
        }
        apply_result_error(&result, &err);
        assert_int_equal(err.kind, cases[i].wanted);
        assert_memory_equal(err.text, "text 0", 6);
    }
}

static void status_and_delay_of_all_errors(void **state)
{
    struct apply_object_result objects[2] = {{.outcome = APPLY_FAILED}, {.outcome = APPLY_FAILED}};
    struct apply_result result = {.objects = objects, .count = 2};
    struct error err = {0};

    (void)state;
    objects[0].error =
        (struct error){.kind = ERROR_DENIED, .http_status = 401, .retry_after_ms = 5, .text = "a"};
    objects[1].error =
        (struct error){.kind = ERROR_DENIED, .http_status = 401, .retry_after_ms = 9, .text = "b"};
    apply_result_error(&result, &err);
    assert_string_equal(err.text, "a; b");
    assert_int_equal(err.http_status, 401);
    assert_int_equal(err.retry_after_ms, 9);
    objects[1].error.http_status = 403;
    apply_result_error(&result, &err);
    assert_int_equal(err.http_status, 0);
    apply_result_free(NULL);
}

static void messages_name_the_object_and_have_the_words_of_the_server(void **state)
{
    static const struct {
        struct error err;
        const char *text;
        enum error_kind kind;
    } cases[] = {
        {{.kind = ERROR_INVALID, .text = "create secrets \"a/s\": data: Required value"},
         "Secret a/s: cannot be created: data: Required value",
         ERROR_INVALID},
        {{.kind = ERROR_TEMPORARY, .text = "create secrets \"a/s\": POST 'https://h/x': refused"},
         "Secret a/s: cannot be created: POST 'https://h/x': refused",
         ERROR_TEMPORARY},
        {{.kind = ERROR_DENIED, .text = "no"}, "Secret a/s: cannot be created: no", ERROR_DENIED},
        {{.kind = ERROR_DENIED,
          .http_status = 403,
          .text =
              "create secrets \"a/s\": unable to create new content in namespace a because it is "
              "being terminated"},
         "Secret a/s: cannot be created: unable to create new content in namespace a because it is "
         "being terminated",
         ERROR_TEMPORARY},
        {{.kind = ERROR_NOT_FOUND, .text = "x"},
         "Secret a/s: cannot be created: x",
         ERROR_TEMPORARY},
        {{.kind = ERROR_CONFLICT, .text = "x"},
         "Secret a/s: cannot be created: x",
         ERROR_TEMPORARY},
        /* A webhook that quotes what it refuses. */
        {{.kind = ERROR_INVALID,
          .text =
              "create secrets \"a/s\": hunter2 and aHVudGVyMw== and hunter3, hunter2, p@ssw0rd"},
         "Secret a/s: cannot be created: [redacted] and [redacted] and [redacted], [redacted], "
         "[redacted]",
         ERROR_INVALID},
        /* The same with escapes, and cut. */
        {{.kind = ERROR_INVALID,
          .text = "create secrets \"a/s\": \"{\\\"user\\\": \\\"me\\\"}\\nsecond line\\n\", end of "
                  "hunte"},
         "Secret a/s: cannot be created: \"[redacted]\\n[redacted]\\n\", end of [redacted]",
         ERROR_INVALID},
        {{.kind = ERROR_INVALID, .text = "create secrets \"a/s\": refused: {\\\"user\\"},
         "Secret a/s: cannot be created: refused: [redacted]",
         ERROR_INVALID},
        {{.kind = ERROR_INVALID, .text = "create secrets \"a/s\": refused: {\"user\": \"m"},
         "Secret a/s: cannot be created: refused: [redacted]",
         ERROR_INVALID},
        /* Values that are not texts. */
        {{.kind = ERROR_INVALID,
          .text = "create secrets \"a/s\": .stringData.n: expected string, got 47110815, 815047, "
                  "hidden"},
         "Secret a/s: cannot be created: .stringData.n: expected string, got [redacted], "
         "[redacted], "
         "[redacted]",
         ERROR_INVALID},
        /* Values that are too short to be secrets would tear the text apart. */
        {{.kind = ERROR_INVALID, .text = "create secrets \"a/s\": bad, red"},
         "Secret a/s: cannot be created: bad, red",
         ERROR_INVALID},
    };
    cleanup_json json_t *manifest =
        parse("{'stringData': {'a': 'hunter2', 'short': 'bad', 'odd': 5, 'n': 47110815, 'part': "
              "'redacted', "
              "'lines': '{\\u0022user\\u0022: \\u0022me\\u0022}\\nsecond line\\n'}, "
              "'data': {'b': 'aHVudGVyMw==', 'c': '!!!', 'd': 7, 'f': {'x': [815047, 'hidden']}, "
              "'e': ''}}");
    cleanup_json json_t *patch = parse("{'stringData': {'p': 'p@ssw0rd'}}");
    struct plan_object object = {.manifest = manifest,
                                 .patch_after = patch,
                                 .ref = {.api_version = (char[]){"v1"},
                                         .kind = (char[]){"Secret"},
                                         .namespace_name = (char[]){"a"},
                                         .name = (char[]){"s"}}};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct error err = {0};

        apply_message(&object, "created", &cases[i].err, &err);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(err.kind, cases[i].kind);
        assert_int_equal(err.http_status, cases[i].err.http_status);
    }
}

static void finalizers_of_others_stay_and_own_ones_are_taken_back(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    cleanup_json json_t *both = parse("['own/f', 'other/f']");
    cleanup_json json_t *others = parse("['other/f']");

    apply_run_init(&run, bench, STRATEGY_UPDATE);
    (void)apply_run_add(&run,
                        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x', "
                        "'namespace': 'a', 'finalizers': ['own/f']}}",
                        POLICY_MANAGE);
    apply_run_all(&run);
    doc_set_new(api_bench_get(bench, MAPS "/x"), "metadata.finalizers", json_incref(both));
    api_bench_touch(bench, MAPS "/x");
    apply_run_all(&run);
    assert_true(json_equal(
        doc_writable(doc_get(api_bench_get(bench, MAPS "/x"), "metadata.finalizers")), both));
    apply_run_clear_inputs(&run);
    (void)apply_run_add(&run, MAP("x", ""), POLICY_MANAGE);
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "changed");
    assert_true(json_equal(
        doc_writable(doc_get(api_bench_get(bench, MAPS "/x"), "metadata.finalizers")), others));
    apply_run_done(&run);
}

/* The entry may leave the list only if nothing can have been created. */
static void an_entry_stays_new_only_if_its_creation_was_refused_for_good(void **state)
{
    static const struct {
        enum update_strategy strategy;
        bool is_recorded; /* before */
        bool is_lost;     /* the first answer, of a request that took effect */
        const char *rule, *status, *message;
        bool is_new;
    } cases[] = {
        {STRATEGY_UPDATE, false, false, "POST " MAPS, "403 Forbidden", "no", true},
        {STRATEGY_UPDATE, false, false, "POST " MAPS, "401 Unauthorized", "no", true},
        {STRATEGY_UPDATE, false, false, "POST " MAPS, "400 Bad Request", "no", true},
        {STRATEGY_UPDATE, false, false, "POST " MAPS, "422 Unprocessable Entity", "no", true},
        {STRATEGY_APPLY, false, false, "PATCH " MAPS, "403 Forbidden", "no", true},
        {STRATEGY_UPDATE, true, false, "POST " MAPS, "403 Forbidden", "no", false},
        {STRATEGY_UPDATE, false, true, "POST " MAPS, "403 Forbidden", "no", false},
        {STRATEGY_APPLY, false, true, "PATCH " MAPS, "403 Forbidden", "no", false},
        {STRATEGY_UPDATE, false, false, "POST " MAPS, "404 Not Found", "no", false},
        {STRATEGY_UPDATE, false, false, "POST " MAPS, "409 AlreadyExists", "no", false},
        {STRATEGY_UPDATE, false, false, "POST " MAPS, "413 Too Large", "no", false},
    };
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};
        const struct inventory_entry *entry = NULL;

        apply_run_init(&run, bench, cases[i].strategy);
        (void)apply_run_add(&run, MAP("x", ""), POLICY_MANAGE);
        if (cases[i].is_recorded)
            (void)inventory_add(&run.inventory, (struct inventory_entry){
                                                    .ref = {xstrdup("v1"), xstrdup("ConfigMap"),
                                                            xstrdup("a"), xstrdup("x"), NULL}});
        if (cases[i].is_lost)
            api_bench_rule(bench, cases[i].rule, 1, NULL, NULL)->is_late = true;
        (void)api_bench_rule(bench, cases[i].rule, -1, cases[i].status, cases[i].message);
        apply_run_all(&run);
        assert_string_equal(apply_run_outcomes(&run), "failed");
        entry = inventory_find(&run.inventory, &run.plan->objects[0].ref);
        assert_non_null(entry);
        if (entry->is_new != cases[i].is_new)
            fail_msg("case %zu: %s", i, cases[i].status);
        /* The next attempt of the job creates it. */
        for (size_t j = 0; j < bench->rule_count; j++)
            bench->rules[j].count = 0;
        apply_run_all(&run);
        assert_int_equal(run.result->failed, 0);
        assert_false(inventory_find(&run.inventory, &run.plan->objects[0].ref)->is_new);
        assert_non_null(apply_run_uid(&run, 0));
        apply_run_done(&run);
        api_bench_remove(bench, MAPS "/x");
    }
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(the_kind_of_all_errors),
        test(status_and_delay_of_all_errors),
        test(messages_name_the_object_and_have_the_words_of_the_server),
        test(finalizers_of_others_stay_and_own_ones_are_taken_back),
        test(an_entry_stays_new_only_if_its_creation_was_refused_for_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
