/* SPDX-License-Identifier: Apache-2.0 */
/* Each system call of doc_read_file() fails once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/tests/fault.h"
#include "common/data/doc.h"

struct world {
    char path[32];
    struct buffer text;
};

static void forget(void *data)
{
    struct world *world = data;

    buffer_done(&world->text);
    buffer_init(&world->text, 100);
}

static int run(void *data, struct error *err)
{
    struct world *world = data;
    int result = doc_read_file(world->path, 100, &world->text, err);

    if (result < 0)
        assert_non_null(strstr(err->text, world->path));
    return result;
}

static void check(void *data, int result)
{
    const struct world *world = data;

    if (result == 0)
        assert_string_equal(world->text.data, "a: 1\n");
    else
        assert_int_equal(world->text.size, 0);
}

static void a_file_is_read_completely_or_named_in_the_error(void **state)
{
    struct world world = {.path = "/tmp/doc-fault-XXXXXX"};
    const struct fault_scenario scenario = {
        .name = "read a document", .prepare = forget, .run = run, .check = check, .data = &world};
    int fd = mkstemp(world.path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: 1\n", 5), 5);
    (void)close(fd);
    assert_true(fault_sweep(&scenario) >= 3);
    buffer_done(&world.text);
    (void)unlink(world.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_completely_or_named_in_the_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
