/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: the result for a table of /proc/net is that of a second implementation, which splits
 * lines into words; the inode of a link is the one it was made from. Input: the column, then text.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "wait/activity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t own[] = {77, 88};

/* The word in the column; NULL if the line is shorter. */
static const char *word_of(char *line, size_t column)
{
    char *rest = NULL;
    const char *word = strtok_r(line, " ", &rest);

    while (word && column-- > 0)
        word = strtok_r(NULL, " ", &rest);
    return word;
}

static bool is_foreign(const char *word)
{
    unsigned long long inode = 0;

    if (!word || word[strspn(word, "0123456789")])
        return true;
    errno = 0;
    inode = strtoull(word, NULL, 10);
    return errno || (inode != 0 && inode != own[0] && inode != own[1]);
}

static bool has_foreign(const char *table, size_t column)
{
    cleanup_free char *copy = xstrdup(table);
    char *line = strchr(copy, '\n');

    while (line && line[1]) {
        char *next = strchr(line + 1, '\n');

        if (next)
            *next = '\0';
        if (is_foreign(word_of(line + 1, column)))
            return true;
        line = next;
    }
    return false;
}

static void check_link(const char *text)
{
    cleanup_free char *target = xasprintf("socket:[%s]", text);
    cleanup_free char *written = NULL;
    uint64_t inode = activity_socket_inode(target);

    must(activity_socket_inode(text) == 0 || strncmp(text, "socket:[", 8) == 0);
    if (inode == 0)
        return;
    written = xasprintf("%llu", (unsigned long long)inode);
    must(strcmp(written, text + strspn(text, "0")) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t column = size ? data[0] % 12 : 0;
    cleanup_free char *text = size ? xstrndup((const char *)data + 1, size - 1) : xstrdup("");

    must(activity_has_foreign_socket(text, column, own, array_length(own)) ==
         has_foreign(text, column));
    check_link(text);
    return 0;
}
