/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: for any layer, nothing outside of the root is changed or linked to, and the limits
 * are enforced. The root contains symlinks that lead out of it.
 *
 * The first byte of the input chooses how paths are opened; with CHOICE_CHECKSUM the checksums of
 * tar headers are corrected, so that the fuzzer gets past them. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

#include "common/archive/beneath.h"
#include "common/archive/fuzz/place.h"
#include "common/archive/fuzz/tar_checksum.h"
#include "common/archive/layer.h"
#include "common/base/memory.h"

enum { CHOICE_WALK = 1, CHOICE_CHECKSUM = 2 };

static const struct archive_limits limits = {
    .bytes_max = 1 << 20, .file_max = 1 << 19, .entries_max = 64, .depth_max = 8};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Files that a lower layer may have created. */
static int make_root(void)
{
    struct error err = {0};
    char absolute[sizeof(place_path) + sizeof("/outside")];
    int root_fd = -1;

    require(beneath_remove_tree(place(), "root", &err) == 0);
    root_fd = beneath_make_directories(place(), "root", &err);
    (void)snprintf(absolute, sizeof(absolute), "%s/outside", place_path);
    require(root_fd >= 0 && symlinkat("../outside", root_fd, "up") == 0 &&
            symlinkat(absolute, root_fd, "abs") == 0 &&
            symlinkat("../outside/secret", root_fd, "file") == 0 &&
            symlinkat("up", root_fd, "chain") == 0 &&
            beneath_write_file(root_fd, "d/sub/old", "old", 3, 0600, &err) == 0 &&
            beneath_make_symlink(root_fd, "d/up", "../../outside", &err) == 0);
    return root_fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t choice = size ? data[0] : 0;
    size_t tar_size = size ? size - 1 : 0;
    cleanup_free uint8_t *tar = xmemdup(size ? data + 1 : data, tar_size);
    const struct layer_options options = {.limits = &limits};
    cleanup_close int packed_fd = memfd_create("layer", MFD_CLOEXEC);
    cleanup_close int root_fd = -1;
    struct unpack_counts counts = {0};
    struct error err = {0};

    beneath_force_walk(choice & CHOICE_WALK);
    if (choice & CHOICE_CHECKSUM)
        mend_checksums(tar, tar_size);
    root_fd = make_root();
    require(packed_fd >= 0 && write(packed_fd, tar, tar_size) == (ssize_t)tar_size &&
            lseek(packed_fd, 0, SEEK_SET) == 0);
    if (layer_unpack(root_fd, &options, packed_fd, &counts, &err) == 0)
        require(counts.bytes <= limits.bytes_max && counts.entries <= limits.entries_max);
    else
        require(err.kind != ERROR_NONE && err.text[0]);
    place_check();
    return 0;
}
