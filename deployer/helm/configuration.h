/* SPDX-License-Identifier: Apache-2.0 */
/* The provider configuration of a helm item (landscaper.gardener.cloud/helm). No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "deployer/validation/mistakes.h"
#include "deployer/validation/rules.h"

/* Flags of `helm upgrade --install`, for a release that is new or exists. */
struct helm_flags {
    bool is_atomic, is_forced, is_schema_skipped, is_ownership_taken, is_waiting;
    int64_t timeout_ms; /* 0: what is left of the item's time */
};

struct helm_config {
    char *release, *namespace_name;
    bool is_release; /* helmDeployment: helm manages a release; false: helm only renders */
    bool is_namespace_created;
    bool has_value_exports; /* some exports are read from what templates see */
    struct helm_flags install, upgrade, uninstall; /* uninstall: is_waiting and timeout_ms */
    json_t *values;                                /* an object */
    /* For init, one of {"raw"}, {"url"}, {"ref"}, {"repository": {"url", "name", "version"}} and
     * {"resource"}: see docs/helm-items.md. */
    json_t *chart;
    /* {"ref": {"componentName", "version"}} of chart.resourceRef, else NULL. */
    json_t *component;
    json_t *document; /* the whole configuration */
};

/* The fields of the document. */
extern const struct field_rule HELM_FIELDS[];

/* Reads a document that was checked by HELM_FIELDS, and checks relations between its fields. Parts
 * that are wrong are added to mistakes and count as absent. Belongs to the caller. */
struct helm_config *helm_config_read(const json_t *document, struct mistakes *mistakes);
void helm_config_free(struct helm_config *config); /* NULL is fine */
define_cleanup(struct helm_config *, helm_config_free)
#define cleanup_helm_config __attribute__((cleanup(helm_config_freep)))

/* helmDeployment of a document, which may be NULL or invalid. */
bool helm_is_release(const json_t *document);

/* ---- Command lines: arguments.c ---- */

/* What a command line depends on besides the configuration. */
struct helm_situation {
    bool is_delete;
    bool is_upgrade;            /* the release exists */
    int64_t left_ms;            /* of the job's time; -1: unlimited */
    int64_t version;            /* the major version of helm, 3 or 4 */
    const char *kube_version;   /* of the target, for rendering; NULL: helm's default */
    const json_t *api_versions; /* array of "group/version[/Kind]" of the target; or NULL */
};

/* The arguments of helm as an array of strings. New reference. */
json_t *helm_arguments(const struct helm_config *config, const struct helm_situation *situation);
