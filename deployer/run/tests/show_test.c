/* SPDX-License-Identifier: Apache-2.0 */
/* What is written to stderr, to a file and to a terminal of 40 columns. */
#include "deployer/run/show.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

struct world {
    struct clock_fake clock;
    struct show *show;
    int saved, reader; /* the real stderr, and what replaces it */
    char text[8192];
};

static void replace_stderr(struct world *world, int writer, int reader)
{
    world->saved = dup(STDERR_FILENO);
    world->reader = reader;
    assert_true(world->saved >= 0 && dup2(writer, STDERR_FILENO) >= 0);
    (void)close(writer);
    clock_fake_init(&world->clock, 0);
}

static void begin(struct world *world)
{
    int fds[2] = {-1, -1};

    *world = (struct world){0};
    assert_int_equal(pipe(fds), 0);
    replace_stderr(world, fds[1], fds[0]);
    world->show = show_new(false, &world->clock.clock);
}

static void begin_on_terminal(struct world *world, const char *no_color)
{
    struct winsize size = {.ws_row = 24, .ws_col = 40};
    struct termios raw = {0};
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    int terminal = -1;

    *world = (struct world){0};
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
    terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && tcgetattr(terminal, &raw) == 0);
    cfmakeraw(&raw); /* newlines as they are written */
    assert_int_equal(tcsetattr(terminal, TCSANOW, &raw), 0);
    assert_int_equal(setenv("TERM", "xterm", 1) | setenv("NO_COLOR", no_color, 1), 0);
    replace_stderr(world, terminal, master);
    world->show = show_new(false, &world->clock.clock);
}

/* What was written since the last call. A terminal passes it on with a delay, so that a mark is
 * sent behind it. */
static const char *written(struct world *world)
{
    static const char mark = '\001';
    size_t size = 0;

    (void)fflush(stderr);
    assert_int_equal(write(STDERR_FILENO, &mark, 1), 1);
    while (size == 0 || world->text[size - 1] != mark) {
        ssize_t more = read(world->reader, world->text + size, sizeof(world->text) - size);

        assert_true(more > 0);
        size += (size_t)more;
    }
    world->text[size - 1] = '\0';
    return world->text;
}

static void end(struct world *world)
{
    show_free(world->show);
    assert_true(dup2(world->saved, STDERR_FILENO) >= 0);
    (void)close(world->saved);
    (void)close(world->reader);
}

static void a_pipe_gets_whole_lines(void **state)
{
    struct world world;

    (void)state;
    begin(&world);
    assert_false(show_is_live(world.show));
    show_begin(world.show, "image", "reading");
    show_progress(world.show, "layer 1 of 2", 1000000);
    show_tick(world.show);
    assert_string_equal(written(&world), "");
    clock_fake_advance(&world.clock, 1250);
    show_retry(world.show, "GET \"https://x/v2/\": Could not resolve host: x", 4000);
    assert_string_equal(written(&world),
                        "image      1.25 s  retrying in 4 s: Could not resolve host: x\n");
    assert_string_equal(show_last_retry(world.show),
                        "GET \"https://x/v2/\": Could not resolve host: x");
    show_retry(world.show, "timeout", 250);
    assert_string_equal(written(&world), "image      1.25 s  retrying in 0.2 s: timeout\n");
    show_end(world.show, "%s", "done");
    show_note(world.show, "x %d", 1);
    show_warning(world.show, "y");
    assert_string_equal(written(&world), "image      1.25 s  done\nnote: x 1\nwarning: y\n");
    show_begin(world.show, "init", "");
    assert_string_equal(show_last_retry(world.show), "");
    end(&world);
}

static void a_terminal_shows_the_step_in_progress_in_one_line(void **state)
{
    struct world world;

    (void)state;
    begin_on_terminal(&world, "1");
    assert_true(show_is_live(world.show));
    show_begin(world.show, "image", "reading");
    assert_string_equal(written(&world), "image      0.00 s  reading");
    clock_fake_advance(&world.clock, 50);
    show_progress(world.show, "layer 1 of 2", 1000000);
    assert_string_equal(written(&world), ""); /* too soon */
    clock_fake_advance(&world.clock, 50);
    show_progress(world.show, "layer 1 of 2", 2000000);
    assert_string_equal(written(&world), "\r\033[Kimage      0.10 s  layer 1 of 2, 2.0 ");
    clock_fake_advance(&world.clock, 1000);
    show_tick(world.show);
    assert_string_equal(written(&world), "\r\033[Kimage      1.10 s  layer 1 of 2, 2.0 ");
    show_retry(world.show, "timeout", 2000);
    assert_string_equal(written(&world), "\r\033[Kimage      1.10 s  retrying in 2 s: t");
    show_output(world.show, "main", "hello\nwor", 9);
    assert_string_equal(written(&world), "\r\033[Kmain | hello\n");
    show_tick(world.show);
    show_clear(world.show);
    assert_string_equal(written(&world), "image      1.10 s  retrying in 2 s: t\r\033[K");
    show_end(world.show, "a line that is longer than the terminal is wide");
    show_tick(world.show); /* no step in progress */
    assert_string_equal(written(&world), "image      1.10 s  a line that is longer than the "
                                         "terminal is wide\n");
    end(&world);
}

static void a_terminal_has_colors_unless_they_are_not_wanted(void **state)
{
    struct world world;

    (void)state;
    begin_on_terminal(&world, "");
    show_warning(world.show, "x");
    show_note(world.show, "this text is longer than %d columns", 40);
    assert_string_equal(written(&world),
                        "\033[33mwarning:\033[0m x\n\033[1mnote:\033[0m this text is "
                        "longer than 40\n  columns\n");
    show_output(world.show, "main", "hello\n", 6);
    assert_string_equal(written(&world), "\033[2mmain |\033[0m hello\n");
    end(&world);
}

static void the_last_lines_of_each_program_are_kept(void **state)
{
    cleanup_json json_t *lines = NULL;
    struct world world;
    char line[16] = {0};

    (void)state;
    begin(&world);
    for (int i = 1; i <= 30; i++) {
        (void)snprintf(line, sizeof(line), "line %d\n", i);
        show_output(world.show, "main", line, strlen(line));
        show_output(world.show, "init", line, strlen(line));
    }
    show_output(world.show, "main", "\xff end", 5);
    show_output(world.show, "main", "", 0);
    lines = show_tail_lines(world.show, "main");
    assert_int_equal(json_array_size(lines), 20);
    assert_string_equal(json_string_value(json_array_get(lines, 0)), "line 12");
    assert_string_equal(json_string_value(json_array_get(lines, 19)), "\xef\xbf\xbd end");
    (void)written(&world);
    show_tail(world.show, "main"); /* was shown */
    assert_string_equal(written(&world), "");
    show_tail(world.show, "init");
    assert_memory_equal(written(&world), "init | line 11\n", 15);
    end(&world);
}

static bool swallow_first(void *data, const char *line)
{
    int *count = data;

    return ++*count == 1 && strcmp(line, "first") == 0;
}

static void a_watched_line_can_be_taken_away(void **state)
{
    cleanup_json json_t *lines = NULL;
    struct world world;
    int count = 0;

    (void)state;
    begin(&world);
    show_watch(world.show, "main", swallow_first, &count);
    show_output(world.show, "main", "first\nfirst\n", 12);
    assert_string_equal(written(&world), "main | first\n");
    lines = show_tail_lines(world.show, "main");
    assert_int_equal(json_array_size(lines), 1);
    assert_int_equal(count, 2);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_gets_whole_lines),
        cmocka_unit_test(a_terminal_shows_the_step_in_progress_in_one_line),
        cmocka_unit_test(a_terminal_has_colors_unless_they_are_not_wanted),
        cmocka_unit_test(the_last_lines_of_each_program_are_kept),
        cmocka_unit_test(a_watched_line_can_be_taken_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
