/* SPDX-License-Identifier: Apache-2.0 */
/* Waits until objects are ready: the default check over applied objects, then custom checks. All
 * checks are watched at the same time and are done when all hold at the same moment. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/apply/cluster.h"
#include "common/apply/readiness.h"
#include "common/apply/reference.h"
#include "common/jsonpath/jsonpath.h"
#include "common/jsonpath/requirement.h"

struct check_value_from {
    struct object_ref ref;
    struct jsonpath *path;
    char *target_name; /* NULL: the cluster of the check */
};

struct check_requirement {
    char *path_text;
    struct jsonpath *path;
    enum requirement_operator relation;
    json_t *values;                      /* array */
    struct check_value_from *value_from; /* instead of values; NULL: none */
};

/* A custom check. Everything belongs to it. */
struct custom_check {
    char *name;
    bool is_disabled;
    struct object_ref *objects; /* resourceSelector */
    size_t object_count;
    /* labelSelector; label_kind NULL: none */
    char *label_api_version, *label_kind, *label_selector; /* "a=b,c=d" */
    char **label_namespaces;                               /* NULL: all */
    size_t label_min;                                      /* how many must be there */
    bool is_default; /* apply the readiness rules instead of requirements */
    struct check_requirement *requirements;
    size_t requirement_count;
    char *target_name; /* NULL: the item's target */
};

void custom_check_done(struct custom_check *check);

struct checks_options {
    struct cluster *cluster;
    /* The default check: objects that must exist and be ready; count 0: no default check. */
    const struct object_ref *objects;
    const struct kind *kinds; /* parallel to objects */
    json_t *const
        *seen; /* parallel: as the last write returned them, or NULL elements; NULL: none */
    size_t object_count;
    enum readiness_rules rules;
    const struct custom_check *custom;      /* borrowed until on_done or checks_cancel() */
    struct cluster *const *custom_clusters; /* parallel to custom; NULL elements: cluster */
    size_t custom_count;
    void (*on_ready)(void *data);
    /* An object failed for good (strict rules). The checks are over. */
    void (*on_failed)(void *data, const struct error *err);
    void *data;
};

struct checks;
/* If seen shows that all applied objects are ready and there are no custom checks, on_ready is
 * called without any request. Callbacks come from the loop, never from inside checks_start(). */
int checks_start(const struct checks_options *options, struct checks **ret_checks,
                 struct error *err) must_check;
void checks_cancel(struct checks *checks); /* NULL is fine */
/* What is not ready, by check and object, with reasons, never with values. Belongs to the caller;
 * NULL: everything is ready. */
char *checks_describe(const struct checks *checks);
