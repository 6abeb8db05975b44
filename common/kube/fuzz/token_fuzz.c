/* SPDX-License-Identifier: Apache-2.0 */
/* Property: the token is the content of the file without surrounding white space; white space alone
 * is an error.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "common/kube/config_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_close int fd = memfd_create("token", MFD_CLOEXEC);
    cleanup_free char *path = xasprintf("/proc/self/fd/%d", fd);
    cleanup_free char *text = xstrndup((const char *)data, size);
    cleanup_free char *token = NULL;
    const char *start = text;
    struct error err = {0};

    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    for (size_t length = strlen(text); length > 0 && is_blank(text[length - 1]); length--)
        text[length - 1] = '\0';
    while (is_blank(*start))
        start++;
    if (kube_config_read_token(path, &token, &err) < 0)
        must(!token && err.text[0] && (err.kind != ERROR_INVALID || !*start));
    else
        must(strcmp(token, start) == 0 && *token);
    return 0;
}
