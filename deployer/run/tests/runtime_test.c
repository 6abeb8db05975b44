/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/data/doc.h"
#include "deployer/run/runtime.h"

static const struct {
    const char *text;
    pid_t pid;
} pids[] = {
    {"4711", 4711}, {"4711\n", 4711}, {"2", 2},          {"2147483647", 2147483647},
    {"1", 0},       {"0", 0},         {"-5", 0},         {"", 0},
    {"12x", 0},     {" 12", 0},       {"12\n13\n", 0},   {"2147483648", 0},
    {"x", 0},       {"\n", 0},        {"4294967298", 0},
};

static void a_pid_file_holds_one_process_id_above_1(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(pids); i++) {
        print_message("'%s'\n", pids[i].text);
        assert_int_equal(runtime_read_pid(pids[i].text), pids[i].pid);
    }
}

static const struct {
    const char *line;
    bool is_kill;
} lines[] = {
    {"oom_kill 1\n", true},
    {"oom_kill 25", true},
    {"oom_kill 0\n", false},
    {"oom_kill\n", false},
    {"oom_kill \n", false},
    {"oom_kill x\n", false},
    {"oom_kill -1\n", false},
    {"oom 3\n", false},
    {"oom_kill_disable 1\n", false},
    {"oom_group_kill 1\n", false},
    {"", false},
};

static void recognizes_a_kill_for_lack_of_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(lines); i++)
        assert_int_equal(runtime_is_kill_line(lines[i].line), lines[i].is_kill);
}

static const struct {
    const char *text, *message;
} logs[] = {
    {"", ""},
    {"{\"msg\":\"no such file\",\"level\":\"error\"}\n", "no such file"},
    {"{\"msg\":\"first\"}\n{\"msg\":\"last\"}", "last"},
    {"{\"msg\":\"last\"}\n{\"level\":\"info\"}\nnot JSON\n\n", "last"},
    {"[]\n5\n{\"msg\":5}\n", ""},
};

static void the_message_of_a_runtime_is_the_last_of_its_log(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(logs); i++) {
        cleanup_free char *message = runtime_log_message(logs[i].text);

        assert_string_equal(message, logs[i].message);
    }
}

static const struct {
    const char *line, *message;
} exec_lines[] = {
    {"{\"msg\":\"exec container process (missing dynamic library?) `/a`: No such file or "
     "directory\",\"level\":\"error\",\"time\":\"2026-11-17T15:24:44.883370Z\"}",
     "exec container process (missing dynamic library?) `/a`: No such file or directory"},
    {"exec /a: exec format error", "exec /a: exec format error"},
    {"{\"msg\":\"hello\"}", NULL},
    {"{\"msg\":5}", NULL},
    {"executing /a", NULL},
    {"", NULL},
};

static void recognizes_a_program_that_the_runtime_could_not_execute(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(exec_lines); i++) {
        cleanup_free char *message = runtime_exec_message(exec_lines[i].line);

        if (exec_lines[i].message)
            assert_string_equal(message, exec_lines[i].message);
        else
            assert_null(message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pid_file_holds_one_process_id_above_1),
        cmocka_unit_test(recognizes_a_kill_for_lack_of_memory),
        cmocka_unit_test(recognizes_a_program_that_the_runtime_could_not_execute),
        cmocka_unit_test(the_message_of_a_runtime_is_the_last_of_its_log),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
