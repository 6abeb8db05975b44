/* SPDX-License-Identifier: Apache-2.0 */
/* Which servers are known: their kinds outlive the clusters that use them. */
#include <string.h>

#include "common/apply/cluster_internal.h"
#include "common/base/memory.h"

void cluster_kinds_forget_answers(struct cluster_kinds *kinds)
{
    while (kinds->answer_count)
        free(kinds->answers[--kinds->answer_count].api_version);
}

static void add_unused(struct cluster_pool *pool, struct cluster_kinds *kinds)
{
    kinds->next_unused = NULL;
    kinds->previous_unused = pool->latest_unused;
    *(pool->latest_unused ? &pool->latest_unused->next_unused : &pool->longest_unused) = kinds;
    pool->latest_unused = kinds;
}

static void remove_unused(struct cluster_pool *pool, struct cluster_kinds *kinds)
{
    *(kinds->previous_unused ? &kinds->previous_unused->next_unused : &pool->longest_unused) =
        kinds->next_unused;
    *(kinds->next_unused ? &kinds->next_unused->previous_unused : &pool->latest_unused) =
        kinds->previous_unused;
}

static void kinds_free(struct cluster_pool *pool, struct cluster_kinds *kinds)
{
    remove_unused(pool, kinds);
    hash_table_remove(&pool->kinds, &kinds->entry);
    cluster_kinds_forget_answers(kinds);
    free(kinds->answers);
    kind_set_free(kinds->set);
    free(kinds);
}

/* Frees those that no cluster uses: all that are outdated and, if there are many, the one that was
 * not used for longest. */
static void purge(struct cluster_pool *pool)
{
    uint64_t now_ms = loop_now_ms(pool->loop);

    while (pool->longest_unused &&
           now_ms - pool->longest_unused->used_ms >= CLUSTER_DISCOVERY_AGE_MS)
        kinds_free(pool, pool->longest_unused);
    if (pool->kinds.count > pool->clusters_max && pool->longest_unused)
        kinds_free(pool, pool->longest_unused);
}

static struct cluster_kinds *find_kinds(const struct cluster_pool *pool, const char *identity)
{
    for (struct hash_entry *entry = hash_table_find(&pool->kinds, hash_text(identity)); entry;
         entry = hash_entry_next(entry)) {
        struct cluster_kinds *kinds = (struct cluster_kinds *)entry;

        if (strcmp(kinds->identity, identity) == 0)
            return kinds;
    }
    return NULL;
}

struct cluster_kinds *cluster_kinds_get(struct cluster_pool *pool, const struct kube_config *config)
{
    char identity[KUBE_IDENTITY_SIZE] = "";
    struct cluster_kinds *kinds = NULL;

    kube_config_identity(config, /* has_credentials= */ false, identity);
    kinds = find_kinds(pool, identity);
    if (!kinds) {
        kinds = xcalloc(1, sizeof(*kinds));
        memcpy(kinds->identity, identity, sizeof(identity));
        kinds->set = kind_set_new();
        hash_table_add(&pool->kinds, &kinds->entry, hash_text(identity));
    } else if (kinds->references == 0) {
        remove_unused(pool, kinds);
    }
    kinds->references++;
    return kinds;
}

void cluster_kinds_put(struct cluster_pool *pool, struct cluster_kinds *kinds)
{
    if (--kinds->references == 0) {
        kinds->used_ms = loop_now_ms(pool->loop);
        add_unused(pool, kinds);
    }
    purge(pool);
}

void cluster_kinds_free_all(struct cluster_pool *pool)
{
    while (pool->longest_unused)
        kinds_free(pool, pool->longest_unused);
    hash_table_done(&pool->kinds);
}
