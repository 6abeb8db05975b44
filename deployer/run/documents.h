/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be run: the documents of the command line (or of a cluster), checked, and the pod that
 * the controller would make of them. No file of the run is touched here. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "common/oci/keyring.h"
#include "deployer/commands/offline.h"
#include "deployer/run/options.h"

struct job {
    struct offline offline;  /* the item with everything that it refers to */
    struct keyring *keyring; /* for main's image */
    char *image;             /* as the user named it */
    json_t *state_secrets;   /* of --from-cluster, or NULL */
    bool is_plain_user;      /* the run has a user namespace of its own */
};

/* ERROR_INVALID: every mistake in the documents, with its path. */
int job_load(const struct run_options *options, struct job **ret_job, struct error *err) must_check;
void job_free(struct job *job);
define_cleanup(struct job *, job_free)
#define cleanup_job __attribute__((cleanup(job_freep)))
