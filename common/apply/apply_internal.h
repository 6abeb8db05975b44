/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: one object that is being applied. Private to apply.c and apply_*.c. */
#pragma once

#include "common/apply/apply.h"

enum {
    /* How often an object is read again after a conflict, or because it appeared or disappeared
     * meanwhile. */
    APPLY_TRIES_MAX = 5,
    /* A kind whose CRD is established may still be unknown to the server for a moment. */
    APPLY_SERVED_TRIES_MAX = 20,
    APPLY_SERVED_RETRY_MS = 250,
};

struct apply_job {
    struct apply *apply; /* NULL: this place is free */
    const struct plan_object *object;
    struct apply_object_result *result;
    json_t *manifest;           /* what is applied; see effective_manifest() */
    const json_t *annotations;  /* that were part of the last write; borrowed, or NULL */
    json_t *live;               /* as it was read; NULL: not, or it does not exist */
    json_t *written;            /* by the last write, for the CRD that is waited for */
    enum apply_outcome outcome; /* if that succeeds */
    const char *doing;          /* for messages: "created" */
    int tries, served_tries;
    bool has_taken_over;
    bool is_listed; /* live comes from a list, and may be older than an object that was just read */
    struct kube_call *call;
    struct apply_place *place;         /* whose list it waits for, or NULL */
    struct cluster_interest *interest; /* in a CRD that is not established */
    struct loop_timer timer;
    struct error waiting_err; /* why it is waiting, or ERROR_NONE */
};

struct apply {
    struct apply_options options;
    struct cluster *cluster;
    struct apply_result *result;
    struct apply_place *places; /* where recorded objects are listed, see apply_list.c */
    enum plan_group group;
    size_t next; /* object to begin with */
    size_t running;
    struct loop_timer timer;
    struct apply_job jobs[APPLY_PARALLEL_MAX];
};

/* apply.c: the end of a job. object is borrowed. */
void apply_job_done(struct apply_job *job, enum apply_outcome outcome, const json_t *object);
/* The error is that of the server, or about the object; its text does not name it. */
void apply_job_failed(struct apply_job *job, const struct error *err);
/* Whether a CRD of the plan defines the kind of this object, and was not refused. */
bool apply_has_crd_of(const struct apply *apply, const struct plan_object *object);
/* Whether the plan has the namespace of this object. */
bool apply_has_namespace_of(const struct apply *apply, const struct plan_object *object);
/* The entry in the result; NULL: not recorded. Borrowed until the inventory changes. */
struct inventory_entry *apply_job_entry(const struct apply_job *job);

/* apply_object.c */
void apply_job_begin(struct apply_job *job);
/* Continues with an object of a list. NULL if the list does not contain it or could not be read:
 * it may exist nevertheless, and is read by its name. */
void apply_job_listed(struct apply_job *job, json_t *object);
/* apply_list.c: calls apply_job_listed() at once or when the list of its kind and namespace has
 * ended. */
void apply_job_read(struct apply_job *job);
void apply_places_init(struct apply *apply);
void apply_places_free(struct apply *apply);
/* apply_crd.c: waits until it is established, then ends the job. */
void apply_job_wait_established(struct apply_job *job);

/* apply_message.c: "Secret a/x: cannot be created: ..." with the message of the server, without the
 * request that kube.h puts in front and without values of a Secret. The kind may be changed to
 * ERROR_TEMPORARY if it may succeed later. */
void apply_message(const struct plan_object *object, const char *doing, const struct error *err,
                   struct error *ret_err);
