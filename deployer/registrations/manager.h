/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `longshore registrations` share. One thread, one event loop. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "common/kube/client.h"
#include "common/kube/lease.h"
#include "common/kube/watch.h"
#include "common/net/http.h"
#include "deployer/page/watched.h"
#include "deployer/registrations/decide.h"
#include "deployer/registrations/heartbeat.h"
#include "deployer/registrations/pair.h"
#include "deployer/registrations/settings.h"

#define REGISTRATIONS_FIELD_MANAGER "longshore-registrations"
#define REGISTRATIONS_USER_AGENT "longshore-registrations/" LONGSHORE_VERSION

enum {
    MANAGER_TASKS_MAX = 8, /* requests of pairs under way; each needs up to 2 MB of memory */
    MANAGER_RETRY_FIRST_MS = 1000,
    MANAGER_RETRY_MAX_MS = 5 * 60 * 1000,
    MANAGER_REPORT_MS = 1000, /* changes of a status are collected for this time */
    MANAGER_LIST_PAGE = 50,
    MANAGER_LOOK_AGAIN_MS = 1000,
};

enum source {
    SOURCE_ENVIRONMENTS,
    SOURCE_REGISTRATIONS,
    SOURCE_INSTALLATIONS,
    SOURCE_TARGETS,
    SOURCE_ACCOUNTS,
    SOURCE_BINDINGS,
    SOURCE_ITEMS,
    SOURCE_LEASES, /* heartbeats of agents */
    SOURCE_COUNT,
};

struct manager;

/* The objects of one watch, by name (items: namespace/name). manager_find() reads them. */
struct source_state {
    struct manager *manager;
    enum source source;
    struct kube_watch *watch;
    json_t *objects;
    json_t *listed; /* names in the list that is under way; else NULL */
    bool is_synced, is_rewound;
    uint64_t broken_ms; /* since when nothing is received; 0: it works */
};

/* One state machine for each pair, Environment ("", name) and registration (name, ""). It exists
 * while a request is under way or an error waits for its retry. */
struct pair_task {
    struct manager *manager;
    char *registration, *environment;
    struct pair_task *next;
    struct kube_call *call;
    enum source source; /* of the object that is written */
    char *name;         /* of that object */
    bool is_creation, is_deletion;
    /* Of a patch of the Installation: a hash of what it is to achieve, and the generation before
     * it. */
    char *patch_hash;
    int64_t generation;
    int64_t requested_unix_ms; /* the token */
    int64_t renewals;
    uint32_t retry_ms;
    struct loop_timer timer; /* back-off after an error */
    char *uid;               /* of the Environment whose Secret is deleted; else NULL */
    char *problem;           /* the error, for the status; NULL: none */
};

struct status_write; /* report.c */

struct manager {
    struct loop *loop;
    struct http_client *http;
    struct kube *kube;
    struct settings settings;
    struct lease *lease;
    struct source_state sources[SOURCE_COUNT];

    json_t *installed; /* environment -> registration -> name of the Installation */
    json_t *owned;     /* environment -> registration -> names of account, binding, Target */
    json_t *children;  /* Installation -> names of its sub-installations */
    json_t *rendered;  /* Installation -> name of a DeployItem -> [type, target] */
    json_t *served;    /* identity of a deployer -> number of DeployItems */
    json_t *results;   /* registration -> environment -> what is to be reported */
    json_t *problems;  /* environment -> why its host Target cannot be written */
    json_t *beats;     /* of agents, see heartbeat.h */
    json_t *opened;    /* documents that manager_find() has returned */
    json_t *left;      /* uid of an Environment -> what was done in place of its agent */

    json_t *patched; /* Installation -> [patch_hash, generation] of the last patch */
    json_t *deleted; /* uids of objects that were deleted while requests were under way */
    json_t *dirty;   /* names of environments that have to be looked at */
    bool is_all_dirty;
    struct pair_task *tasks;
    size_t running;
    struct loop_timer pass_timer, report_timer, renewal_timer, beat_timer;
    uint64_t beats_judged_ms; /* until when lost heartbeats are reported */
    json_t *reports;          /* "e/NAME", "r/NAME": statuses that have to be looked at */
    struct status_write *status_writes;
    bool is_report_waiting; /* for the end of a write */
    bool is_draining;
    uint64_t actions, failures, renewals, events;
    struct watched_page *page; /* or NULL */
};

bool manager_is_synced(const struct manager *manager);
/* Whether this process may write: it leads, knows everything, and does not end. */
bool manager_may_write(const struct manager *manager);
bool manager_may_send(const void *data);
/* NULL: unknown. Borrowed until manager_close(), or until the object changes. */
const json_t *manager_find(struct manager *manager, enum source source, const char *name);
/* Frees what manager_find() has returned. Called at the end of every callback of the loop. */
void manager_close(struct manager *manager);
/* Looks at an environment, or at all of them (NULL), later from the loop. */
void manager_touch(struct manager *manager, const char *environment);

/* store.c */

/* The part of an object that is kept, or NULL if it is of no interest. New reference. */
json_t *store_reduce(const struct manager *manager, enum source source, const json_t *object);
/* Stores a reduced object. False: nothing has changed. */
bool store_set(struct manager *manager, enum source source, const char *key, const json_t *object);

/* beats.c */

void beats_set(struct manager *manager, const json_t *lease);
void beats_remove(struct manager *manager, const char *lease);
/* The watch of Leases has received a complete list after an interruption. */
void beats_resume(struct manager *manager, uint64_t broken_ms);
void beats_judge(void *data); /* the callback of beat_timer */

/* known.c */
extern const char *const KNOWN_SKIPPED[]; /* members of objects that are not stored */
int known_start(struct manager *manager, struct error *err) must_check;
void known_stop(struct manager *manager);
/* Takes the answer to a write over, as if the watch had reported it. An answer that is older than
 * what the watch has reported since, or is about an object that was deleted since, is ignored. */
void known_answer(struct manager *manager, enum source source, const json_t *object);
void known_set(struct manager *manager, enum source source, const json_t *object);
void known_remove(struct manager *manager, enum source source, const char *name);
/* The first name in an element of the map owned; NULL: none. */
const char *known_owned_name(const json_t *names);
/* Members of a two-level map; NULL if absent. */
const json_t *known_get(const json_t *map, const char *first, const char *second);

/* evaluate.c */
void evaluate_all(void *data); /* the callback of pass_timer */

/* act.c */
struct pair_task *pair_task_find(const struct manager *manager, const char *registration,
                                 const char *environment);
/* Starts an action of a pair, unless one is under way or waits for its retry. installation: NULL if
 * it does not exist. */
void act_on_pair(struct manager *manager, const struct pair *pair, enum pair_action action,
                 const json_t *installation, const char *detail);
/* Finalizers and host Target. registration or environment is "". body: of the request. */
void act_on_object(struct manager *manager, const char *registration, const char *environment,
                   enum kube_verb verb, struct kube_resource resource, enum source source,
                   const char *name, const json_t *body);
/* Deletes the Secret of the agent of an environment with this uid. */
void act_on_secret(struct manager *manager, const char *environment, const char *name,
                   const char *uid);
/* A JSON patch that adds or removes a finalizer; NULL: it is as it should be. */
json_t *finalizer_patch(const json_t *object, const char *finalizer, bool is_wanted);
void pair_task_free(struct pair_task *task);

/* report.c */
void report_touch(struct manager *manager, char kind, const char *name);
void report_all(void *data); /* the callback of report_timer */
void report_stop(struct manager *manager);
