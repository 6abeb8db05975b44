/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/component/chart_repository.h"
#include "common/data/doc.h"

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
        {"", NULL},
    };
    cleanup_json json_t *entries =
        json_pack("[{s:s},{s:s},{s:s},{s:s},{s:s},{s:s},{}]", "url", "https://a.example", "url",
                  "https://a.example/charts/", "url", "https://b.example", "url", "", "url", "/",
                  "url", "https://a.example");

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        const json_t *entry = chart_repository_entry(entries, cases[i].url);

        print_message("%s\n", cases[i].url);
        if (cases[i].entry)
            assert_string_equal(doc_text(entry, "url"), cases[i].entry);
        else
            assert_null(entry);
    }
    assert_null(chart_repository_entry(NULL, "https://a.example"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_entry_with_the_longest_address_of_the_repository_counts),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
