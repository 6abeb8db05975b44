/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/diff/records.h"

#include <errno.h>
#include <fcntl.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/objects/status.h"
#include "deployer/run/object_list.h"
#include "deployer/run/workspace.h"

static int read_status(const json_t *stored, struct compare_records *ret_records, struct error *err)
{
    cleanup_manifest_status struct manifest_status status = {0};

    if (manifest_status_parse(stored, &status, err) < 0)
        return error_wrap(err, "status.providerStatus");
    *ret_records =
        (struct compare_records){.inventory = status.inventory, .cluster = steal(&status.cluster)};
    status.inventory = (struct inventory){0};
    return 0;
}

/* Another run may be in progress: its list is complete at any time. */
static int read_list(const struct offline_manifest *manifest, const char *directory,
                     struct compare_records *ret_records, bool *ret_is_found, struct error *err)
{
    const struct item *item = manifest->item;
    cleanup_free char *path =
        directory ? xstrdup(directory) : workspace_default_path(item->namespace_name, item->name);
    cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char hash[NAME_HASH_SIZE] = {0};

    if (fd < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, errno, "open \"%s\"", path);
    kube_config_hash(manifest->access, hash);
    return object_list_read(fd, hash, &ret_records->inventory, ret_is_found, err);
}

int records_find(const struct offline_manifest *manifest, const char *directory,
                 struct compare_records *ret_records, bool *ret_is_found, struct error *err)
{
    const json_t *stored = doc_member(manifest->item->status, "providerStatus");

    *ret_is_found = json_is_object(stored);
    if (*ret_is_found)
        return read_status(stored, ret_records, err);
    return read_list(manifest, directory, ret_records, ret_is_found, err);
}
