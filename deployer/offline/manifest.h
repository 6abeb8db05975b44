/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a manifest or helm item and the access to its clusters from files, for run, diff and
 * render. */
#pragma once

#include "common/kube/config.h"
#include "deployer/item/bundle.h"
#include "deployer/item/item.h"
#include "deployer/objects/configuration.h"

/* Whether a DeployItem is of this type, or a manifest item. */
bool offline_is_type(const json_t *item, const char *type);
bool offline_is_manifest(const json_t *item);

/* Decodes and validates the provider configuration. ERROR_INVALID lists all mistakes in the item,
 * one per line. Unknown fields are added to mistakes. */
int offline_manifest_config(const struct item *item, struct manifest_config **ret_config,
                            struct mistakes *mistakes, struct error *err) must_check;

/* How a second Target is reached. */
struct offline_second {
    char *target;
    struct kube_config *config; /* NULL: the caller has taken it */
};

struct offline_manifest {
    struct item *item;
    struct manifest_config *config;
    struct mistakes unknown_fields; /* of the provider configuration */
    struct kube_config *access;     /* of the item's cluster; NULL: the caller has taken it */
    struct offline_second *seconds;
    size_t second_count;
};

struct offline_manifest_options {
    const struct bundle *bundle; /* has the Targets and their Secrets */
    const json_t *item;          /* the DeployItem */
    const char *kubeconfig;      /* NULL: the item's Target */
    bool is_delete;              /* only deletion groups are needed, and their Targets */
};

/* Checks everything that can be checked without a cluster. The item may also be a helm item whose
 * fields were checked (offline_load()): then the objects, which helm renders, are not part of the
 * configuration. ERROR_INVALID lists mistakes in the item, or names an object that is missing and
 * the option for it. *ret_manifest is released by offline_manifest_done(). */
int offline_manifest_load(const struct offline_manifest_options *options,
                          struct offline_manifest *ret_manifest, struct error *err) must_check;
void offline_manifest_done(struct offline_manifest *manifest);
#define cleanup_offline_manifest __attribute__((cleanup(offline_manifest_done)))
