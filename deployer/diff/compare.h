/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what a manifest item would apply with what its cluster has. Nothing is written: the
 * server evaluates every request as a dry run. */
#pragma once

#include <jansson.h>

#include "common/apply/inventory.h"
#include "deployer/offline/manifest.h"

/* What is known of earlier jobs. */
struct compare_records {
    struct inventory inventory;
    char *cluster; /* hash of the cluster that the objects are in; NULL: unknown */
};

void compare_records_done(struct compare_records *records);
#define cleanup_compare_records __attribute__((cleanup(compare_records_done)))

/* The document that `longshore diff -o json` prints (docs/schemas/diff-result.schema.json), a new
 * reference. Takes the content of records, and configuration and access of manifest. Blocks.
 * ERROR_INVALID: an object cannot be applied; other kinds: the cluster cannot be reached, or a kind
 * is unknown. An object that the server refuses is part of the document. */
int compare_item(struct offline_manifest *manifest, struct compare_records *records,
                 json_t **ret_document, struct error *err) must_check;
