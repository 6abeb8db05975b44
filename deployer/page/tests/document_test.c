/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/archive/gzip.h"
#include "common/base/memory.h"
#include "deployer/page/document.h"

static size_t count(const struct document *document, const char *part)
{
    const char *at = document->text, *end = document->text + document->size;
    size_t found = 0;

    while ((at = memmem(at, (size_t)(end - at), part, strlen(part)))) {
        at += strlen(part);
        found++;
    }
    return found;
}

static void the_document_needs_no_other_file(void **state)
{
    static const struct {
        const char *part;
        size_t count;
    } cases[] = {
        {"<!doctype html>", 1},
        {"<style>", 1},
        {"</style>", 1},
        {"<script type=\"module\">", 1},
        {"<script", 1},
        {"</script>", 1},
        {"</html>", 1},
        {"<link ", 1}, /* the icon */
        {"href=\"data:image/svg+xml,", 1},
        {" src=", 0},
        {"url(", 0},
        {"@import", 0},
        {"import ", 0},
        {" style=", 0}, /* would not be allowed by the policy, as the two below */
        {" onclick=", 0},
        {"javascript:", 0},
        {"@STYLE@", 0},
        {"@SCRIPT@", 0},
        {"@ICON", 0},
        /* The names of XML, in the icon, and of SVG for the scripts; and no other address. */
        {"http://www.w3.org/2000/svg", 3},
        {"http", 3},
    };
    struct document document = {0};

    (void)state;
    document_init(&document);
    for (size_t i = 0; i < array_length(cases); i++) {
        if (count(&document, cases[i].part) != cases[i].count)
            fail_msg("%s: %zu times", cases[i].part, count(&document, cases[i].part));
    }
    document_done(&document);
    document_done(&document);
}

static void the_packed_document_is_the_same_and_smaller(void **state)
{
    struct document document = {0};
    cleanup_buffer struct buffer plain = {0};
    struct error err = {0};

    (void)state;
    document_init(&document);
    buffer_init(&plain, 1 << 20);
    assert_int_equal(gzip_unpack(document.packed.data, document.packed.size, &plain, &err), 0);
    assert_int_equal(plain.size, document.size);
    assert_memory_equal(plain.data, document.text, document.size);
    assert_true(document.packed.size < document.size / 2);
    document_done(&document);
}

static void the_policy_allows_one_style_and_one_script(void **state)
{
    struct document document = {0};

    (void)state;
    document_init(&document);
    assert_memory_equal(document.policy, "default-src 'none'; script-src 'sha256-", 39);
    assert_non_null(strstr(document.policy, "='; style-src 'sha256-"));
    assert_non_null(strstr(document.policy, "='; connect-src 'self'; img-src data:; base-uri "
                                            "'none'; form-action 'none'; frame-ancestors 'none'"));
    assert_null(strstr(document.policy, "unsafe"));
    document_done(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_needs_no_other_file),
        cmocka_unit_test(the_packed_document_is_the_same_and_smaller),
        cmocka_unit_test(the_policy_allows_one_style_and_one_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
