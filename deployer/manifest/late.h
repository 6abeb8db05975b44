/* SPDX-License-Identifier: Apache-2.0 */
/* Items that are watched after their jobs have succeeded.
 *
 * late.c keeps what has to be known of each and decides (late_change.h) when something has to be
 * done; late_watch.c observes the objects; late_work.c is the chain of requests that connects to
 * the clusters, reports, and triggers jobs. Only the process that may write observes anything. What
 * must not be lost is in the item's status. */
#pragma once

#include "deployer/manifest/engine.h"
#include "deployer/objects/late_change.h"

enum {
    LATE_ITEMS_MAX = 10000,
    LATE_OBJECTS_MAX = 200, /* of an item */
    /* Jobs need watches and clusters, too. */
    LATE_CLUSTERS_MAX = CLUSTERS_MAX / 2,
    LATE_WATCHES_MAX = CLUSTER_WATCHES_MAX / 2,
    LATE_RETRY_FIRST_MS = 5 * 1000,
    LATE_RETRY_MAX_MS = 60 * 60 * 1000,
    /* What cannot be observed for this long, at first, is connected anew: credentials may have
     * expired. */
    LATE_RECONNECT_MS = 5 * 60 * 1000,
};

struct late_watch; /* late_watch.c */

struct late_item {
    struct late_item *next, **link; /* in the list of the engine */
    struct manifest_engine *engine;
    struct record *record;
    char *job;
    struct late_rules rules;
    char *cron;
    int64_t every_ms;
    struct late_memory memory; /* as stored */
    bool was_ready;            /* the status says that everything was ready after the job */
    int64_t changed_unix_ms;   /* since when the status has reported a change; 0: it does not */
    struct late_view view;
    struct late_watch *watch; /* NULL: not connected */
    char *shown;              /* identifies what is reported already; NULL: nothing */
    struct loop_timer timer;
    struct retry retry; /* of the chain */
    int64_t retry_unix_ms;
    struct retry reconnect; /* while something cannot be observed */
    int64_t reconnect_unix_ms;
    bool is_due; /* the chain has something to do */
};

/* ---- late.c ---- */

/* For engine_class. */
bool late_item_seen(struct engine *engine, struct record *record, const struct item *item);
void late_item_gone(struct engine *engine, const char *namespace_name, const char *name);
bool late_is_continuous(const struct engine *engine, const struct item *item);
void late_untrack(struct record *record);
/* Nothing is observed any more. */
void late_stop_all(struct manifest_engine *engine);
/* This process may write now. */
void late_look_all(struct manifest_engine *engine);
bool late_is_due(const struct record *record);

/* Something was observed, done or written: decides again. */
void late_look(struct late_item *late);
struct late_decision late_decision_of(struct late_item *late);
/* What identifies a report. Belongs to the caller. */
char *late_key(const struct late_item *late, enum late_verdict verdict);

/* ---- late_watch.c ---- */

/* What an item is connected to. Takes config and seconds over. exported: the values of the job and
 * the uid of their Secret; both NULL: there are none. */
struct late_watch_parts {
    struct manifest_config *config;
    struct cluster *cluster; /* a reference that is taken over */
    struct second_cluster *seconds;
    size_t second_count;
    const struct inventory *inventory;
    const json_t *exported;
    const char *secret_uid;
};

/* Starts to observe. *parts is emptied, also on failure. */
int late_watch_start(struct late_item *late, struct late_watch_parts *parts,
                     struct late_watch **ret_watch, struct error *err) must_check;
void late_watch_free(struct late_watch *watch); /* NULL is fine */
/* Whether everything is known; then *ret_change is the change, or "". */
bool late_watch_view(const struct late_watch *watch, bool was_ready,
                     char ret_change[LATE_CHANGE_SIZE]);
/* Whether all checks hold, as far as is known. */
bool late_watch_is_ready(const struct late_watch *watch);
/* Sets the conditions for a verdict, with names of keys and objects, never with values. */
void late_watch_report(const struct late_watch *watch, enum late_verdict verdict, bool was_ready,
                       json_t *status, int64_t now_unix_ms);
/* What has changed, for an Event. Belongs to the caller. */
char *late_watch_describe(const struct late_watch *watch);

/* ---- late_work.c ---- */

struct late_work;
void late_follow_up(struct task *task);
void late_work_free(struct late_work *work); /* NULL is fine */
