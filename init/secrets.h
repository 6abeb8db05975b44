/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials from the tree of mounted pull secrets. */
#pragma once

#include <stddef.h>

#include "common/oci/keyring.h"

struct secrets_counts {
    size_t files, entries, helpers;
};

/* Adds every .dockerconfigjson and .dockercfg below directory, those below the subdirectory named
 * first before the others (NULL: none): of two entries for one place the first counts. A directory
 * that is not there holds no credentials. A file that can't be read as a Docker config is
 * ERROR_INVALID. */
int secrets_load(const char *directory, const char *first, struct keyring *keyring,
                 struct secrets_counts *ret_counts, struct error *err) must_check;
/* One Docker config in a file. */
int secrets_load_file(const char *path, struct keyring *keyring, struct secrets_counts *counts,
                      struct error *err) must_check;
