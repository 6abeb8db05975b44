/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that local runs of a manifest item have applied, and those that one is about to
 * apply: files in the directory of the item, one for each cluster, "objects-<hash>.json". The
 * content is a provider status. A list is replaced atomically and synced, so that it is complete
 * after a crash at any time. */
#pragma once

#include <stdbool.h>

#include "common/apply/inventory.h"
#include "common/base/error.h"

/* cluster: cluster_hash(). *ret_is_found: whether there is a list; otherwise it is empty.
 * ERROR_INVALID: the file was changed by somebody else. */
int object_list_read(int directory_fd, const char *cluster, struct inventory *ret_inventory,
                     bool *ret_is_found, struct error *err) must_check;
int object_list_write(int directory_fd, const char *cluster, const struct inventory *inventory,
                      struct error *err) must_check;
int object_list_remove(int directory_fd, const char *cluster, struct error *err) must_check;
/* The number of clusters for which there is a list, without that of this cluster (NULL: of none).
 */
size_t object_list_count(int directory_fd, const char *cluster);
