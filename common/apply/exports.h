/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values from objects of clusters, waiting until they are there. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/apply/cluster.h"
#include "common/apply/reference.h"
#include "common/jsonpath/jsonpath.h"

/* One export. Everything belongs to it. */
struct export_rule {
    char *key; /* "a.b": the value becomes {"a": {"b": value}} */
    char *path_text;
    struct jsonpath *path; /* jsonPath: applied to the object from */
    struct object_ref from;
    /* fromObjectRef: path finds {name, namespace} instead of the value (without namespace: that of
     * from), and reference_path (fromObjectRef.jsonPath) is applied to that object, in the same
     * cluster. NULL: none. */
    char *reference_api_version, *reference_kind;
    char *reference_path_text;
    struct jsonpath *reference_path;
    char *target_name;
};

void export_rule_done(struct export_rule *rule);

struct exports_options {
    struct cluster *cluster;
    const struct export_rule *rules;      /* borrowed until on_done or exports_cancel() */
    struct cluster *const *rule_clusters; /* parallel; NULL elements: cluster */
    size_t count;
    /* Objects as the last write returned them: used without a request. May be NULL. */
    json_t *const *seen;
    size_t seen_count;
    void (*on_done)(void *data, json_t *values); /* new reference: one object with all keys */
    void *data;
};

struct exports;
int exports_start(const struct exports_options *options, struct exports **ret_exports,
                  struct error *err) must_check;
void exports_cancel(struct exports *exports); /* NULL is fine */
/* Which keys are missing and why; names and types, never values. Belongs to the caller. */
char *exports_describe(const struct exports *exports);
