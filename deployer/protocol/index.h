/* SPDX-License-Identifier: Apache-2.0 */
/* One small record an item, found by namespace and name. Objects are not cached: what an item says
 * is kept by its job, and only while there is one. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_UID_SIZE = 40 };

struct task;

/* A pod of an item, reduced to what later decisions need. */
struct pod_entry {
    struct pod_entry *next; /* of the same item */
    char *name;
    json_t *pod;      /* metadata without managedFields, status, and of spec the node */
    json_t *told;     /* pod, the inputs taken out of its words; NULL: it has none, or not yet */
    uint64_t version; /* resourceVersion */
    uint32_t epoch;   /* of the list that it was last seen in */
    bool is_ended;    /* we asked for its end, whether or not the watch has said so yet */
    bool is_stopped;  /* debug.keepPod: its kubelet was told to end it, and it stays */
    int64_t stuck_since_unix_ms; /* task_now_unix_ms(); 0: it is not stuck */
    char *stuck_container;       /* that this counts for; NULL: the pod as a whole */
};

struct record {
    struct record *next; /* in its bucket */
    struct task *task;   /* NULL: nothing to be done */
    struct pod_entry *pods;
    uint64_t version; /* resourceVersion of the item */
    uint32_t hash, epoch;
    bool is_known; /* there is such an item; else only pods name it */
    bool has_job;  /* jobID is set */
    bool is_finished;
    char uid[RECORD_UID_SIZE];
    const char *name;      /* points into namespace_name[] */
    char namespace_name[]; /* "namespace\0name\0" */
};

struct index;

struct index *index_new(void);
void index_free(struct index *index); /* jobs must be gone */

struct record *index_find(const struct index *index, const char *namespace_name, const char *name);
/* The record of that name, made if there is none. */
struct record *index_add(struct index *index, const char *namespace_name, const char *name);
void index_remove(struct index *index, struct record *record);
size_t index_count(const struct index *index);       /* known items */
void index_count_known(struct index *index, int by); /* keeps that number */

/* Calls back for every record; the callback may remove the record that it was given. */
typedef void index_each_fn(void *data, struct record *record);
void index_each(struct index *index, index_each_fn *each, void *data);

/* Whether the text "namespace-name" stands for another item too, known or with a pod: a-b/c and
 * a/b-c. */
bool index_is_ambiguous(const struct index *index, const char *namespace_name, const char *name);

/* The entry of a pod, made if there is none. */
struct pod_entry *record_find_pod(const struct record *record, const char *name);
struct pod_entry *record_add_pod(struct record *record, const char *name);
void record_remove_pod(struct record *record, struct pod_entry *entry);
