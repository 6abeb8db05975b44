/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/exit.h"

#include <inttypes.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

enum { SIGNAL_BASE = 128 };

static const char *signal_name(int64_t number)
{
    static const struct {
        int64_t number;
        const char *name;
    } names[] = {{1, "SIGHUP"},   {2, "SIGINT"},   {3, "SIGQUIT"},  {4, "SIGILL"},
                 {6, "SIGABRT"},  {7, "SIGBUS"},   {8, "SIGFPE"},   {9, "SIGKILL"},
                 {11, "SIGSEGV"}, {13, "SIGPIPE"}, {15, "SIGTERM"}, {24, "SIGXCPU"},
                 {25, "SIGXFSZ"}, {31, "SIGSYS"}};

    for (size_t i = 0; i < array_length(names); i++) {
        if (names[i].number == number)
            return names[i].name;
    }
    return NULL;
}

char *exit_describe(const json_t *terminated)
{
    int64_t code = doc_integer_or(terminated, "exitCode", -1);
    int64_t number = doc_integer_or(terminated, "signal", 0);
    const char *name = NULL;

    if (number == 0 && code > SIGNAL_BASE && code < SIGNAL_BASE + 65)
        number = code - SIGNAL_BASE;
    name = signal_name(number);
    if (number <= 0)
        return xasprintf("exit code %" PRId64, code);
    return xasprintf("exit code %" PRId64 ", signal %" PRId64 "%s%s%s", code, number,
                     name ? " (" : "", name ? name : "", name ? ")" : "");
}
