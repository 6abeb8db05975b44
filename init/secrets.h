/* SPDX-License-Identifier: Apache-2.0 */
/* Reads credentials from mounted pull secrets. */
#pragma once

#include <stddef.h>

#include "common/oci/keyring.h"

struct secrets_counts {
    size_t files, entries, helpers;
};

/* Adds every .dockerconfigjson and .dockercfg below directory to the keyring. Those in the
 * subdirectory named first (NULL: none) are added before the others, because the first of two
 * entries for the same address wins. A directory that does not exist has no credentials.
 * ERROR_INVALID if a file is not a Docker configuration. */
int secrets_load(const char *directory, const char *first, struct keyring *keyring,
                 struct secrets_counts *ret_counts, struct error *err) must_check;
/* Adds the Docker configuration in one file. */
int secrets_load_file(const char *path, struct keyring *keyring, struct secrets_counts *counts,
                      struct error *err) must_check;
