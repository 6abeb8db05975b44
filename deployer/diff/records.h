/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what earlier jobs of an item have applied. */
#pragma once

#include "deployer/diff/compare.h"

/* From the provider status of the item, if it has one, else from the list that `longshore run`
 * keeps for the cluster of manifest in directory (NULL: the default one). *ret_is_found is false if
 * there is neither. *ret_records is released by compare_records_done(). ERROR_INVALID if the list
 * cannot be read. */
int records_find(const struct offline_manifest *manifest, const char *directory,
                 struct compare_records *ret_records, bool *ret_is_found, struct error *err)
    must_check;
