/* SPDX-License-Identifier: Apache-2.0 */
/* A tree is written below its directory and nowhere else: a canary beside it stays as it was, and
 * as many files are there as were counted at most. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/archive/beneath.h"
#include "common/data/doc.h"
#include "init/blueprint/yamlfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static char parent_path[] = "/tmp/longshore-yamlfs-XXXXXX";

static void remove_parent(void)
{
    char canary[sizeof(parent_path) + 8];

    (void)snprintf(canary, sizeof(canary), "%s/canary", parent_path);
    (void)rmdir(canary);
    (void)rmdir(parent_path);
}

/* The parent: made once, with the canary in it, and gone when the program ends. */
static int parent_directory(void)
{
    static int fd = -1;

    if (fd >= 0)
        return fd;
    must(mkdtemp(parent_path) != NULL);
    fd = open(parent_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(fd >= 0 && mkdirat(fd, "canary", 0755) == 0 && atexit(remove_parent) == 0);
    return fd;
}

static unsigned count_entries(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    unsigned count = 0;

    if (!directory)
        abort();
    while (readdir(directory))
        count++;
    (void)closedir(directory);
    return count - 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int parent = parent_directory();
    cleanup_close int fd = -1;
    cleanup_json json_t *value = NULL;
    cleanup_json json_t *tree = NULL;
    struct yamlfs_counts counts = {0};
    struct error err = {0};

    if (doc_parse_yaml((const char *)data, size, 1 << 16, &value, &err) < 0 ||
        yamlfs_open(value, &tree, &err) < 0)
        return 0;
    fd = beneath_make_directories(parent, "tree", &err);
    must(fd >= 0);
    if (yamlfs_write(tree, fd, &counts, &err) == 0)
        must(counts.files + counts.lists <= (uint64_t)size + 1);
    must(count_entries(parent, ".") == 2 && count_entries(parent, "canary") == 0);
    must(beneath_remove_tree(parent, "tree", &err) == 0);
    return 0;
}
