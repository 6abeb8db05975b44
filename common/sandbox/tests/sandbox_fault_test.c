/* SPDX-License-Identifier: Apache-2.0 */
/* If a part of the sandbox fails, sandbox_enter() fails with a reason.
 * Each attempt is a separate process, because the sandbox can not be left. */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/tests/child.h"
#include "common/sandbox/parts.h"
#include "common/sandbox/sandbox.h"

enum { ANY = -1, WAS_REFUSED = 0, WAS_ENTERED = 1, WAS_SILENT = 2, WAS_NOT_MET = 3 };

static struct {
    const char *function;
    long number; /* option of prctl, number of a system call */
    int left;
} fault;

static bool strikes(const char *function, long number)
{
    if (!fault.function || strcmp(function, fault.function) != 0 ||
        (fault.number != ANY && fault.number != number) || --fault.left > 0)
        return false;
    fault.function = NULL;
    errno = EIO;
    return true;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names. */
int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);
int __wrap_prctl(int option, ...)
{
    unsigned long values[4] = {0};
    va_list arguments;

    va_start(arguments, option);
    for (size_t i = 0; i < array_length(values); i++)
        values[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    return strikes("prctl", option)
               ? -1
               : __real_prctl(option, values[0], values[1], values[2], values[3]);
}

/* Simulates a kernel with Landlock on one without. */
static long play_landlock(long number, const long values[4])
{
    if (number == SYS_landlock_create_ruleset)
        return values[0] ? open("/dev/null", O_RDONLY | O_CLOEXEC) : 1;
    return 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    size_t count = number == SYS_landlock_restrict_self    ? 2
                   : number == SYS_landlock_create_ruleset ? 3
                                                           : 4;
    long values[4] = {0};
    va_list arguments;

    va_start(arguments, number);
    for (size_t i = 0; i < count; i++)
        values[i] = va_arg(arguments, long);
    va_end(arguments);
    if (strikes("syscall", number))
        return -1;
    if (__real_syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0)
        return play_landlock(number, values);
    return __real_syscall(number, values[0], values[1], values[2], values[3]);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;

    va_start(arguments, flags);
    if (flags & O_CREAT) /* only libgcov does, which is wrapped as well */
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return strikes("open", ANY) ? -1 : __real_open(path, flags, mode);
}

int __real_cap_set_proc(cap_t capabilities);
int __wrap_cap_set_proc(cap_t capabilities);
int __wrap_cap_set_proc(cap_t capabilities)
{
    return strikes("cap_set_proc", ANY) ? -1 : __real_cap_set_proc(capabilities);
}

scmp_filter_ctx __real_seccomp_init(uint32_t action);
scmp_filter_ctx __wrap_seccomp_init(uint32_t action);
scmp_filter_ctx __wrap_seccomp_init(uint32_t action)
{
    return strikes("seccomp_init", ANY) ? NULL : __real_seccomp_init(action);
}

int __real_seccomp_attr_set(scmp_filter_ctx filter, enum scmp_filter_attr name, uint32_t value);
int __wrap_seccomp_attr_set(scmp_filter_ctx filter, enum scmp_filter_attr name, uint32_t value);
int __wrap_seccomp_attr_set(scmp_filter_ctx filter, enum scmp_filter_attr name, uint32_t value)
{
    return strikes("seccomp_attr_set", ANY) ? -EIO : __real_seccomp_attr_set(filter, name, value);
}

int __real_seccomp_rule_add_array(scmp_filter_ctx filter, uint32_t action, int call, unsigned count,
                                  const struct scmp_arg_cmp *arguments);
int __wrap_seccomp_rule_add_array(scmp_filter_ctx filter, uint32_t action, int call, unsigned count,
                                  const struct scmp_arg_cmp *arguments);
int __wrap_seccomp_rule_add_array(scmp_filter_ctx filter, uint32_t action, int call, unsigned count,
                                  const struct scmp_arg_cmp *arguments)
{
    return strikes("seccomp_rule_add_array", ANY)
               ? -EIO
               : __real_seccomp_rule_add_array(filter, action, call, count, arguments);
}

int __wrap_seccomp_rule_add(scmp_filter_ctx filter, uint32_t action, int call, unsigned count, ...);
int __wrap_seccomp_rule_add(scmp_filter_ctx filter, uint32_t action, int call, unsigned count, ...)
{
    assert_int_equal(count, 0);
    return strikes("seccomp_rule_add", ANY)
               ? -EIO
               : __real_seccomp_rule_add_array(filter, action, call, 0, NULL);
}

int __real_seccomp_load(scmp_filter_ctx filter);
int __wrap_seccomp_load(scmp_filter_ctx filter);
int __wrap_seccomp_load(scmp_filter_ctx filter)
{
    return strikes("seccomp_load", ANY) ? -EIO : __real_seccomp_load(filter);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static const struct {
    const char *function;
    long number;
    int nth;
    const char *message;
    bool is_of_filter; /* not used in sanitizer builds */
} cases[] = {
    {"prctl", PR_SET_NO_NEW_PRIVS, 1, "set no_new_privs: ", false},
    {"prctl", PR_CAPBSET_DROP, 1, "drop capability 0 from the bounding set: ", false},
    {"prctl", PR_CAPBSET_DROP, 20, "drop capability 19 from the bounding set: ", false},
    {"prctl", PR_CAP_AMBIENT, 1, "clear ambient capabilities: ", false},
    {"cap_set_proc", ANY, 1, "drop capabilities: ", false},
    {"open", ANY, 1, "open \"/\" for the sandbox: ", false},
    {"syscall", SYS_landlock_create_ruleset, 1, "query the Landlock ABI version: ", false},
    {"syscall", SYS_landlock_create_ruleset, 2, "create a Landlock ruleset: ", false},
    {"syscall", SYS_landlock_add_rule, 1, "allow \"/\" in the sandbox: ", false},
    {"syscall", SYS_landlock_add_rule, 2, "allow \"/etc/", false},
    {"syscall", SYS_landlock_restrict_self, 1, "enforce the Landlock ruleset: ", false},
    {"seccomp_init", ANY, 1, "create the seccomp filter: out of memory", true},
    {"seccomp_attr_set", ANY, 1, "load the seccomp filter: ", true},
    {"seccomp_attr_set", ANY, 2, "load the seccomp filter: ", true},
    {"seccomp_rule_add", ANY, 1, "load the seccomp filter: ", true},
    {"seccomp_rule_add", ANY, 30, "load the seccomp filter: ", true},
    {"seccomp_rule_add_array", ANY, 1, "load the seccomp filter: ", true},
    {"seccomp_rule_add_array", ANY, 3, "load the seccomp filter: ", true},
    {"seccomp_load", ANY, 1, "load the seccomp filter: ", true},
};

static int enter(size_t i)
{
    /* All of it, so that the counts of a coverage build can still be kept. */
    static const struct sandbox_path paths[] = {{.path = "/", .is_writable = true}};
    const struct sandbox_options options = {
        .paths = paths, .path_count = 1, .is_network_allowed = true, .is_listening = true};
    struct sandbox_result result = {0};
    struct error err = {0};

    fault.function = cases[i].function;
    fault.number = cases[i].number;
    fault.left = cases[i].nth;
    if (sandbox_enter(&options, &result, &err) < 0)
        return err.kind != ERROR_NONE && strstr(err.text, cases[i].message) ? WAS_REFUSED
                                                                            : WAS_SILENT;
    return fault.function ? WAS_NOT_MET : WAS_ENTERED;
}

static void a_part_that_fails_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        int status = 0;
        pid_t child = -1;

        if (cases[i].is_of_filter && SANDBOX_IS_SANITIZED)
            continue;
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
            child_exit(enter(i));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != WAS_REFUSED)
            fail_msg("%s number %d (%ld): status %x", cases[i].function, cases[i].nth,
                     cases[i].number, (unsigned)status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_that_fails_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
