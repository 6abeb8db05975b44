/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: an accepted pid file contains one process id above 1; a line of a control group file
 * reports a kill if and only if its number is not zero. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "deployer/run/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pid(const char *text)
{
    pid_t pid = runtime_read_pid(text);
    cleanup_free char *written = xasprintf("%ld", (long)pid);
    cleanup_free char *line = xasprintf("%ld\n", (long)pid);

    text += strspn(text, "0");
    must(pid == 0 || pid > 1);
    must(pid == 0 || strcmp(text, written) == 0 || strcmp(text, line) == 0);
}

static void check_kills(const char *text)
{
    cleanup_free char *line = xasprintf("oom_kill %s", text);
    size_t digits = strspn(text, "0123456789");
    bool is_number = digits > 0 && (!text[digits] || strcmp(text + digits, "\n") == 0);

    if (digits < 20)
        must(runtime_is_kill_line(line) == (is_number && text[strspn(text, "0")] > '0'));
    must(!runtime_is_kill_line(text) || strncmp(text, "oom_kill ", 9) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size);

    check_pid(text);
    check_kills(text);
    return 0;
}
