/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/tests/sample.h"

static char *repeat(char letter, size_t count)
{
    char *text = xmalloc(count + 1);

    memset(text, letter, count);
    text[count] = '\0';
    return text;
}

/* All names except that of the export, which the Go deployer defines. */
static size_t collect(const struct object_names *names, const char *ret_names[7])
{
    size_t count = 0;

    ret_names[count++] = names->pod;
    ret_names[count++] = names->account;
    ret_names[count++] = names->input;
    ret_names[count++] = names->pull;
    ret_names[count++] = names->host_export_own;
    ret_names[count++] = names->selector;
    ret_names[count++] = names->run_selector;
    return count;
}

static void no_two_items_share_a_name(void **state)
{
    cleanup_free char *long_a = repeat('a', 253);
    cleanup_free char *long_b = repeat('a', 252);
    const struct {
        const char *namespace_name, *name;
    } items[] = {{"a-b", "c"},       {"a", "b-c"},       {"one", "job"}, {"two", "job"},
                 {"one", "job-run"}, {"one", "job.run"}, {"ns", long_a}, {"ns", long_b}};

    (void)state;
    for (size_t i = 0; i < array_length(items); i++) {
        cleanup_object_names struct object_names first = {0};
        const char *first_names[7];
        size_t count = 0;

        object_names_init(&first, items[i].namespace_name, items[i].name, SAMPLE_JOB);
        count = collect(&first, first_names);
        for (size_t j = i + 1; j < array_length(items); j++) {
            cleanup_object_names struct object_names second = {0};
            const char *second_names[7];

            object_names_init(&second, items[j].namespace_name, items[j].name, SAMPLE_JOB);
            (void)collect(&second, second_names);
            for (size_t a = 0; a < count; a++) {
                for (size_t b = 0; b < count; b++)
                    assert_string_not_equal(first_names[a], second_names[b]);
            }
        }
    }
}

static bool is_dns_label(const char *name)
{
    return strlen(name) <= NAME_MAX_LABEL && !strchr(name, '.') && name_is_dns_subdomain(name);
}

static void names_are_valid_for_any_item_name(void **state)
{
    cleanup_free char *longest = repeat('x', 253);
    cleanup_free char *dotted = xstrdup("a.b.c");
    const char *const items[] = {"a", longest, dotted, "0-0", "a--b"};

    (void)state;
    for (size_t i = 0; i < array_length(items); i++) {
        cleanup_object_names struct object_names names = {0};
        cleanup_free char *item_export = item_export_name("team", items[i]);

        object_names_init(&names, "team", items[i], SAMPLE_JOB);
        assert_true(is_dns_label(names.pod));
        assert_true(is_dns_label(names.account));
        assert_true(is_dns_label(names.input));
        assert_true(is_dns_label(names.pull));
        assert_true(name_is_dns_subdomain(names.host_export));
        assert_true(is_dns_label(names.host_export_own));
        assert_true(name_is_dns_subdomain(item_export));
        assert_true(strlen(names.state_prefix) + 1 + 36 + 1 + 6 <= NAME_MAX_SUBDOMAIN);
    }
}

static void objects_that_the_go_deployer_looks_up_keep_their_names(void **state)
{
    cleanup_object_names struct object_names names = {0};
    cleanup_object_names struct object_names again = {0};
    cleanup_object_names struct object_names other_job = {0};
    cleanup_free char *item_export = item_export_name("team", "job");

    (void)state;
    object_names_init(&names, "team", "job", SAMPLE_JOB);
    object_names_init(&again, "team", "job", SAMPLE_JOB);
    object_names_init(&other_job, "team", "job", "another");
    assert_string_equal(names.host_export, "team-job-export");
    assert_string_equal(item_export, "job-export");
    assert_string_equal(names.state_prefix, "state-team-job");
    assert_string_equal(names.pod, again.pod);
    assert_string_equal(names.input, again.input);
    /* All jobs of an item use the same pod name; the names of inputs depend on the job. */
    assert_string_equal(names.pod, other_job.pod);
    assert_string_not_equal(names.input, other_job.input);
    assert_string_equal(names.state_selector,
                        "deployitem.container.deployer.landscaper.gardener.cloud/name=job,"
                        "deployitem.container.deployer.landscaper.gardener.cloud/namespace=team,"
                        "container.deployer.landscaper.gardener.cloud/type=state");
}

static void labels_match_the_go_deployer_and_are_valid_for_long_names(void **state)
{
    cleanup_config struct deployer_config *config = sample_config("identity: my-id");
    cleanup_config struct deployer_config *odd = sample_config("identity: 'two words'");
    cleanup_free char *longest = repeat('x', 253);
    cleanup_json json_t *labels = object_labels(config, "team", "job");
    cleanup_json json_t *hashed = object_labels(odd, "team", longest);
    cleanup_item struct item *item = sample_item("team", longest, DEPLOY_ITEM_TYPE_CONTAINER, NULL);
    cleanup_json json_t *annotations = object_annotations(item);
    const char *key = NULL;
    json_t *value = NULL;

    (void)state;
    assert_string_equal(json_string_value(doc_member(labels, LABEL_DEPLOYER_ID)), "my-id");
    assert_string_equal(json_string_value(doc_member(labels, LABEL_NAME)), "job");
    assert_string_equal(json_string_value(doc_member(labels, LABEL_ITEM_NAME)), "job");
    assert_string_equal(json_string_value(doc_member(labels, LABEL_ITEM_NAMESPACE)), "team");
    json_object_foreach(hashed, key, value)
    {
        assert_true(name_is_label_value(json_string_value(value)));
    }
    assert_string_equal(json_string_value(doc_member(annotations, ANNOTATION_ITEM_NAME)), longest);
    assert_string_equal(json_string_value(doc_member(annotations, ANNOTATION_ITEM_UID)),
                        SAMPLE_UID);
}

static void without_an_identity_objects_are_labelled_with_their_landscaper(void **state)
{
    static const struct {
        const char *config, *mark, *label; /* label: NULL for none */
    } cases[] = {
        {"identity: my-id", "0123456789abcdef", NULL},
        {"identity: ''", "0123456789abcdef", "0123456789abcdef"},
        {"identity: ''", "", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_config struct deployer_config *config = sample_config(cases[i].config);
        cleanup_json json_t *labels = NULL;
        const char *label = NULL;

        (void)snprintf(config->landscaper_mark, sizeof(config->landscaper_mark), "%s",
                       cases[i].mark);
        labels = object_labels(config, "team", "job");
        label = json_string_value(doc_member(labels, LABEL_LANDSCAPER));
        assert_string_equal(label ? label : "none", cases[i].label ? cases[i].label : "none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_items_share_a_name),
        cmocka_unit_test(names_are_valid_for_any_item_name),
        cmocka_unit_test(objects_that_the_go_deployer_looks_up_keep_their_names),
        cmocka_unit_test(labels_match_the_go_deployer_and_are_valid_for_long_names),
        cmocka_unit_test(without_an_identity_objects_are_labelled_with_their_landscaper),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
