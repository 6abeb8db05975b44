/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "wait/runner_line.h"

static const struct {
    const char *name;
    const char *pieces[3]; /* written one by one; NULL ends */
    bool is_closed;        /* by the runner, afterwards */
    int calls;
    enum main_end_kind kind;
    int exit_code;
} cases[] = {
    {"one line", {"{\"exitCode\":0}\n"}, false, 1, MAIN_ENDED, 0},
    {"in pieces", {"{\"exit", "Code\":", "7}\n"}, false, 1, MAIN_ENDED, 7},
    {"what follows is not read", {"{\"exitCode\":1}\n{\"exitCode\":0}\n"}, true, 1, MAIN_ENDED, 1},
    {"not yet", {"{\"exitCode\":0}"}, false, 0, MAIN_RUNS, 0},
    {"the runner died", {NULL}, true, 1, MAIN_LOST, 0},
    {"the runner died in the middle", {"{\"exitCode\":0}"}, true, 1, MAIN_LOST, 0},
    {"nonsense", {"done\n"}, false, 1, MAIN_LOST, 0},
};

struct told {
    int calls;
    struct main_end end;
};

static void on_end(void *data, const struct main_end *end)
{
    struct told *told = data;

    told->calls++;
    told->end = *end;
}

static void turn(struct loop *loop)
{
    struct error err = {0};

    for (int i = 0; i < 4; i++)
        assert_int_equal(loop_run_once(loop, 0, &err), 0);
}

static void main_ends_with_a_line_and_is_lost_with_the_runner(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_loop struct loop *loop = NULL;
        struct runner_line *line = NULL;
        struct told told = {0};
        struct error err = {0};
        int pipe_fds[2] = {-1, -1};

        print_message("%s\n", cases[i].name);
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        assert_int_equal(loop_new(clock_system(), &loop, &err), 0);
        assert_int_equal(runner_line_start(loop, pipe_fds[0], on_end, &told, &line, &err), 0);
        turn(loop);
        assert_int_equal(told.calls, 0);
        for (int piece = 0; piece < 3 && cases[i].pieces[piece]; piece++) {
            const char *text = cases[i].pieces[piece];

            assert_int_equal(write(pipe_fds[1], text, strlen(text)), strlen(text));
            turn(loop);
        }
        if (cases[i].is_closed)
            assert_int_equal(close(pipe_fds[1]), 0);
        turn(loop);
        assert_int_equal(told.calls, cases[i].calls);
        assert_int_equal(told.end.kind, cases[i].kind);
        assert_int_equal(told.end.exit_code, cases[i].exit_code);
        runner_line_free(line);
        if (!cases[i].is_closed)
            assert_int_equal(close(pipe_fds[1]), 0);
    }
}

static void a_line_without_end_is_bounded(void **state)
{
    cleanup_loop struct loop *loop = NULL;
    struct runner_line *line = NULL;
    struct told told = {0};
    struct error err = {0};
    int pipe_fds[2] = {-1, -1};
    char blank[2 * MAIN_END_LINE_MAX];

    (void)state;
    memset(blank, ' ', sizeof(blank));
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    assert_int_equal(loop_new(clock_system(), &loop, &err), 0);
    assert_int_equal(runner_line_start(loop, pipe_fds[0], on_end, &told, &line, &err), 0);
    assert_int_equal(write(pipe_fds[1], blank, sizeof(blank)), sizeof(blank));
    for (int i = 0; i < 32 && !told.calls; i++)
        turn(loop);
    assert_int_equal(told.calls, 1);
    assert_int_equal(told.end.kind, MAIN_LOST);
    runner_line_free(line);
    assert_int_equal(close(pipe_fds[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(main_ends_with_a_line_and_is_lost_with_the_runner),
        cmocka_unit_test(a_line_without_end_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
