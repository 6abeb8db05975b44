/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/archive/sorted_names.h"
#include "common/archive/tests/scratch.h"
#include "common/base/memory.h"

enum { FILES = 700 };

/* Enough for all, for a few, for one at a time, and for less than one. */
static const size_t memories[] = {1 << 20, 5000, 600, 100, 1};

static void returns_every_name_once_in_byte_order_with_any_memory(void **state)
{
    cleanup_scratch struct scratch scratch;

    (void)state;
    scratch_init(&scratch);
    for (unsigned i = 0; i < FILES; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "%c%u\xff", 'a' + (char)(i * 7 % 26), i * 7919 % 1000);
        scratch_write(scratch.root_fd, name, "");
    }
    for (size_t i = 0; i < array_length(memories); i++) {
        DIR *directory = fdopendir(dup(scratch.root_fd));
        struct sorted_names names = {0};
        cleanup_free char *last = xstrdup("");
        const char *name = NULL;
        struct error err = {0};
        int count = 0;

        sorted_names_init(&names, memories[i]);
        while (sorted_names_next(&names, directory, &name, &err) == 0 && name) {
            assert_true(strcmp(name, last) > 0);
            free(last);
            last = xstrdup(name);
            count++;
            assert_true(names.bytes <= memories[i] || names.count == 1);
        }
        assert_int_equal(count, FILES);
        sorted_names_done(&names);
        (void)closedir(directory);
    }
}

static void an_empty_directory_has_no_names(void **state)
{
    cleanup_scratch struct scratch scratch;
    struct sorted_names names = {0};
    const char *name = "";
    struct error err = {0};
    DIR *directory = NULL;

    (void)state;
    scratch_init(&scratch);
    directory = fdopendir(dup(scratch.root_fd));
    sorted_names_init(&names, 100);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sorted_names_next(&names, directory, &name, &err), 0);
        assert_null(name);
    }
    sorted_names_done(&names);
    (void)closedir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_every_name_once_in_byte_order_with_any_memory),
        cmocka_unit_test(an_empty_directory_has_no_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
