/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/archive/leading_file.h"
#include "common/archive/tests/memory_source.h"
#include "common/archive/tests/scratch.h"
#include "common/archive/unpack.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"

static int keep(void *data, const void *bytes, size_t size, struct error *err)
{
    return buffer_append(data, bytes, size, err);
}

static void unpack(int root_fd, const struct buffer *packed)
{
    const struct unpack_options options = {.policy = UNPACK_STATE, .limits = &ARCHIVE_LIMITS_STATE};
    struct memory_source source = {.bytes = packed->data, .size = packed->size, .piece = 4096};
    struct unpack_counts counts = {0};
    struct error err = {0};

    if (unpack_stream(root_fd, &options, memory_source_read, &source, &counts, &err) < 0)
        fail_msg("%s", err.text);
}

static void a_leading_file_joins_the_archive_that_follows(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_buffer struct buffer packed = {0};
    const struct pack_options options = {
        .limits = &ARCHIVE_LIMITS_STATE, .write = keep, .data = &packed};
    cleanup_free char *added = NULL;
    cleanup_free char *old = NULL;
    struct pack_counts counts = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    buffer_init(&packed, 1 << 20);
    scratch_write(scratch.root_fd, "old", "1");
    assert_int_equal(leading_file_pack("top/added", "text", keep, &packed, &err), 0);
    assert_int_equal(pack_tree(scratch.root_fd, &options, &counts, &err), 0);
    scratch_clear(&scratch);
    unpack(scratch.root_fd, &packed);
    added = scratch_read(scratch.root_fd, "top/added");
    old = scratch_read(scratch.root_fd, "old");
    assert_string_equal(added, "text");
    assert_string_equal(old, "1");
}

static void an_error_of_the_sink_is_returned(void **state)
{
    cleanup_buffer struct buffer small = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&small, 10);
    assert_int_equal(leading_file_pack("a", "b", keep, &small, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leading_file_joins_the_archive_that_follows),
        cmocka_unit_test(an_error_of_the_sink_is_returned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
