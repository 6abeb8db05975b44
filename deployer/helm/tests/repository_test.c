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

static void the_entry_with_the_longest_address_of_the_repository_counts(void **state)
{
    static const struct {
        const char *url, *entry; /* NULL: none */
    } cases[] = {
        {"https://a.example/charts", "https://a.example/charts/"},
        {"https://a.example/charts/more", "https://a.example/charts/"},
        {"https://a.example/chartsmore", "https://a.example"},
        {"https://A.example/other", "https://a.example"},
        {"https://a.example.org/charts", NULL},
        {"https://a.example:444/charts", NULL},
        {"http://a.example/charts", NULL},
    };
    cleanup_json json_t *context = sample_doc(
        CONTEXT(ENTRY("https://a.example") ", " ENTRY("https://a.example/charts/") ", " ENTRY(
            "https://b.example") ", " ENTRY("") ", " ENTRY("/")));

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *text = xasprintf("{chart: {repository: {url: '%s'}}}", cases[i].url);
        struct run_spec run = run_with(text);
        const json_t *entry = helm_repository_entry(&run, context);

        print_message("%s\n", cases[i].url);
        if (cases[i].entry)
            assert_string_equal(doc_text(entry, "url"), cases[i].entry);
        else
            assert_null(entry);
        json_decref(run.configuration);
    }
}

static void init_gets_the_header_of_the_secret(void **state)
{
    cleanup_json json_t *entry = sample_doc("{url: 'https://a', secretRef: {name: s, key: k}}");
    cleanup_json json_t *plain = sample_doc("{url: 'https://a', secretRef: {name: s}}");
    cleanup_json json_t *secret = sample_doc("{data: {k: YWJj, authHeader: ZGVm, bad: '!'}}");
    struct run_spec run = run_with("{chart: {repository: {url: 'https://a'}}}");
    cleanup_buffer struct buffer header = {0};
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
    assert_string_equal(doc_text(run.configuration, "chart.repository.authorization.header"),
                        "abc");
    helm_repository_authorize(&run, entry, NULL);
    assert_null(doc_text(run.configuration, "chart.repository.authorization.header"));
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
    assert_null(helm_repository_of(&other));
    assert_null(helm_repository_entry(&other, context));
    json_decref(run.configuration);
    json_decref(other.configuration);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_entry_with_the_longest_address_of_the_repository_counts),
        cmocka_unit_test(init_gets_the_header_of_the_secret),
        cmocka_unit_test(components_are_looked_up_in_the_repository_of_the_context),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
