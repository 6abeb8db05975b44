/* SPDX-License-Identifier: Apache-2.0 */
/* The Configuration document of the deployer: that of the Go deployer with every field honoured,
 * and ours. Immutable once parsed; defaults are filled in. See docs for the fields of the file. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/data/names.h"
#include "deployer/item/mistakes.h"
#include "deployer/item/selector.h"

enum { CONFIG_BYTES_MAX = 1 << 20 };

/* initContainer, waitContainer, defaultImage, script. */
struct config_container {
    char *image;
    json_t *command, *args;  /* arrays of strings; NULL if not given */
    char *image_pull_policy; /* NULL: Kubernetes' own rule (latest: Always, else IfNotPresent) */
    json_t *resources;       /* {"requests": {}, "limits": {}} */
    /* The image is the Go deployer's: it gets what only that one needs (a writable /tmp; init also
     * a token and the right to list and delete Secrets). Off by default. */
    bool is_go_image;
};

struct deployer_config {
    char *identity;       /* "" if not given: label deployer-id is empty then, as Go does */
    char *namespace_name; /* where host objects live */
    /* Not of the file: the controller's Landscaper, a label on all objects where there is no
     * identity. "": none. */
    char landscaper_mark[NAME_HASH_SIZE];

    char **oci_config_files; /* NULL at the end */
    bool oci_plain_http, oci_insecure;

    struct selector *target_selector;
    json_t *target_selector_document; /* as written */

    struct config_container init, wait;
    struct config_container default_image; /* of container items that name no image */
    struct config_container script; /* of script items: image, command = interpreter, resources */
    bool is_script_enabled;         /* script.enabled: else items of that type are nobody's */

    bool is_collecting; /* !garbageCollection.disable */
    int64_t collection_ms;
    bool is_pod_kept; /* debug.keepPod */

    int64_t max_replicas; /* SyncObject locking if > 1 */

    /* ---- ours ---- */
    bool is_delete_run;        /* deleteOperation: run (default) or skip */
    int64_t image_grace_ms;    /* imageGracePeriod: how long a pull error may last */
    int64_t state_generations; /* state.generations: whole ones kept, at least 1 */
    int64_t log_tail_lines;    /* logTail.lines of main in lastError; 0: none */
    bool is_electing;          /* leaderElection.enabled */
    char *lease_name;          /* leaderElection.leaseName */
    char *lease_namespace;     /* leaderElection.leaseNamespace; NULL: that of our own pod */
    int64_t lease_ms;          /* leaderElection.leaseDuration: whole seconds */
    int64_t metrics_port, health_port; /* serve.metricsPort, serve.healthPort; 0: off */
    char *serve_address;               /* serve.address */

    /* pod.*: what every pod of ours has; items can add, never change. */
    char *shared_volume_size;            /* pod.sharedVolumeSizeLimit */
    json_t *node_selector, *tolerations; /* object, array; NULL if not given */
    char *runtime_class;                 /* pod.runtimeClassName; NULL if not given */
    char *priority_class;                /* pod.priorityClassName; NULL if not given */
    json_t *main_resources;              /* pod.resources: main's, where the item gives none */
};

/* doc: the parsed document, or NULL for the defaults. Errors and unknown fields are added to
 * mistakes, all of them; *ret_config is set only if there was no error. */
int config_parse(const json_t *doc, struct deployer_config **ret_config, struct mistakes *mistakes)
    must_check;
/* The same from a YAML or JSON file. A file that is no document is one mistake at "". */
int config_load(const char *path, struct deployer_config **ret_config, struct mistakes *mistakes)
    must_check;
void config_free(struct deployer_config *config);
define_cleanup(struct deployer_config *, config_free)
#define cleanup_config __attribute__((cleanup(config_freep)))

/* The effective configuration as a document that config_parse() takes. New reference. */
json_t *config_document(const struct deployer_config *config);
