/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/select.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* cmocka needs the headers above. */
#include <cmocka.h>

#include "e2e/fleet/tests/support.h"

static const struct {
    const char *labels, *fields;
    bool is_match;
} rows[] = {
    {NULL, NULL, true},
    {"", "", true},
    {"a=1", NULL, true},
    {"a==1", NULL, true},
    {"a=2", NULL, false},
    {"a!=2", NULL, true},
    {"b!=2", NULL, true},
    {"a", NULL, true},
    {"b", NULL, false},
    {"!b", NULL, true},
    {"!a", NULL, false},
    {"a in (1, 2)", NULL, true},
    {"a in (2,3)", NULL, false},
    {"a notin (2,3)", NULL, true},
    {"b notin (2)", NULL, true},
    {"a=1,x.test/y=z", NULL, true},
    {"a=1 , x.test/y in (q)", NULL, false},
    {"a=", NULL, false},
    {NULL, "metadata.name=one", true},
    {NULL, "metadata.name!=one", false},
    {NULL, "metadata.name=two", false},
    {NULL, "metadata.namespace=space,metadata.name=one", true},
    {"a=1", "metadata.name=two", false},
};

static const struct {
    const char *labels, *fields;
} malformed[] = {
    {"a in (", NULL}, {"=1", NULL},  {"a in b", NULL},
    {"!", NULL},      {"a 1", NULL}, {NULL, "spec.x=1"},
};

static void selects_by_labels_and_names(void **state)
{
    cleanup_text_pool struct text_pool *pool = text_pool_new();
    cleanup_json json_t *object =
        parse("{'metadata': {'name': 'one', 'namespace': 'space', 'labels': {'a': '1', "
              "'x.test/y': 'z'}}}");
    struct record *record = record_new(pool, object);

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_selection struct selection *selection = NULL;
        struct error err = {0};

        assert_int_equal(selection_parse(rows[i].labels, rows[i].fields, &selection, &err), 0);
        if (selection_matches(selection, record) != rows[i].is_match)
            fail_msg("row %zu: %s %s", i, rows[i].labels, rows[i].fields);
    }
    record_release(pool, record);
}

static void refuses_malformed_selectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(malformed); i++) {
        cleanup_selection struct selection *selection = NULL;
        struct error err = {0};

        if (selection_parse(malformed[i].labels, malformed[i].fields, &selection, &err) == 0)
            fail_msg("row %zu was accepted", i);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(selection);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects_by_labels_and_names),
        cmocka_unit_test(refuses_malformed_selectors),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
