/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an inline file tree. Property: nothing outside the directory changes (a canary next to
 * it), and there are at most as many files as were counted. */
#include <stdint.h>

#include "common/archive/beneath.h"
#include "common/archive/fuzz/place.h"
#include "common/component/yamlfs.h"
#include "common/data/doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_close int fd = -1;
    cleanup_json json_t *value = NULL;
    cleanup_json json_t *tree = NULL;
    struct yamlfs_counts counts = {0};
    struct error err = {0};

    if (doc_parse_yaml((const char *)data, size, 1 << 16, &value, &err) < 0 ||
        yamlfs_open(value, &tree, &err) < 0)
        return 0;
    fd = beneath_make_directories(place(), "tree", &err);
    require(fd >= 0);
    if (yamlfs_write(tree, fd, &ARCHIVE_LIMITS_BLUEPRINT, &counts, &err) == 0)
        require(counts.files + counts.lists <= (uint64_t)size + 1);
    place_check();
    require(beneath_remove_tree(place(), "tree", &err) == 0);
    return 0;
}
