/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/runtime_bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/run/spec.h"

enum { MOUNTS_MAX = 5 };

int runtime_bundle_write(const struct runtime_bundle *bundle, const char *directory,
                         json_t **ret_spec, struct error *err)
{
    static const char *const shell[] = {"/bin/sh", NULL};
    static const char *const network_files[] = {"/etc/resolv.conf", "/etc/hosts"};
    cleanup_free char *rootfs = xasprintf("%s/root", bundle->run_path);
    cleanup_free char *shared = xasprintf("%s/ls/shared", bundle->run_path);
    cleanup_free char *script = xasprintf("%s/ls/script", bundle->run_path);
    cleanup_free char *termination_log =
        xasprintf("%s/ls/termination-" CONTAINER_MAIN, bundle->run_path);
    struct spec_mount mounts[MOUNTS_MAX] = {{shared, PATH_SHARED, true},
                                            {termination_log, PATH_TERMINATION_LOG, true}};
    struct spec_request request = {.pod = bundle->pod,
                                   .image_config = bundle->image_config,
                                   .rootfs = rootfs,
                                   .mounts = mounts,
                                   .mount_count = 2,
                                   .shell = bundle->is_shell ? shell : NULL,
                                   .cgroup = bundle->cgroup,
                                   .has_terminal = bundle->is_shell,
                                   .has_network = bundle->has_network,
                                   .has_user_namespace = bundle->has_user_namespace};
    cleanup_json json_t *spec = NULL;
    cleanup_free char *text = NULL;
    cleanup_close int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, errno, "open \"%s\"", directory);
    if (bundle->has_files)
        mounts[request.mount_count++] = (struct spec_mount){script, PATH_SCRIPT_DIR, false};
    for (size_t i = 0; bundle->has_network && i < array_length(network_files); i++) {
        /* Missing on small machines, for example in containers. */
        if (access(network_files[i], R_OK) == 0)
            mounts[request.mount_count++] =
                (struct spec_mount){network_files[i], network_files[i], false};
    }
    if (spec_make(&request, &spec, err) < 0)
        return -1;
    text = doc_dump(spec);
    if (beneath_write_file(fd, "config.json", text, strlen(text), 0600, err) < 0)
        return -1;
    *ret_spec = json_incref(spec);
    return 0;
}
