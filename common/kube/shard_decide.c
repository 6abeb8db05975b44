/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas do not talk to each other: each one counts who is alive and who has what, takes buckets
 * up to its share, and gives up what is more than that. If two want the same bucket, the API server
 * accepts one of them. Buckets move only if a replica has too many or two fewer than another one,
 * so that nothing moves to and fro. */
#include "common/kube/shard_decide.h"

static bool is_free(const struct shard_view *view, size_t bucket, uint64_t now_ms)
{
    enum lease_action action = lease_decide(&view->buckets[bucket], view->duration_ms, now_ms);

    return action == LEASE_CREATE || action == LEASE_TAKE;
}

static void give_up(struct shard_decision *decisions, size_t count, size_t surplus,
                    const char *rule)
{
    for (size_t i = count; i > 0 && surplus > 0; i--) {
        if (decisions[i - 1].action != SHARD_KEEP)
            continue;
        decisions[i - 1] = (struct shard_decision){SHARD_GIVE_UP, rule};
        surplus--;
    }
}

static size_t take(const struct shard_view *view, uint64_t now_ms, struct shard_decision *decisions,
                   size_t wanted)
{
    size_t free_count = 0;

    for (size_t i = 0; i < view->bucket_count; i++) {
        size_t bucket = (view->first + i) % view->bucket_count;

        if (view->buckets[bucket].is_ours || !is_free(view, bucket, now_ms))
            continue;
        free_count++;
        if (view->is_stopping || wanted == 0) {
            decisions[bucket] = (struct shard_decision){
                SHARD_NONE, view->is_stopping ? "free, but stopping" : "free, for others"};
            continue;
        }
        decisions[bucket] = (struct shard_decision){SHARD_TAKE, "free, within our share"};
        wanted--;
    }
    return free_count;
}

void shard_decide(const struct shard_view *view, uint64_t now_ms,
                  struct shard_decision ret_decisions[SHARD_BUCKETS_MAX])
{
    size_t members = view->member_count ? view->member_count : 1;
    size_t least = view->bucket_count / members;
    size_t most = least + (view->bucket_count % members ? 1 : 0);
    size_t own = 0;
    size_t free_count = 0;

    for (size_t i = 0; i < view->bucket_count; i++) {
        bool is_ours = view->buckets[i].is_ours;

        own += is_ours;
        ret_decisions[i] = is_ours ? (struct shard_decision){SHARD_KEEP, "ours"}
                                   : (struct shard_decision){SHARD_NONE, "another replica's"};
    }
    free_count = take(view, now_ms, ret_decisions, own < most ? most - own : 0);
    if (view->is_stopping)
        give_up(ret_decisions, view->bucket_count, own, "ours, but stopping");
    else if (own > most)
        give_up(ret_decisions, view->bucket_count, own - most, "more than our share");
    else if (members > 1 && own > least && free_count == 0 && own >= view->least_held + 2)
        give_up(ret_decisions, view->bucket_count, 1, "another replica has two fewer");
}
