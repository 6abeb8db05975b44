/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/offline/missing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/contract.h"
#include "common/data/doc.h"

#define START "the item's target \"example/cluster\" not found in the files; "

static const struct {
    const char *files, *advice;
} cases[] = {
    {"kind: Secret\nmetadata: {name: cluster, namespace: example}", "add it with --target FILE"},
    {"kind: Target\nmetadata: {name: production, namespace: example}", "add it with --target FILE"},
    {"kind: Target\nmetadata: {name: cluster, namespace: other}",
     "they contain Target \"other/cluster\", which is in another namespace (an object without "
     "metadata.namespace fits every item)"},
    {"kind: Targett\nmetadata: {name: cluster, namespace: example}",
     "they contain \"example/cluster\" of kind \"Targett\" (did you mean kind \"Target\"?)"},
    {"kind: Targett\nmetadata: {name: cluster}",
     "they contain \"example/cluster\" of kind \"Targett\" (did you mean kind \"Target\"?)"},
    {"kind: Target\nmetadata: {name: clusster, namespace: example}",
     "they contain Target \"example/clusster\" (did you mean that?)"},
    {"kind: Target\nmetadata: {name: x}\n---\nkind: Target\nmetadata: {name: clustre}",
     "they contain Target \"example/clustre\" (did you mean that?)"},
};

static void names_a_similar_object_or_the_option(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct bundle bundle = {0};
        struct error err = {0};

        bundle_init(&bundle);
        assert_int_equal(
            bundle_add_text(&bundle, "files", cases[i].files, strlen(cases[i].files), &err), 0);
        assert_int_equal(missing_fail(&bundle,
                                      &(struct missing_object){"the item's target", KIND_TARGET,
                                                               "example", "cluster", "--target"},
                                      &err),
                         -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_memory_equal(err.text, START, strlen(START));
        assert_string_equal(err.text + strlen(START), cases[i].advice);
        bundle_done(&bundle);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_a_similar_object_or_the_option)};

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
