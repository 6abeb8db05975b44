/* SPDX-License-Identifier: Apache-2.0 */
/* The Configuration document of the deployer: all fields of the Go deployer's document and our own.
 * Immutable once parsed; defaults are filled in. docs/operating.md describes the fields. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/data/names.h"
#include "deployer/validation/mistakes.h"
#include "deployer/validation/rules.h"
#include "deployer/validation/selector.h"

enum { CONFIG_BYTES_MAX = 1 << 20 };

/* initContainer, waitContainer, defaultImage, script. */
struct config_container {
    char *image;
    json_t *command, *args; /* arrays of strings; NULL if not given */
    char *
        image_pull_policy; /* NULL: the default of Kubernetes (latest: Always, else IfNotPresent) */
    json_t *resources;     /* {"requests": {}, "limits": {}} */
    /* The image is the Go deployer's and gets what only that one needs: a writable /tmp; for init
     * also a token and permission to list and delete Secrets. */
    bool is_go_image;
    json_t *env; /* init and wait: array of {name, value} in addition to their own; may be empty */
};

struct deployer_config {
    char *identity;       /* "" if not given: then the label deployer-id is empty, as with Go */
    char *namespace_name; /* of all objects on the host cluster */
    char **namespaces;    /* of the DeployItems that are served; NULL at the end; empty: all */
    /* Not part of the document: a hash of the Landscaper cluster, used as a label on all objects if
     * there is no identity. "": none. */
    char landscaper_mark[NAME_HASH_SIZE];

    char **oci_config_files; /* NULL at the end */
    bool oci_plain_http, oci_insecure;
    char *oci_ca_bundle; /* PEM that init trusts besides the system's; NULL if not given */

    struct selector *target_selector;
    json_t *target_selector_document; /* as written */

    struct config_container init, wait;
    struct config_container default_image; /* for container items without an image */
    struct config_container
        script; /* for script items: image, command (the interpreter), resources */
    struct config_container helm; /* for helm items: image, command, resources */
    int64_t helm_version;         /* helm.version: major version of helm in the image */
    bool is_helm_enabled;         /* helm.enabled; true in a Configuration of that deployer */
    bool is_script_enabled;       /* script.enabled: false: script items are ignored */
    bool is_container_enabled;    /* false in a Configuration of the manifest or helm deployer */
    bool is_manifest_enabled;     /* manifest.enabled; true in a Configuration of that deployer */
    bool is_late_trigger;         /* manifest.lateChanges.trigger: jobs may be triggered */
    int64_t late_interval_ms;     /* manifest.lateChanges.minimumInterval between two of an item */

    char *host_target; /* manifest.hostTarget: "namespace/name"; NULL if not given */

    bool is_collecting; /* !garbageCollection.disable */
    int64_t collection_ms;
    bool is_pod_kept; /* debug.keepPod */

    int64_t max_replicas; /* SyncObject locking if > 1 */

    /* ---- Not known to the Go deployer ---- */
    bool is_delete_run;        /* deleteOperation: run (default) or skip */
    int64_t image_grace_ms;    /* imageGracePeriod: how long pulling may fail before the job does */
    int64_t state_generations; /* state.generations: complete generations to keep, at least 1 */
    int64_t log_tail_lines;    /* logTail.lines: of main's log in lastError; 0: none */
    bool is_electing;          /* leaderElection.enabled */
    char *lease_name;          /* leaderElection.leaseName */
    char *lease_namespace;     /* leaderElection.leaseNamespace; NULL: that of our own pod */
    int64_t lease_ms;          /* leaderElection.leaseDuration: whole seconds */
    int64_t metrics_port, health_port; /* serve.metricsPort, serve.healthPort; 0: off */
    char *serve_address;               /* serve.address */
    bool is_page_enabled;              /* ui.enabled: the status page */
    bool is_page_authenticated;        /* ui.authentication: it needs a bearer token */

    /* pod.*: settings of every pod. Items can add to them, but not change them. */
    char *shared_volume_size;            /* pod.sharedVolumeSizeLimit */
    json_t *node_selector, *tolerations; /* object, array; NULL if not given */
    char *runtime_class;                 /* pod.runtimeClassName; NULL if not given */
    char *priority_class;                /* pod.priorityClassName; NULL if not given */
    json_t *main_resources;              /* pod.resources: of main, unless the item has resources */
    /* How long main may run after SIGTERM: the default, and the maximum for an item. */
    int64_t grace_seconds, max_grace_seconds; /* pod.[max]TerminationGracePeriodSeconds */
};

/* The fields of the document. */
extern const struct field_rule CONFIG_FIELDS[];

/* Parses a document; NULL gives the defaults. All errors and unknown fields are added to mistakes.
 * Fails if there is an error; only otherwise *ret_config is set. */
int config_parse(const json_t *doc, struct deployer_config **ret_config, struct mistakes *mistakes)
    must_check;
/* The same from a YAML or JSON file. A file that can't be read or parsed is a mistake at path "".
 */
int config_load(const char *path, struct deployer_config **ret_config, struct mistakes *mistakes)
    must_check;
void config_free(struct deployer_config *config);
define_cleanup(struct deployer_config *, config_free)
#define cleanup_config __attribute__((cleanup(config_freep)))

/* The effective configuration as a document that config_parse() accepts. New reference. */
json_t *config_document(const struct deployer_config *config);
