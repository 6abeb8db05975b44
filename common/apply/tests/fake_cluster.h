/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster under the control of a test, in place of cluster.c and of the client's requests and
 * lists: they are recorded, and the test answers them in any order. Time does not pass by itself.
 *
 * Things are named by texts: an interest "configmaps ns/a", "nodes a", or, for a selection,
 * "configmaps ns/?a=b" and "configmaps ?a=b"; a request "DELETE configmaps ns/a uid" or
 * "LIST configmaps ns/? metadata.name=a"; a list
 * "configmaps ns/?a=b". Objects are JSON in which ' stands for ". */
#pragma once

#include "common/apply/cluster.h"
#include "common/apply/tests/parse.h"
#include "common/base/loop.h"
#include "common/kube/list.h"

enum { FAKE_PARTS_MAX = 10100 };

struct fake_part {
    char *text; /* NULL: free */
    void *data;
    cluster_object_fn *on_object;
    cluster_kind_fn *on_kind;
    kube_done_fn *on_done;
    kube_item_fn *on_item;
    kube_listed_fn *on_listed;
    json_t *body;
    char *field_manager, *version;
    kube_may_send_fn *may_send;
};

struct cluster {
    struct clock_fake clock;
    struct loop *loop;
    struct fake_part interests[FAKE_PARTS_MAX], lookups[FAKE_PARTS_MAX], requests[FAKE_PARTS_MAX],
        lists[FAKE_PARTS_MAX];
    size_t request_count, list_count, lookup_count, watch_count, forget_count,
        unauthorized_count; /* ever */
    /* What the next calls do. */
    bool is_lookup_slow;          /* lookups wait for fake_answer_lookup() */
    enum error_kind lookup_error; /* of on_done */
    enum error_kind find_error;   /* of cluster_find_kind() */
    enum error_kind watch_error;  /* of cluster_watch() */
    enum error_kind start_error;  /* of kube_start() and kube_list_start() */
};

/* Setup and teardown of cmocka; the state is a struct cluster. Teardown fails if an interest, a
 * lookup, a request or a list was left behind. */
int fake_setup(void **state);
int fake_teardown(void **state);
/* The same for two clusters on one loop. */
void fake_pair_setup(struct cluster **ret_first, struct cluster **ret_second);
int fake_pair_teardown(struct cluster *first, struct cluster *second); /* returns 0 */

void fake_run(struct cluster *cluster); /* until no timer is due */
void fake_advance(struct cluster *cluster, uint64_t ms);

const struct fake_part *fake_interest(const struct cluster *cluster, const char *interest);
bool fake_is_watched(const struct cluster *cluster, const char *interest);
/* object NULL: it does not exist, or, for a selection, the list is complete. Runs the loop. */
void fake_deliver(struct cluster *cluster, const char *interest, const char *object);
void fake_deliver_gone(struct cluster *cluster, const char *selection, const char *object);
void fake_deliver_error(struct cluster *cluster, const char *interest, enum error_kind kind,
                        const char *text);
void fake_answer_lookup(struct cluster *cluster, const char *kind, enum error_kind kind_of_error);

size_t fake_open_requests(const struct cluster *cluster);
/* The request must have been sent and not been answered. */
const struct fake_part *fake_request(const struct cluster *cluster, const char *request);
void fake_answer(struct cluster *cluster, const char *request, const char *object);
void fake_refuse(struct cluster *cluster, const char *request, enum error_kind kind,
                 int http_status, const char *text);
bool fake_is_listing(const struct cluster *cluster, const char *list);
void fake_list_item(struct cluster *cluster, const char *list, const char *object);
void fake_list_done(struct cluster *cluster, const char *list, enum error_kind kind);
