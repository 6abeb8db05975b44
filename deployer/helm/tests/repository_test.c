/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/helm/repository.h"
#include "deployer/tests/sample.h"

#define ENTRY(url_) "{url: '" url_ "', authHeader: '" url_ "'}"
#define CONTEXT(entries_)                                                                          \
    "{configurations: {helmChartRepoCredentials: {auths: [" entries_ "]}}, repositoryContext: "    \
    "{type: x}}"

static struct run_spec run_with(const char *configuration)
{
    return (struct run_spec){.configuration = sample_doc(configuration)};
}

/* The urls of the entries that are given to init. */
static void check_entries(const char *configuration, const char *wanted)
{
    cleanup_json json_t *context =
        sample_doc(CONTEXT(ENTRY("https://a.example") ", " ENTRY("https://b.example")));
    struct run_spec run = run_with(configuration);
    cleanup_json json_t *entries = helm_repository_entries(&run, context);
    cleanup_buffer struct buffer found = {0};
    struct error err = {0};

    buffer_init(&found, 1000);
    for (size_t i = 0; i < json_array_size(entries); i++)
        assert_int_equal(
            buffer_append_text(&found, &err, "%s ", doc_text(json_array_get(entries, i), "url")),
            0);
    assert_string_equal(found.data ? found.data : "", wanted);
    json_decref(run.configuration);
}

static void only_credentials_that_can_be_needed_are_read(void **state)
{
    cleanup_json json_t *empty = sample_doc("{}");
    struct run_spec run = run_with("{chart: {resource: {name: a}}}");
    cleanup_json json_t *entries = helm_repository_entries(&run, empty);

    (void)state;
    check_entries("{chart: {repository: {url: 'https://b.example/charts'}}}", "https://b.example ");
    check_entries("{chart: {repository: {url: 'https://c.example/charts'}}}", "");
    check_entries("{chart: {ref: 'b.example/a:1'}}", "");
    check_entries("{}", "");
    /* Only init finds out which repository the component names. */
    check_entries("{chart: {resource: {name: a}}}", "https://a.example https://b.example ");
    assert_true(helm_repository_is_found_by_init(&run));
    assert_int_equal(json_array_size(entries), 0);
    json_decref(run.configuration);
}

static void init_gets_the_header_of_the_secret(void **state)
{
    cleanup_json json_t *entry = sample_doc("{url: 'https://a', secretRef: {name: s, key: k}}");
    cleanup_json json_t *plain = sample_doc("{url: 'https://a', secretRef: {name: s}}");
    cleanup_json json_t *secret = sample_doc("{data: {k: YWJj, authHeader: ZGVm, bad: '!'}}");
    struct run_spec run = run_with("{chart: {repository: {url: 'https://a'}}}");
    cleanup_buffer struct buffer header = {0};
    cleanup_free char *text = NULL;
    struct error err = {0};

    (void)state;
    buffer_init(&header, 100);
    assert_string_equal(helm_repository_secret(entry), "s");
    assert_null(helm_repository_secret(NULL));
    assert_int_equal(helm_repository_header(entry, secret, &header, &err), 0);
    assert_string_equal(header.data, "abc");
    assert_int_equal(helm_repository_header(plain, secret, &header, &err), 0);
    assert_string_equal(header.data, "abcdef");
    assert_int_equal(helm_repository_header(plain, NULL, &header, &err), -1);
    assert_non_null(strstr(err.text, "\"s\""));
    assert_non_null(strstr(err.text, "\"authHeader\""));
    helm_repository_authorize(&run, entry, "abc");
    helm_repository_authorize(&run, entry, NULL);
    helm_repository_refuse(&run, entry, "it is missing");
    text = doc_dump_sorted(json_object_get(run.configuration, "chart"));
    assert_string_equal(text, "{\"authorizations\":[{\"ca\":\"\",\"header\":\"abc\",\"url\":"
                              "\"https://a\"},{\"ca\":\"\",\"url\":\"https://a\"},{\"ca\":\"\","
                              "\"problem\":\"it is missing\",\"url\":\"https://a\"}],"
                              "\"repository\":{\"url\":\"https://a\"}}");
    json_decref(run.configuration);
}

static void components_are_looked_up_in_the_repository_of_the_context(void **state)
{
    cleanup_json json_t *context = sample_doc(CONTEXT(""));
    struct run_spec run = run_with("{componentDescriptor: {ref: {componentName: a}}}");
    struct run_spec other = run_with("{chart: {ref: a}}");

    (void)state;
    helm_use_repository_context(&run, context);
    assert_string_equal(
        doc_text(run.configuration, "componentDescriptor.ref.repositoryContext.type"), "x");
    helm_use_repository_context(&other, context);
    helm_use_repository_context(&other, NULL);
    json_decref(run.configuration);
    json_decref(other.configuration);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_credentials_that_can_be_needed_are_read),
        cmocka_unit_test(init_gets_the_header_of_the_secret),
        cmocka_unit_test(components_are_looked_up_in_the_repository_of_the_context),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
