/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: the parts of a removal. removal.c walks through the groups, removal_scan.c
 * lists the objects of groups that are not recorded, removal_object.c removes one object. */
#pragma once

#include "common/apply/follow.h"
#include "common/apply/removal_group.h"
#include "common/base/loop.h"
#include "common/net/retry.h"

/* Why something does not get on; text NULL: it does. */
struct removal_problem {
    char *text;
    bool is_of_watch; /* the next event shows that it is over */
};

struct removal_object {
    struct removal *removal;
    struct removal_object *next; /* of the group */
    struct removal_object *next_waiting;
    struct object_ref ref;               /* uid: of the recorded or listed object; or NULL */
    const struct inventory_entry *entry; /* NULL: not recorded */
    bool is_listed;                      /* removed whoever owns it */
    struct follow *follow;
    struct kube_call *call;
    struct loop_timer timer; /* until a failed request is repeated */
    struct retry retry;
    /* Of the live object; uid NULL: it was not seen yet. */
    char *uid, *version, *finalizers;
    bool is_terminating;
    bool is_absent; /* so the watch says, but it has not shown the object before */
    bool is_prepared, is_deleted, is_stripped; /* requests that succeeded */
    bool is_waiting;                           /* in the queue for requests */
    bool is_conflict;                          /* the last request failed: the object changed */
    bool is_stripping;                         /* the write in progress removes the finalizers */
    bool is_done;
    struct removal_problem problem;
};

struct removal_scan {
    bool is_running;
    size_t resource, place; /* of the group; place: which of its namespaces */
    struct follow *follow;  /* finds the kind */
    struct kube_list *list;
    struct loop_timer timer;
    struct retry retry;
    struct object_ref *found; /* by the list in progress */
    size_t found_count, found_capacity;
    size_t total;         /* found by all lists */
    struct error skipped; /* by the list in progress: an object could not be read */
    bool is_full;         /* REMOVAL_LISTED_MAX was reached */
    struct removal_problem problem;
};

struct removal {
    struct removal_options options;
    struct loop *loop;
    struct loop_timer timer; /* goes on with the groups */
    size_t *group_of;        /* parallel to the entries */
    bool *is_reported;       /* likewise: on_removed was called */
    bool has_started;
    size_t group; /* the current one */
    struct removal_object *objects;
    size_t open_count; /* of objects that are not done */
    struct removal_object *first_waiting, *last_waiting;
    size_t in_flight;
    struct removal_scan scan;
    size_t problem_count;
    struct error error;
    int depth; /* of removal_enter(): it must not be freed from inside its own callbacks */
    bool is_over;
};

/* Brackets every callback: removal_cancel() may be called from inside. */
void removal_enter(struct removal *removal);
void removal_leave(struct removal *removal);

const struct removal_group *removal_current_group(const struct removal *removal);
struct cluster *removal_current_cluster(const struct removal *removal);
void removal_go_on(struct removal *removal); /* looks later, from the loop, what is next */
/* Calls on_removed unless it was called for the entry already. entry NULL is fine. */
void removal_report(struct removal *removal, const struct inventory_entry *entry,
                    enum removal_verdict verdict);
void removal_set_problem(struct removal *removal, struct removal_problem *problem,
                         const struct error *err, bool is_of_watch);
void removal_clear_problem(struct removal *removal, struct removal_problem *problem);

/* Takes ref over. kind is copied; NULL: looked up. */
void removal_object_start(struct removal *removal, struct object_ref ref,
                          const struct inventory_entry *entry, bool is_listed,
                          const struct kind *kind);
void removal_object_stop(struct removal_object *object); /* keeps the memory */
void removal_object_free(struct removal_object *object);

void removal_scan_start(struct removal *removal);
void removal_scan_stop(struct removal *removal);
/* "list of ConfigMap": what the scan is doing. Belongs to the caller. */
char *removal_scan_text(const struct removal *removal);
