/* SPDX-License-Identifier: Apache-2.0 */
/* Where state and exports go: Secrets of the host cluster, or a directory of the local run. One
 * interface, two implementations. All calls block (they run the loop) until it is done for good or
 * has failed for good. */
#pragma once

#include <stdint.h>

#include "common/base/loop.h"
#include "common/data/uuid.h"
#include "common/kube/client.h"
#include "common/state/save.h"
#include "wait/decide.h"
#include "wait/options.h"
#include "wait/patience.h"

/* Who delivers. Texts are borrowed. */
struct origin {
    const char *item_name, *item_namespace;
    const char *job, *pod_uid; /* "" if unknown */
    int64_t sequence;          /* orders this run among those of the item */
};

/* The newest whole generation; 0 and "" where there is none. */
struct last_generation {
    int64_t sequence; /* the highest seen, of torn generations too */
    char sha256[65];
};

/* One generation under way. */
struct generation {
    const struct origin *origin;
    const struct state_summary *summary;
    char uuid[UUID_TEXT_SIZE]; /* fresh for each try, so names are never anybody else's */
};

struct sink;

struct sink_operations {
    /* Asked only where the environment does not tell. */
    int (*read_last)(struct sink *sink, struct last_generation *ret_last, struct error *err);
    int (*write_chunk)(struct sink *sink, const struct generation *generation, int64_t number,
                       const void *bytes, size_t size, struct error *err);
    /* After all chunks: from now on the generation counts. */
    int (*finish_generation)(struct sink *sink, const struct generation *generation,
                             struct error *err);
    int (*put_exports)(struct sink *sink, const struct origin *origin, const void *bytes,
                       size_t size, struct error *err);
    /* Main exported nothing: what an earlier run exported must not be taken for this one's. */
    int (*clear_exports)(struct sink *sink, const struct origin *origin, struct error *err);
    int (*report)(struct sink *sink, const struct observed *observed,
                  const struct state_outcome *state, const struct export_outcome *exports,
                  struct error *err);
    void (*free)(struct sink *sink);
};

struct sink {
    const struct sink_operations *operations;
};

/* All arguments are borrowed until the sink is freed. */
int sink_kube_new(struct kube *kube, const struct settings *settings,
                  const struct patience *patience, struct sink **ret_sink, struct error *err)
    must_check;
/* path is made if it is not there. */
/* The sequence in the name of a generation's directory, "<sequence>-<uuid>"; 0 if it is none. */
int64_t sink_directory_sequence(const char *name);
int sink_directory_new(const char *path, struct clock *clock, struct sink **ret_sink,
                       struct error *err) must_check;

static inline void sink_free(struct sink *sink)
{
    if (sink)
        sink->operations->free(sink);
}
define_cleanup(struct sink *, sink_free)
#define cleanup_sink __attribute__((cleanup(sink_freep)))
