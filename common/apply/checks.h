/* SPDX-License-Identifier: Apache-2.0 */
/* Waits until objects are ready: the default check over applied objects, and custom checks. All of
 * them are watched at the same time and are done when all hold at the same moment. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/apply/cluster.h"
#include "common/apply/readiness.h"
#include "common/apply/reference.h"
#include "common/jsonpath/jsonpath.h"
#include "common/jsonpath/requirement.h"

/* Custom checks that select more objects than this are not evaluated; checks_describe() says so. */
enum { CHECK_OBJECTS_MAX = 10000 };

/* A field of another object, to compare with. */
struct check_value_from {
    struct object_ref ref;
    char *path_text;
    struct jsonpath *path;
    char *target_name; /* NULL: the cluster of the check */
    struct cluster
        *cluster; /* of target_name: borrowed, to be set before checks_start(); or NULL */
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
    char **label_namespaces;                               /* terminated by NULL; NULL: all */
    size_t label_min; /* how many must be there, in all namespaces together; 1 if not configured */
    bool is_default;  /* apply the readiness rules instead of requirements */
    struct check_requirement *requirements;
    size_t requirement_count;
    char *target_name; /* NULL: the item's target */
};

void custom_check_done(struct custom_check *check);

/* Everything but seen is borrowed until the checks are over. */
struct checks_options {
    struct cluster *cluster;
    /* The default check: objects that must exist and be ready; count 0: no default check. */
    const struct object_ref *objects;
    const struct kind *kinds; /* parallel to objects; NULL: they are looked up */
    /* Parallel: as the last write returned them, or NULL elements; NULL: none. An object that is
     * ready by this and cannot lose its readiness by a new status is not watched. */
    json_t *const *seen;
    size_t object_count;
    /* With READINESS_STRICT a Kustomization of Flux must also have applied the last revision of its
     * source, which is watched for that (not for objects that labels select). */
    enum readiness_rules rules;
    const struct custom_check *custom;
    struct cluster *const *custom_clusters; /* parallel to custom; NULL or NULL elements: cluster */
    size_t custom_count;
    void (*on_ready)(void *data);
    /* An object failed for good (strict rules): ERROR_INVALID with its name and the reason. */
    void (*on_failed)(void *data, const struct error *err);
    /* If not NULL: the checks go on until they are cancelled. This is called from the loop, instead
     * of on_ready and on_failed, when something was observed; what holds is checks_state(). */
    void (*on_change)(void *data);
    void *data;
};

struct checks;
/* Exactly one of on_ready and on_failed is called, once, from the loop, unless cancelled before;
 * after it the checks are over and *ret_checks is freed. If seen shows that all applied objects are
 * ready and there are no custom checks, no request is sent. ERROR_INVALID: a cluster of a
 * target_name is missing. */
int checks_start(const struct checks_options *options, struct checks **ret_checks,
                 struct error *err) must_check;
void checks_cancel(struct checks *checks); /* NULL is fine; not after the checks are over */
/* What is not ready, by check and object, with reasons, never with values: for up to five objects.
 * Belongs to the caller; NULL: everything is ready. */
char *checks_describe(const struct checks *checks);

enum checks_state {
    CHECKS_UNKNOWN, /* something was not observed yet, or cannot be at present */
    CHECKS_HOLD,
    CHECKS_FAIL,
};

/* For checks with on_change. */
enum checks_state checks_state(const struct checks *checks);
