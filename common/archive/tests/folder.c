/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/tests/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/fuzz/must.h"

enum { BLOCK = 512, TAR_MAX = 64 * 1024 };

void folder_make(struct folder *folder)
{
    (void)snprintf(folder->path, sizeof(folder->path), "/tmp/longshore-test-XXXXXX");
    must(mkdtemp(folder->path) != NULL);
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(folder->fd >= 0);
}

void folder_remove(struct folder *folder)
{
    cleanup_close int parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct error err = {0};

    must(beneath_remove_tree(parent, folder->path + strlen("/tmp/"), &err) == 0);
    (void)close(folder->fd);
}

void folder_write(const struct folder *folder, const char *name, const void *data, size_t size)
{
    struct error err = {0};
    cleanup_close int fd = beneath_create_file(folder->fd, name, 0644, &err);

    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
}

void folder_write_text(const struct folder *folder, const char *name, const char *text)
{
    folder_write(folder, name, text, strlen(text));
}

char *folder_read(const struct folder *folder, const char *name)
{
    cleanup_close int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *text = NULL;
    ssize_t size = 0;

    if (fd < 0)
        return NULL;
    text = xcalloc(TAR_MAX + 1, 1);
    size = read(fd, text, TAR_MAX);
    must(size >= 0);
    return text;
}

int folder_count(const struct folder *folder, const char *name)
{
    int fd = openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry = NULL;
    int count = 0;

    if (!directory)
        return -1;
    while ((entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            count++;
    }
    (void)closedir(directory);
    return count;
}

static void add_file(char *tar, size_t *used, const char *name, const char *text)
{
    char *head = tar + *used;
    unsigned sum = 0;

    must(*used + BLOCK * 2 + strlen(text) + BLOCK < TAR_MAX);
    (void)snprintf(head, 100, "%s", name);
    (void)snprintf(head + 100, 8, "%07o", 0644U);
    (void)snprintf(head + 108, 8, "%07o", 0U);
    (void)snprintf(head + 116, 8, "%07o", 0U);
    (void)snprintf(head + 124, 12, "%011o", (unsigned)strlen(text) & 0xffffU);
    (void)snprintf(head + 136, 12, "%011o", 0U);
    memset(head + 148, ' ', 8);
    head[156] = '0';
    (void)snprintf(head + 257, 8, "ustar");
    head[263] = head[264] = '0';
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)head[i];
    (void)snprintf(head + 148, 8, "%06o", sum);
    (void)snprintf(head + BLOCK, TAR_MAX - *used - BLOCK, "%s", text);
    *used += BLOCK + (strlen(text) + BLOCK - 1) / BLOCK * BLOCK;
}

char *folder_tar(size_t *ret_size, ...)
{
    char *tar = xcalloc(TAR_MAX, 1);
    size_t used = 0;
    const char *name = NULL;
    va_list arguments;

    va_start(arguments, ret_size);
    while ((name = va_arg(arguments, const char *)))
        add_file(tar, &used, name, va_arg(arguments, const char *));
    va_end(arguments);
    *ret_size = used + (size_t)BLOCK * 2;
    return tar;
}
