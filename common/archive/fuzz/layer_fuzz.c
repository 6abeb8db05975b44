/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the bytes say, a layer changes nothing outside of its root. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/archive/beneath.h"
#include "common/archive/layer.h"

static const struct archive_limits limits = {
    .bytes_max = 1 << 20, .file_max = 1 << 20, .entries_max = 200, .depth_max = 20};

static void check(int is_true)
{
    if (!is_true)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/layer-fuzz-XXXXXX";
    cleanup_close int packed = memfd_create("layer", MFD_CLOEXEC);
    cleanup_close int parent = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    cleanup_close int root = -1;
    struct layer_options options = {.limits = &limits};
    struct unpack_counts counts = {0};
    struct error err = {0};
    struct stat before = {0};
    struct stat after = {0};

    check(parent >= 0 && mkdirat(parent, "root", 0755) == 0);
    root = openat(parent, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(root >= 0 && write(packed, data, size) == (ssize_t)size &&
          lseek(packed, 0, SEEK_SET) == 0);
    check(fstat(parent, &before) == 0);
    if (layer_unpack(root, &options, packed, &counts, &err) < 0)
        check(err.kind != ERROR_NONE && err.text[0] != '\0');
    else
        check(counts.bytes <= limits.bytes_max && counts.entries <= limits.entries_max);
    check(fstat(parent, &after) == 0);
    /* An entry beside root/ would have changed the directory. */
    check(before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
          before.st_mtim.tv_nsec == after.st_mtim.tv_nsec && before.st_nlink == after.st_nlink);
    check(beneath_remove_tree(parent, "root", &err) == 0 && rmdir(path) == 0);
    return 0;
}
