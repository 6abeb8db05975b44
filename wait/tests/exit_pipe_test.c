/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "wait/exit_pipe.h"

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
    {"not yet", {"{\"exitCode\":0}"}, false, 0, MAIN_RUNNING, 0},
    {"the runner died", {NULL}, true, 1, MAIN_LOST, 0},
    {"the runner died in the middle", {"{\"exitCode\":0}"}, true, 1, MAIN_LOST, 0},
    {"nonsense", {"done\n"}, false, 1, MAIN_LOST, 0},
};

struct received {
    int calls;
    struct main_end end;
};

static void on_end(void *data, const struct main_end *end)
{
    struct received *received = data;

    received->calls++;
    received->end = *end;
}

static void turn(struct loop *loop)
{
    struct error err = {0};

    for (int i = 0; i < 4; i++)
        assert_int_equal(loop_run_once(loop, 0, &err), 0);
}

static void a_line_reports_the_end_and_a_dead_runner_reports_it_lost(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_loop struct loop *loop = NULL;
        struct exit_pipe *line = NULL;
        struct received received = {0};
        struct error err = {0};
        int pipe_fds[2] = {-1, -1};

        print_message("%s\n", cases[i].name);
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        assert_int_equal(loop_new(clock_system(), &loop, &err), 0);
        assert_int_equal(exit_pipe_start(loop, pipe_fds[0], on_end, &received, &line, &err), 0);
        turn(loop);
        assert_int_equal(received.calls, 0);
        for (int piece = 0; piece < 3 && cases[i].pieces[piece]; piece++) {
            const char *text = cases[i].pieces[piece];

            assert_int_equal(write(pipe_fds[1], text, strlen(text)), strlen(text));
            turn(loop);
        }
        if (cases[i].is_closed)
            assert_int_equal(close(pipe_fds[1]), 0);
        turn(loop);
        assert_int_equal(received.calls, cases[i].calls);
        assert_int_equal(received.end.kind, cases[i].kind);
        assert_int_equal(received.end.exit_code, cases[i].exit_code);
        exit_pipe_free(line);
        if (!cases[i].is_closed)
            assert_int_equal(close(pipe_fds[1]), 0);
    }
}

static void a_line_that_is_too_long_is_an_error(void **state)
{
    cleanup_loop struct loop *loop = NULL;
    struct exit_pipe *line = NULL;
    struct received received = {0};
    struct error err = {0};
    int pipe_fds[2] = {-1, -1};
    char blank[2 * MAIN_END_LINE_MAX];

    (void)state;
    memset(blank, ' ', sizeof(blank));
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    assert_int_equal(loop_new(clock_system(), &loop, &err), 0);
    assert_int_equal(exit_pipe_start(loop, pipe_fds[0], on_end, &received, &line, &err), 0);
    assert_int_equal(write(pipe_fds[1], blank, sizeof(blank)), sizeof(blank));
    for (int i = 0; i < 32 && !received.calls; i++)
        turn(loop);
    assert_int_equal(received.calls, 1);
    assert_int_equal(received.end.kind, MAIN_LOST);
    exit_pipe_free(line);
    assert_int_equal(close(pipe_fds[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_reports_the_end_and_a_dead_runner_reports_it_lost),
        cmocka_unit_test(a_line_that_is_too_long_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
