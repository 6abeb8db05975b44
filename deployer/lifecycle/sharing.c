/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/sharing.h"

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/kube/shards.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/serve/leader.h"

#define LEASE_NAME "893110f7.kyma-project.io" /* of the original: both never lead at a time */
#define SHARED_IDENTITY "longshore-lifecycle-replicas"
#define SHARDS_NAME "longshore-lifecycle"

enum {
    /* The same in all replicas, whatever their version, or two of them write to one cluster. */
    BUCKETS = 32,
    HAND_OVER_MS = 12 * 1000,
    /* Requests that are under way when a bucket is lost are cancelled after this: less than the
     * 10 s after which another replica may have it (common/kube/shards.h). */
    LEAVE_MS = 8 * 1000,
    LOG_MS = 500,
};

struct sharing {
    struct lifecycle *lifecycle;
    struct shards *shards;
    struct kyma *kymas[BUCKETS];
    uint64_t lost_ms[BUCKETS]; /* 0: not lost, or all its clusters were left since */
    struct loop_timer timer;
    struct loop_timer log_timer; /* many shares change at a time */
};

/* ---- Who may write ---- */

static bool has_bucket(const struct lifecycle *lifecycle, size_t bucket)
{
    const struct sharing *sharing = lifecycle->sharing;

    return !lifecycle->options.is_shared ||
           (sharing && sharing->shards && shards_is_held(sharing->shards, bucket));
}

bool sharing_has(const struct kyma *kyma)
{
    return has_bucket(kyma->lifecycle, kyma->bucket);
}

bool kyma_may_send(const void *data)
{
    const struct kyma *kyma = data;

    return lifecycle_may_write(kyma->lifecycle) && sharing_has(kyma);
}

bool lifecycle_may_send(const void *data)
{
    const struct lifecycle *lifecycle = data;

    return lifecycle_may_write(lifecycle) && has_bucket(lifecycle, 0);
}

struct sender sender_for_kyma(const struct kyma *kyma)
{
    return (struct sender){kyma->lifecycle, kyma_may_send, kyma};
}

struct sender sender_for_all(struct lifecycle *lifecycle)
{
    return (struct sender){lifecycle, lifecycle_may_send, lifecycle};
}

/* ---- Clusters and their buckets ---- */

void sharing_add(struct kyma *kyma)
{
    struct sharing *sharing = kyma->lifecycle->sharing;

    if (!sharing)
        return;
    kyma->bucket = shards_bucket_of(sharing->shards, kyma->name);
    kyma->share_next = sharing->kymas[kyma->bucket];
    kyma->share_link = &sharing->kymas[kyma->bucket];
    if (kyma->share_next)
        kyma->share_next->share_link = &kyma->share_next;
    sharing->kymas[kyma->bucket] = kyma;
}

void sharing_remove(struct kyma *kyma)
{
    if (!kyma->share_link)
        return;
    *kyma->share_link = kyma->share_next;
    if (kyma->share_next)
        kyma->share_next->share_link = kyma->share_link;
    kyma->share_link = NULL;
}

static bool is_busy(void *data, size_t bucket)
{
    const struct sharing *sharing = data;

    for (const struct kyma *kyma = sharing->kymas[bucket]; kyma; kyma = kyma->share_next) {
        if (kyma_is_busy(kyma))
            return true;
    }
    return false;
}

static void on_timer(void *data)
{
    struct sharing *sharing = data;
    uint64_t now_ms = loop_now_ms(sharing->lifecycle->loop);
    struct kyma *next = NULL;

    for (size_t i = 0; i < BUCKETS; i++) {
        uint64_t lost_ms = sharing->lost_ms[i];

        if (!lost_ms)
            continue;
        if (now_ms < lost_ms + LEAVE_MS) {
            if (!loop_timer_is_running(&sharing->timer))
                loop_timer_start(&sharing->timer, lost_ms + LEAVE_MS - now_ms);
            continue;
        }
        sharing->lost_ms[i] = 0;
        for (struct kyma *kyma = sharing->kymas[i]; kyma; kyma = next) {
            next = kyma->share_next;
            kyma_leave(kyma);
        }
    }
}

static void on_log_timer(void *data)
{
    const struct sharing *sharing = data;

    log_info("sharing clusters with other replicas",
             log_number("held", shards_held_count(sharing->shards)), log_number("shares", BUCKETS));
}

static void on_bucket(void *data, size_t bucket, bool is_held)
{
    struct sharing *sharing = data;

    log_debug(is_held ? "share gained" : "share lost", log_number("share", bucket));
    if (!loop_timer_is_running(&sharing->log_timer))
        loop_timer_start(&sharing->log_timer, LOG_MS);
    sharing->lost_ms[bucket] = is_held ? 0 : loop_now_ms(sharing->lifecycle->loop);
    if (!is_held && !loop_timer_is_running(&sharing->timer))
        loop_timer_start(&sharing->timer, LEAVE_MS);
    for (struct kyma *kyma = sharing->kymas[bucket]; kyma; kyma = kyma->share_next)
        kyma_touch(kyma);
}

/* ---- Elections ---- */

static void on_leadership(void *data, bool is_leader)
{
    struct lifecycle *lifecycle = data;

    if (!lifecycle->options.is_shared)
        log_info(is_leader ? "leading" : "not leading");
    if (is_leader)
        kymas_touch_all(lifecycle);
}

static void on_shard_problem(void *data, const struct error *err)
{
    (void)data;
    log_error("sharing the clusters with other replicas failed, retrying",
              log_text("error", err->text));
}

static int start_shards(struct lifecycle *lifecycle, struct error *err)
{
    struct sharing *sharing = xcalloc(1, sizeof(*sharing));
    cleanup_free char *identity = leader_identity();
    const struct shards_options options = {
        .namespace_name = lifecycle->options.namespace_name,
        .name = SHARDS_NAME,
        .identity = identity,
        .bucket_count = BUCKETS,
        .on_change = on_bucket,
        .is_busy = is_busy,
        .on_problem = on_shard_problem,
        .data = sharing,
    };

    lifecycle->sharing = sharing;
    sharing->lifecycle = lifecycle;
    loop_timer_init(&sharing->timer, lifecycle->loop, on_timer, sharing);
    loop_timer_init(&sharing->log_timer, lifecycle->loop, on_log_timer, sharing);
    return shards_start(lifecycle->kube, &options, &sharing->shards, err);
}

int sharing_start(struct lifecycle *lifecycle, struct error *err)
{
    bool is_shared = lifecycle->options.is_shared;
    const struct lease_options options = {.namespace_name = lifecycle->options.namespace_name,
                                          .name = LEASE_NAME,
                                          .identity = is_shared ? SHARED_IDENTITY : NULL,
                                          .has_other_holders = is_shared,
                                          .on_change = on_leadership,
                                          .data = lifecycle};

    if (is_shared && start_shards(lifecycle, err) < 0)
        return -1;
    return leader_elect(lifecycle->kube, &options, &lifecycle->lease, err);
}

void sharing_hand_over(struct lifecycle *lifecycle)
{
    struct sharing *sharing = lifecycle->sharing;

    if (!sharing)
        return;
    shards_stop(sharing->shards, HAND_OVER_MS);
    sharing->shards = NULL;
    loop_timer_stop(&sharing->timer);
    loop_timer_stop(&sharing->log_timer);
}

void sharing_stop(struct lifecycle *lifecycle)
{
    lease_release(lifecycle->lease, LEADER_RELEASE_MS);
    lifecycle->lease = NULL;
    free(lifecycle->sharing);
    lifecycle->sharing = NULL;
}

size_t sharing_bucket_count(const struct lifecycle *lifecycle)
{
    return lifecycle->options.is_shared ? BUCKETS : 0;
}

size_t sharing_held_count(const struct lifecycle *lifecycle)
{
    const struct sharing *sharing = lifecycle->sharing;

    return sharing && sharing->shards ? shards_held_count(sharing->shards) : 0;
}
