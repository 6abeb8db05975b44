/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/tests/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"

enum { DESCRIPTION_MAX = 64 << 20 };

static void describe_into(struct buffer *text, int directory_fd, const char *prefix, bool is_exact,
                          const char *excluded)
{
    struct error err = {0};
    struct dirent **entries = NULL;
    cleanup_close int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int count = scandirat(fd, ".", &entries, NULL, alphasort);

    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        cleanup_free char *name = xstrdup(entries[i]->d_name);
        cleanup_free char *path = xasprintf("%s%s", prefix, name);
        cleanup_free char *below = xasprintf("%s/", path);
        char target[4096] = "";
        struct stat stat = {0};

        free(entries[i]);
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            (excluded && strcmp(path, excluded) == 0))
            continue;
        assert_int_equal(fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(buffer_append_text(text, &err, "%s %o", path, stat.st_mode & S_IFMT), 0);
        if (is_exact)
            assert_int_equal(buffer_append_text(text, &err, " %o %lld.%09ld", stat.st_mode & 07777,
                                                (long long)stat.st_mtim.tv_sec,
                                                stat.st_mtim.tv_nsec),
                             0);
        if (S_ISLNK(stat.st_mode)) {
            assert_true(readlinkat(fd, name, target, sizeof(target) - 1) > 0);
            assert_int_equal(buffer_append_text(text, &err, " -> %s\n", target), 0);
        } else if (S_ISREG(stat.st_mode)) {
            cleanup_free char *contents = scratch_read(fd, name);

            assert_int_equal(buffer_append_text(text, &err, " %lld %s\n", (long long)stat.st_size,
                                                contents ? contents : "?"),
                             0);
        } else {
            assert_int_equal(buffer_append_text(text, &err, "\n"), 0);
        }
        if (S_ISDIR(stat.st_mode)) {
            cleanup_close int child = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

            if (child >= 0)
                describe_into(text, child, below, is_exact, excluded);
        }
    }
    free(entries);
}

char *scratch_describe(int directory_fd, bool is_exact)
{
    cleanup_buffer struct buffer text = {0};

    buffer_init(&text, DESCRIPTION_MAX);
    describe_into(&text, directory_fd, "", is_exact, NULL);
    return buffer_take(&text);
}

static char *describe_outside(const struct scratch *scratch)
{
    cleanup_buffer struct buffer text = {0};

    buffer_init(&text, DESCRIPTION_MAX);
    describe_into(&text, scratch->fd, "", true, "root");
    return buffer_take(&text);
}

void scratch_init(struct scratch *scratch)
{
    *scratch = (struct scratch){.path = "/tmp/longshore-archive-XXXXXX", .fd = -1, .root_fd = -1};
    assert_non_null(mkdtemp(scratch->path));
    scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(scratch->fd, "root", 0777), 0);
    assert_int_equal(mkdirat(scratch->fd, "outside", 0777), 0);
    scratch_write(scratch->fd, "outside/secret", "secret");
    scratch_write(scratch->fd, "x", "above");
    scratch->root_fd = openat(scratch->fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scratch->outside = describe_outside(scratch);
}

void scratch_clear(struct scratch *scratch)
{
    struct error err = {0};

    assert_int_equal(beneath_remove_tree(scratch->fd, "root", &err), 0);
    (void)close(scratch->root_fd);
    assert_int_equal(mkdirat(scratch->fd, "root", 0777), 0);
    scratch->root_fd = openat(scratch->fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void scratch_done(struct scratch *scratch)
{
    cleanup_free char *outside = scratch->fd < 0 ? NULL : describe_outside(scratch);
    cleanup_close int tmp_fd = -1;
    struct error err = {0};

    if (scratch->fd < 0)
        return;
    assert_string_equal(outside, scratch->outside);
    (void)close(scratch->root_fd);
    (void)close(scratch->fd);
    scratch->fd = -1;
    free(scratch->outside);
    tmp_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(beneath_remove_tree(tmp_fd, strrchr(scratch->path, '/') + 1, &err), 0);
}

void scratch_write(int directory_fd, const char *path, const char *text)
{
    cleanup_close int fd =
        openat(directory_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t size = strlen(text);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), size);
}

void scratch_write_noise(int directory_fd, const char *path, size_t size, uint64_t seed)
{
    cleanup_free char *noise = xmalloc(size);
    cleanup_close int fd = openat(directory_fd, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    for (size_t i = 0; i < size; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        noise[i] = (char)(seed >> 56);
    }
    assert_int_equal(write(fd, noise, size), size);
}

char *scratch_read(int directory_fd, const char *path)
{
    cleanup_close int fd = openat(directory_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};
    char piece[4096];
    ssize_t size = 0;

    if (fd < 0)
        return NULL;
    buffer_init(&text, DESCRIPTION_MAX);
    while ((size = read(fd, piece, sizeof(piece))) > 0)
        assert_int_equal(buffer_append(&text, piece, (size_t)size, &err), 0);
    return size < 0 ? NULL : buffer_take(&text);
}
