/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer refuses. pack_test and the fuzzer check that archives are read back unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/archive/tar_writer.h"
#include "common/base/memory.h"

static int count_bytes(void *data, const void *bytes, size_t size, struct error *err)
{
    size_t *count = data;

    (void)bytes;
    (void)err;
    *count += size;
    return 0;
}

static void a_header_that_is_too_long_is_refused_and_nothing_written(void **state)
{
    size_t written = 0;
    cleanup_tar_writer struct tar_writer *writer = tar_writer_new(count_bytes, &written);
    cleanup_free char *name = xcalloc(1, 20001);
    struct tar_header header = {.name = name, .type = '0'};
    struct error err = {0};

    (void)state;
    memset(name, 'n', 20000);
    assert_int_equal(tar_writer_header(writer, &header, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_non_null(strstr(err.text, "more than 16384 bytes"));
    assert_int_equal(written, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_that_is_too_long_is_refused_and_nothing_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
