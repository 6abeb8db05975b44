/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a run: the documents of the command line or of a cluster, parsed and validated.
 * Nothing is written. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "common/oci/keyring.h"
#include "deployer/offline/manifest.h"
#include "deployer/offline/offline.h"
#include "deployer/run/local_helm.h"
#include "deployer/run/options.h"

struct documents {
    bool is_manifest; /* there is no pod: only manifest is set; else everything but manifest */
    struct offline_manifest manifest; /* also of a helm item with a cluster */
    struct local_helm helm;
    struct offline offline;  /* the item with everything that it refers to */
    struct keyring *keyring; /* credentials for main's image */
    char *image;             /* as given by the user or the item */
    json_t *state_secrets;   /* with --from-cluster: an array; else NULL */
    bool is_unprivileged;    /* set by the caller: the run gets a user namespace */
};

/* ERROR_INVALID lists all mistakes in the documents, each with its path. *ret_documents belongs to
 * the caller. */
int documents_load(const struct run_options *options, struct documents **ret_documents,
                   struct error *err) must_check;
void documents_free(struct documents *documents); /* NULL is fine */
define_cleanup(struct documents *, documents_free)
#define cleanup_documents __attribute__((cleanup(documents_freep)))
