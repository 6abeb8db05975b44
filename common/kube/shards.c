/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all Leases every few seconds and writes what the machine wants to be written. All Leases
 * are read with one request, however many buckets there are. */
#include "common/kube/shards.h"

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/timestamp.h"
#include "common/kube/lease_owner.h"
#include "common/kube/list.h"
#include "common/kube/shard_machine.h"

enum { TICK_MS = 1000, WRITE_TIMEOUT_MS = 5000, BUSY_MS = 100, STATUS_FORBIDDEN = 403 };

/* A write under way. */
struct shard_call {
    struct shards *shards;
    struct shard_call *next, **link;
    struct kube_call *call;
    size_t place;
};

struct shards {
    struct kube *kube;
    struct loop *loop;
    char *namespace_name, *selector;
    struct shards_options options;
    struct shard_machine *machine;
    json_t *owner; /* of the Leases; NULL: none */
    struct kube_list *list;
    struct loop_timer list_timer, tick_timer;
    struct shard_call *calls;
    bool is_stopping;
};

static void report(const struct shards *shards, const struct error *err)
{
    if (shards->options.on_problem && err->kind != ERROR_CONFLICT && err->kind != ERROR_EXISTS &&
        err->kind != ERROR_NOT_FOUND)
        shards->options.on_problem(shards->options.data, err);
}

/* ---- Writing ---- */

static void call_free(struct shard_call *call)
{
    *call->link = call->next;
    if (call->next)
        call->next->link = call->link;
    free(call);
}

/* As in lease.c: somebody who may not delete a Lease may not be allowed to change its owners. */
static void forget_owner(struct shards *shards)
{
    json_decref(shards->owner);
    shards->owner = NULL;
}

static void on_written(void *data, json_t *object, const struct error *err)
{
    struct shard_call *call = data;
    struct shards *shards = call->shards;
    bool is_good = err->kind == ERROR_NONE;

    shard_machine_written(shards->machine, call->place, is_good ? object : NULL, err->kind,
                          loop_now_ms(shards->loop));
    call_free(call);
    loop_timer_start(&shards->tick_timer, 0);
    if (err->http_status == STATUS_FORBIDDEN)
        forget_owner(shards);
    if (!is_good)
        report(shards, err);
}

static void start_write(struct shards *shards, const struct shard_write *write)
{
    struct shard_call *call = xcalloc(1, sizeof(*call));
    struct error err = {0};
    const struct kube_request request = {
        .verb = !write->body       ? KUBE_DELETE
                : write->is_create ? KUBE_CREATE
                                   : KUBE_UPDATE,
        .lane = KUBE_LANE_URGENT, /* other requests that hang must not cost the buckets */
        .resource = KUBE_LEASES,
        .namespace_name = shards->namespace_name,
        .name = write->name,
        .body = write->body,
        .grace_seconds = -1,
        .uid = write->uid,
        .resource_version = write->body ? NULL : write->resource_version,
        .timeout_ms = WRITE_TIMEOUT_MS,
        .is_not_retried = true,
        .on_done = on_written,
        .data = call,
    };

    *call = (struct shard_call){.shards = shards, .place = write->place};
    call->next = shards->calls;
    call->link = &shards->calls;
    if (call->next)
        call->next->link = &call->next;
    shards->calls = call;
    if (kube_start(shards->kube, &request, &call->call, &err) == 0)
        return;
    shard_machine_written(shards->machine, write->place, NULL, err.kind, loop_now_ms(shards->loop));
    call_free(call);
    report(shards, &err);
}

static void on_tick(void *data)
{
    struct shards *shards = data;
    struct shard_write write = {0};
    char time[TIMESTAMP_MAX];

    timestamp_format_micro(clock_unix_ms(loop_clock(shards->loop)), time);
    loop_timer_start(&shards->tick_timer, shards->is_stopping ? BUSY_MS : TICK_MS);
    while (shard_machine_next(shards->machine, loop_now_ms(shards->loop), time, &write)) {
        if (write.body)
            lease_owner_add(write.body, shards->owner);
        start_write(shards, &write);
        json_decref(write.body);
    }
}

/* ---- Reading ---- */

static void on_item(void *data, const json_t *object, const struct error *err)
{
    struct shards *shards = data;

    (void)err;
    if (object)
        shard_machine_note(shards->machine, object, loop_now_ms(shards->loop));
}

static void on_listed(void *data, const char *resource_version, const struct error *err)
{
    struct shards *shards = data;

    (void)resource_version;
    shards->list = NULL;
    shard_machine_end_list(shards->machine, err->kind == ERROR_NONE, loop_now_ms(shards->loop));
    loop_timer_start(&shards->list_timer, SHARD_READ_MS);
    on_tick(shards);
    if (err->kind != ERROR_NONE)
        report(shards, err);
}

static void start_list(void *data)
{
    struct shards *shards = data;
    struct error err = {0};
    const struct kube_list_options options = {
        .resource = KUBE_LEASES,
        .namespace_name = shards->namespace_name,
        .label_selector = shards->selector,
        .is_not_retried = true,
        .on_item = on_item,
        .on_done = on_listed,
        .data = shards,
    };

    shard_machine_begin_list(shards->machine);
    if (kube_list_start(shards->kube, &options, &shards->list, &err) == 0)
        return;
    loop_timer_start(&shards->list_timer, SHARD_READ_MS);
    report(shards, &err);
}

/* ---- The interface ---- */

int shards_start(struct kube *kube, const struct shards_options *options,
                 struct shards **ret_shards, struct error *err)
{
    const struct shard_machine_options machine = {
        .namespace_name = options->namespace_name,
        .name = options->name,
        .identity = options->identity,
        .bucket_count = options->bucket_count,
        .on_change = options->on_change,
        .is_busy = options->is_busy,
        .data = options->data,
    };
    struct shards *shards = NULL;

    if (options->bucket_count == 0 || options->bucket_count > SHARD_BUCKETS_MAX)
        return error_set(err, ERROR_INVALID,
                         "Leases \"%s/%s\": the number of buckets must be 1 to %d",
                         options->namespace_name, options->name, SHARD_BUCKETS_MAX);
    if (!options->identity[0])
        return error_set(err, ERROR_INVALID, "Leases \"%s/%s\": identity is missing",
                         options->namespace_name, options->name);
    shards = xcalloc(1, sizeof(*shards));
    shards->kube = kube;
    shards->loop = kube_loop(kube);
    shards->options = *options;
    shards->namespace_name = xstrdup(options->namespace_name);
    shards->selector = xasprintf("%s=%s", LABEL_SHARDS, options->name);
    shards->machine = shard_machine_new(&machine);
    shards->owner = lease_owner_new(kube, options->namespace_name);
    loop_timer_init(&shards->list_timer, shards->loop, start_list, shards);
    loop_timer_init(&shards->tick_timer, shards->loop, on_tick, shards);
    loop_timer_start(&shards->list_timer, 0);
    *ret_shards = shards;
    return 0;
}

bool shards_is_held(const struct shards *shards, size_t bucket)
{
    return shard_machine_is_held(shards->machine, bucket, loop_now_ms(shards->loop));
}

size_t shards_held_count(const struct shards *shards)
{
    size_t count = 0;

    for (size_t i = 0; i < shards->options.bucket_count; i++)
        count += shards_is_held(shards, i);
    return count;
}

size_t shards_bucket_of(const struct shards *shards, const char *key)
{
    return hash_text(key) % shards->options.bucket_count;
}

void shards_stop(struct shards *shards, uint64_t timeout_ms)
{
    uint64_t end_ms = 0;
    uint64_t now_ms = 0;
    struct error ignored = {0};

    if (!shards)
        return;
    end_ms = loop_now_ms(shards->loop) + (timeout_ms > INT32_MAX ? INT32_MAX : timeout_ms);
    shards->is_stopping = true;
    shard_machine_stop(shards->machine);
    loop_timer_start(&shards->tick_timer, 0);
    while (!shard_machine_is_stopped(shards->machine) &&
           (now_ms = loop_now_ms(shards->loop)) < end_ms) {
        if (loop_run_once(shards->loop, (int)(end_ms - now_ms), &ignored) < 0)
            break;
    }
    kube_list_cancel(shards->list);
    while (shards->calls) {
        kube_cancel(shards->calls->call);
        call_free(shards->calls);
    }
    loop_timer_stop(&shards->list_timer);
    loop_timer_stop(&shards->tick_timer);
    shard_machine_free(shards->machine);
    forget_owner(shards);
    free(shards->namespace_name);
    free(shards->selector);
    free(shards);
}
