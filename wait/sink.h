/* SPDX-License-Identifier: Apache-2.0 */
/* The destination of state and exports: Secrets of the host cluster, or a directory of the local
 * run. All operations block (they run the loop) until they have succeeded or finally failed. */
#pragma once

#include <stdint.h>

#include "common/base/loop.h"
#include "common/data/uuid.h"
#include "common/kube/client.h"
#include "common/state/save.h"
#include "wait/deadline.h"
#include "wait/decide.h"
#include "wait/options.h"

/* The run that stores. Strings are borrowed. */
struct origin {
    const char *item_name, *item_namespace;
    const char *job, *pod_uid; /* "" if unknown */
    int64_t sequence;          /* a later run of the item has a higher one */
};

/* The newest complete generation; 0 and "" if there is none. */
struct last_generation {
    int64_t sequence; /* the highest one found, also of incomplete generations */
    char sha256[65];
};

/* A generation that is being written. */
struct generation {
    const struct origin *origin;
    const struct state_summary *summary;
    char uuid[UUID_TEXT_SIZE]; /* new for each attempt, so that object names are unique */
};

/* How far a snapshot is, for the controller, which deletes the pod when it is done. */
struct save_progress {
    bool is_done;           /* it is stored, or will not be */
    int64_t stored, chunks; /* 0: not known yet */
    uint64_t duration_ms;   /* of this attempt so far */
};

struct sink;

struct sink_operations {
    /* Called only if the environment does not name the last generation. */
    int (*read_last)(struct sink *sink, struct last_generation *ret_last, struct error *err);
    int (*write_chunk)(struct sink *sink, const struct generation *generation, int64_t number,
                       const void *bytes, size_t size, struct error *err);
    /* Called after the last chunk; makes the generation visible. NULL: it is complete with the last
     * chunk. */
    int (*finish_generation)(struct sink *sink, const struct generation *generation,
                             struct error *err);
    int (*put_exports)(struct sink *sink, const struct origin *origin, const void *bytes,
                       size_t size, struct error *err);
    /* Main exported nothing: removes the exports of an earlier run. */
    int (*clear_exports)(struct sink *sink, const struct origin *origin, struct error *err);
    /* Tells the controller how far the snapshot is. NULL: nobody waits for that. */
    int (*report_progress)(struct sink *sink, const struct origin *origin,
                           const struct save_progress *progress, struct error *err);
    /* Writes the result for the local run. NULL: the controller reads exit code and termination
     * message instead. */
    int (*report)(struct sink *sink, const struct observed *observed,
                  const struct state_outcome *state, const struct export_outcome *exports,
                  struct error *err);
    void (*free)(struct sink *sink);
};

struct sink {
    const struct sink_operations *operations;
};

/* All arguments are borrowed until the sink is freed. */
struct sink *sink_kube_new(struct kube *kube, const struct settings *settings,
                           const struct deadline *deadline);
/* Creates the directory at path if it is missing. */
int sink_directory_new(const char *path, struct clock *clock, struct sink **ret_sink,
                       struct error *err) must_check;
/* The sequence in the name of a generation's directory, "<sequence>-<uuid>"; 0 if name is not such
 * a name. */
int64_t sink_directory_sequence(const char *name);

static inline void sink_free(struct sink *sink)
{
    if (sink)
        sink->operations->free(sink);
}
define_cleanup(struct sink *, sink_free)
#define cleanup_sink __attribute__((cleanup(sink_freep)))
