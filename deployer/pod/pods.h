/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of an item, tracked in its record as long as they exist. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/kube/watch.h"
#include "deployer/pod/ending.h"
#include "deployer/protocol/index.h"

struct pod_engine;

/* A pod, reduced to what decisions need. */
struct pod_entry {
    struct pod_entry *next; /* of the same item */
    char *name;
    json_t *pod;      /* metadata without managedFields, status, and of spec the node and the
                       * grace period */
    json_t *redacted; /* pod without the values of inputs; NULL: nothing in it needs redaction, or
                       * it was not done yet */
    uint64_t version; /* resourceVersion */
    uint32_t epoch;   /* of the list that it was last seen in */
    bool is_ended;    /* we requested its deletion, whether or not the watch has delivered that */
    bool is_stopped;  /* debug.keepPod: we made its kubelet end it, and it stays */
    struct pod_ending ending;
    int64_t stuck_since_unix_ms; /* task_now_unix_ms(); 0: it is not stuck */
    char *stuck_container;       /* that this counts for; NULL: the pod as a whole */
};

/* The pods of a record of the pod engine; NULL: none. */
static inline struct pod_entry *record_pods(const struct record *record)
{
    return record->tracked;
}
struct pod_entry *record_find_pod(const struct record *record, const char *name);
/* The entry of a pod, made if there is none. */
struct pod_entry *record_add_pod(struct record *record, const char *name);
void record_remove_pod(struct record *record, struct pod_entry *entry);
void record_remove_pods(struct record *record);

/* Parts of a pod that nothing here reads. */
extern const char *const POD_SKIPPED_MEMBERS[];

/* The callback of the watch on pods; data is the engine. */
void pods_on_event(void *data, enum kube_event event, const json_t *object,
                   const struct error *err);
/* A pod from the answer to a request, which may arrive before the watch event. */
void pods_see(struct pod_engine *engine, const json_t *pod);
