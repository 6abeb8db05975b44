/* SPDX-License-Identifier: Apache-2.0 */
/* How a kind of object is addressed: the plural in its path, and whether it has a namespace.
 *
 * Looked up in this order: the table of built-in kinds, CustomResourceDefinitions among the objects
 * that are about to be applied, then discovery of the group and version at the API server, which is
 * cached per cluster. Built-in kinds never cost a request. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"
#include "common/kube/client.h"

struct kind {
    char *group, *version, *plural; /* group "" for the core group */
    bool is_namespaced;
};

/* Strings of a copy belong to it. */
struct kind kind_copy(const struct kind *kind);
void kind_done(struct kind *kind); /* only for copies; also for zeroed memory */
#define cleanup_kind __attribute__((cleanup(kind_done)))

/* A set of kinds that were learnt: from CRDs, or by discovery. */
struct kind_set;

struct kind_set *kind_set_new(void);
void kind_set_free(struct kind_set *set); /* NULL is fine */
define_cleanup(struct kind_set *, kind_set_free)
#define cleanup_kind_set __attribute__((cleanup(kind_set_freep)))

/* The kind of the built-in table; NULL if it is not there. Static. A server older than Kubernetes
 * 1.34 may lack the newest of them: then it responds with 404. */
const struct kind *kind_builtin(const char *api_version, const char *kind);
/* The table of built-in kinds by index; false behind its end. Static texts. */
bool kind_builtin_at(size_t index, const char **ret_api_version, const char **ret_kind,
                     const struct kind **ret_address);
/* Every served version of a CustomResourceDefinition (apiextensions.k8s.io/v1). One that is
 * malformed adds nothing: the API server will reject it with a better message. */
void kind_set_add_crd(struct kind_set *set, const json_t *crd);
/* An APIResourceList of the server: replaces what was known of this group and version. Subresources
 * are skipped, as are malformed elements. Of two resources with the same kind the one that can be
 * read counts. ERROR_INVALID if it is not such a list, or one of another group and version. */
int kind_set_add_discovery(struct kind_set *set, const char *api_version, const json_t *list,
                           struct error *err) must_check;
/* Forgets a group and version, for example after 404 for one of its kinds. */
void kind_set_forget(struct kind_set *set, const char *api_version);
/* Whether the group and version was added by discovery. */
bool kind_set_is_discovered(const struct kind_set *set, const char *api_version);
/* NULL: unknown. Borrowed until the set changes. */
const struct kind *kind_set_find(const struct kind_set *set, const char *api_version,
                                 const char *kind);

/* Whether this is a CustomResourceDefinition of apiextensions.k8s.io, whatever its version. */
bool kind_is_crd(const char *api_version, const char *kind);
struct kube_resource kind_resource(const struct kind *kind); /* borrows the strings of kind */
