/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that the objects of one run are made from, and the objects. No I/O: whoever asks has
 * read the inputs before. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/state/generation.h"
#include "deployer/config/config.h"
#include "deployer/item/item.h"
#include "deployer/item/provider.h"
#include "deployer/pod/names.h"

/* What a pod can carry: beyond this the state is too large for mounted Secrets (256 MiB packed). */
enum { POD_STATE_CHUNKS_MAX = 256 };

struct pod_request {
    /* All borrowed. */
    const struct deployer_config *config;
    const struct item *item;
    const struct run_spec *run;
    const struct object_names *names;
    const char *job;         /* item->job, or the one that test-reconcile made */
    const char *operation;   /* OPERATION_RECONCILE or OPERATION_DELETE */
    const char *export_name; /* names->host_export or ->host_export_own */
    const char *target_file; /* target_document() */
    size_t target_file_size;
    const json_t *ocm_config_map;  /* ConfigMap of Context.ocmConfig, or NULL */
    const json_t *docker_configs;  /* array of {"origin", "config"}: see inputs.h; or NULL */
    const struct state_set *state; /* arranged, or NULL: none */
    int64_t next_sequence;         /* of the state that this pod may save; controller: max(last + 1,
                                    * unix seconds) */
    int64_t now_unix_ms;
    int64_t deadline_unix_ms; /* item_deadline_unix_ms(); -1: none */
};

/* New references. */
struct pod_objects {
    json_t *account, *role, *role_binding; /* made on an item's first run, then kept */
    json_t *input;                         /* Secret, label role=run */
    json_t *pull;                          /* Secret, label role=run; NULL: none is needed */
    json_t *pod;
};

/* ERROR_INVALID: an input is unusable (a docker config, an OCM ConfigMap without its key);
 * ERROR_TOO_LARGE: inputs over 1 MiB, or too many chunks of state. Texts carry no secret. */
int pod_objects_make(const struct pod_request *request, struct pod_objects *ret_objects,
                     struct error *err) must_check;
void pod_objects_done(struct pod_objects *objects);
static inline void pod_objects_donep(struct pod_objects *objects)
{
    pod_objects_done(objects);
}
#define cleanup_pod_objects __attribute__((cleanup(pod_objects_donep)))
