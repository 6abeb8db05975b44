/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/origin.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

void origin_check(struct workspace *workspace, const struct run_options *options, struct show *show)
{
    bool is_file =
        !options->state && options->file_count > 0 && strcmp(options->files[0], "-") != 0;
    cleanup_free char *path = is_file ? realpath(options->files[0], NULL) : NULL;
    cleanup_free char *previous = NULL;

    if (path)
        workspace_remember_origin(workspace, path, &previous);
    if (previous)
        show_warning(show,
                     "this item has the namespace and name of the one in \"%s\", whose state it "
                     "continues; use --state DIR to keep their states apart",
                     previous);
}
