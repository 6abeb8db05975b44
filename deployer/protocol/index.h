/* SPDX-License-Identifier: Apache-2.0 */
/* One small record for each item, found by namespace and name. Objects are not cached: an item's
 * content is kept by its task, and only while there is one. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deployer/engine.h"

enum { RECORD_UID_SIZE = 40 };

struct task;

struct record {
    struct record *next; /* in its bucket */
    struct task *task;   /* NULL: nothing to be done */
    void *tracked;       /* owned by the engine: what exists of the item's executions; or NULL */
    uint64_t version;    /* resourceVersion of the item */
    uint32_t hash, epoch;
    uint8_t engine; /* number of the engine that the item, or what is tracked, belongs to */
    bool is_known;  /* there is such an item; else only what is tracked names it */
    bool has_job;   /* jobID is set */
    bool is_finished;
    bool is_export_possible; /* a Secret with exports may be there that the status does not name */
    char uid[RECORD_UID_SIZE];
    const char *name;      /* points into namespace_name[] */
    char namespace_name[]; /* "namespace\0name\0" */
};

struct index;

/* engines: those of the controller, which free what is tracked. Borrowed. */
struct index *index_new(struct engine *const *engines);
void index_free(struct index *index); /* tasks must be gone */

struct record *index_find(const struct index *index, const char *namespace_name, const char *name);
/* The record of that name, made if there is none. */
struct record *index_add(struct index *index, const char *namespace_name, const char *name);
void index_remove(struct index *index, struct record *record);
/* Removes a record that nothing refers to any more: no item, no task, nothing tracked. */
bool index_drop_unused(struct index *index, struct record *record);
size_t index_count(const struct index *index);       /* known items */
void index_count_known(struct index *index, int by); /* keeps that number */

/* Calls back for every record; the callback may remove the record that it was given. */
typedef void index_each_fn(void *data, struct record *record);
void index_each(struct index *index, index_each_fn *each, void *data);

/* Whether the text "namespace-name" could also mean another item that is known or tracked: a-b/c
 * and a/b-c. */
bool index_is_ambiguous(const struct index *index, const char *namespace_name, const char *name);
