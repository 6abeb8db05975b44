/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/cleanup.h"

static const char *const words[] = {"image",  "imports",   "run",         "render", "validate",
                                    "Exists", "container", "ociRegistry", "x",      NULL};

static const struct {
    const char *given, *meant; /* meant NULL: no suggestion */
} cases[] = {
    {"image", "image"},
    {"imag", "image"},
    {"imagee", "image"},
    {"imaeg", "image"},
    {"Image", "image"},
    {"IMAGE", "image"},
    {"rn", "run"},
    {"rum", "run"},
    {"exist", "Exists"},
    {"contaner", "container"},
    {"ociRegistri", "ociRegistry"},
    {"validaet", "validate"},
    {"script", NULL},
    {"", NULL},
    {"q", NULL},
    {"xy", NULL},
    {"im", NULL},
    {"something else entirely", NULL},
};

static void finds_the_most_similar_word_or_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        const char *found = suggest(cases[i].given, words);

        if (!cases[i].meant)
            assert_null(found);
        else
            assert_string_equal(found, cases[i].meant);
    }
}

static void prefers_fewer_edits_and_then_the_first(void **state)
{
    static const char *const near[] = {"secretKey", "secretRef", "secrets", NULL};

    (void)state;
    assert_ptr_equal(suggest("secretRfe", near), near[1]);
    assert_ptr_equal(suggest("secretXxx", near), near[0]);
    assert_ptr_equal(suggest("secret", near), near[2]);
}

static void compares_words_up_to_a_limit(void **state)
{
    char longest[65] = {0}, longer[66] = {0};
    const char *const candidates[] = {longest, longer, NULL};

    (void)state;
    memset(longest, 'a', 64);
    memset(longer, 'b', 65);
    assert_ptr_equal(suggest(longest, candidates), longest);
    assert_null(suggest(longer, candidates));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_most_similar_word_or_none),
        cmocka_unit_test(prefers_fewer_edits_and_then_the_first),
        cmocka_unit_test(compares_words_up_to_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
