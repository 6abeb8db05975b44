/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of one run and everything that they are made from. No I/O: the caller has read the
 * inputs before. */
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

/* Maximum of Secrets with state that a pod mounts: 256 MiB compressed. */
enum { POD_STATE_CHUNKS_MAX = 256 };

struct pod_request {
    /* All borrowed. */
    const struct deployer_config *config;
    const struct item *item;
    const struct run_spec *run;
    const struct object_names *names;
    const char *job;         /* item->job, or that of test-reconcile */
    const char *operation;   /* OPERATION_RECONCILE or OPERATION_DELETE */
    const char *export_name; /* names->host_export or ->host_export_own */
    const char *target_file; /* target_document() */
    size_t target_file_size;
    const json_t *ocm_config_map;  /* ConfigMap of Context.ocmConfig, or NULL */
    const json_t *docker_configs;  /* array of {"origin", "config"}: see inputs.h; or NULL */
    const struct state_set *state; /* arranged, or NULL: none */
    int64_t next_sequence;         /* of the state that this pod saves: state_set_next_sequence() */
    int64_t now_unix_ms;
    int64_t deadline_unix_ms; /* item_deadline_unix_ms(); -1: none */
};

/* New references. */
struct pod_objects {
    json_t *account, *role, *role_binding; /* created for the first run of an item, then kept */
    json_t *input;                         /* Secret, label role=run */
    json_t *pull;                          /* Secret, label role=run; NULL: not needed */
    json_t *pod;
};

/* ERROR_INVALID if an input is unusable (a Docker config, an OCM ConfigMap without its key),
 * ERROR_TOO_LARGE if the inputs exceed 1 MiB or the state has too many chunks. Messages contain no
 * secrets. */
int pod_objects_make(const struct pod_request *request, struct pod_objects *ret_objects,
                     struct error *err) must_check;
void pod_objects_done(struct pod_objects *objects);
static inline void pod_objects_donep(struct pod_objects *objects)
{
    pod_objects_done(objects);
}
#define cleanup_pod_objects __attribute__((cleanup(pod_objects_donep)))
