/* SPDX-License-Identifier: Apache-2.0 */
/* A watch that several interests share, and what is reported to them. It is of one name, of all
 * objects of a kind and namespace, or of those that match a label selector.
 *
 * A stream does not keep objects, only their versions. So an interest that joins a stream whose
 * list has begun reads for itself what it wants to know. What the stream reports meanwhile is not
 * undone by an older state that was read, because versions are compared. Private to cluster_watch.c
 * and cluster_stream.c. */
#pragma once

#include "common/apply/cluster_internal.h"
#include "common/base/text_map.h"
#include "common/kube/list.h"
#include "common/kube/watch.h"

struct cluster_stream {
    struct cluster *cluster;
    struct cluster_stream *next;
    struct cluster_connection *connection;
    struct kube_watch *watch;      /* its options say what is watched */
    const char *namespace_name;    /* one of them; NULL: all, or the kind has none */
    const char *name;              /* if it is of one name; of the pool. Or NULL */
    struct loop_timer *read_timer; /* NULL: nothing has to be read */
    struct text_map *listed;  /* the objects that were reported since the list began, or NULL */
    struct text_map versions; /* of what was reported, by "namespace/name"; negative: gone */
    struct cluster_interest *interests, *dead;
    /* The same interests by name. The first chain has those in all objects; if it is the only one,
     * all interests. */
    struct cluster_interest **chains, *only_chain;
    uint32_t interest_count;
    uint32_t chain_count; /* 1, or 1 and a power of two */
    uint32_t reader_count;
    int depth; /* of callbacks */
    /* A list has begun, or the watch began without one: an interest that joins now may have missed
     * objects. */
    bool has_begun;
    bool is_listing; /* it is not complete */
    bool is_denied;  /* the user may not list: objects are read one by one */
    bool has_gone;   /* some of the versions are negative */
};

struct cluster_interest {
    struct cluster_stream *stream;
    struct cluster_interest *next, **link;             /* in the list of the stream */
    struct cluster_interest *chain_next, **chain_link; /* in one of its chains */
    struct cluster_interest *dead_next;
    const char *name; /* of the pool; NULL: all objects of the stream */
    cluster_object_fn *on_object;
    void *data;
    bool is_late;     /* joined after the list had begun: has to read for itself */
    bool is_informed; /* of the state of its object, or of all objects */
    bool is_dead;
    struct kube_call *call; /* reads its object */
    struct kube_list *list; /* reads all its objects */
};

enum taken {
    TAKEN_OUTDATED, /* or of no interest: nothing was reported */
    TAKEN_SAME,     /* reported only to those who did not know it */
    TAKEN_CHANGED,
};

/* Callbacks may add interests, at the head of the list, and mark any as dead. */
#define foreach_interest(stream_, interest_)                                                       \
    for (struct cluster_interest *interest_ = (stream_)->interests; interest_;                     \
         interest_ = interest_->next)

/* Adds the interest, which is in no stream. */
void cluster_stream_add(struct cluster_stream *stream, struct cluster_interest *interest);
/* Takes all interests of a stream that calls nobody at present over. */
void cluster_stream_move(struct cluster_stream *from, struct cluster_stream *to);
/* Ends an interest, between cluster_stream_enter() and cluster_stream_leave(). */
void cluster_stream_end(struct cluster_interest *interest);
/* Enclose everything that may call on_object. The last cluster_stream_leave() frees interests that
 * are dead, and the stream if none is left. */
void cluster_stream_enter(struct cluster_stream *stream);
void cluster_stream_leave(struct cluster_stream *stream);
/* Removes it from the cluster. It has no interests. */
void cluster_stream_close(struct cluster_stream *stream);
void cluster_stream_free(struct cluster_stream *stream);

/* The timer of reads and the list of what was listed are allocated when they are needed. */
void cluster_stream_stop_timer(struct cluster_stream *stream);
void cluster_stream_clear_listed(struct cluster_stream *stream);

/* "namespace/name" */
char *cluster_stream_key(const char *namespace_name, const char *name);
/* The read of an interest ended, or is ended. */
void cluster_stream_end_reading(struct cluster_interest *interest);
void cluster_stream_stop_reading(struct cluster_interest *interest);

void cluster_stream_notify(struct cluster_interest *interest, const json_t *object,
                           const struct error *err);
void cluster_stream_notify_error(struct cluster_stream *stream, const struct error *err);
/* Reports the state of an object to everyone who does not know it. */
enum taken cluster_stream_take(struct cluster_stream *stream, const json_t *object, bool is_gone);
/* Notes the versions of objects that whoever is interested has already. */
void cluster_stream_know(struct cluster_stream *stream, const json_t *objects);
/* The object does not exist, as a list or a read has shown. */
void cluster_stream_take_absence(struct cluster_stream *stream, const char *key);
