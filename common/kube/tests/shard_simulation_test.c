/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas that share buckets, on a simulated network and clock: they are killed, paused, stopped
 * and restarted, and messages are late or lost. No two of them ever work on the same bucket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/shard_machine.h"

enum {
    STEP_MS = 250,
    REPLICAS_MAX = 4,
    BUCKETS = 12,
    MESSAGES_MAX = 64,
    REQUEST_TIMEOUT_MS = 5000,
    WORK_MAX_MS = 3000, /* a request to a cluster */
    TAKEOVER_MAX_MS = 60000,
};

/* A list or a write under way. */
struct message {
    bool is_used, is_list, is_lost;
    uint64_t served_ms, answered_ms;
    struct shard_write write;
    char name[64];
    char uid[32], version[32];
    json_t *answer; /* once served */
    enum error_kind kind;
    bool is_served;
};

struct replica {
    struct world *world;
    struct shard_machine *machine; /* NULL: not running */
    unsigned number;
    uint64_t paused_until_ms, listed_ms;
    struct message messages[MESSAGES_MAX];
    uint64_t work_end_ms[BUCKETS]; /* of the last request that was sent for the bucket */
};

struct world {
    uint64_t now_ms;
    uint64_t seed;
    json_t *leases; /* by name */
    unsigned version, started_count;
    unsigned late_max_ms, lost_percent;
    struct replica replicas[REPLICAS_MAX];
};

static unsigned chance(struct world *world, unsigned count)
{
    world->seed = world->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(world->seed >> 33) % count;
}

/* ---- The API server ---- */

static json_t *stamp(struct world *world, const json_t *lease, const char *uid)
{
    json_t *stored = json_deep_copy(lease);
    char text[32];

    (void)snprintf(text, sizeof(text), "%u", ++world->version);
    doc_set_text(stored, "metadata.resourceVersion", text);
    doc_set_text(stored, "metadata.uid", uid ? uid : text);
    return stored;
}

static void serve_write(struct world *world, struct message *message)
{
    json_t *stored = json_object_get(world->leases, message->name);
    const char *version = message->write.body
                              ? doc_text_or(message->write.body, "metadata.resourceVersion", "")
                              : message->version;

    if (message->write.is_create && stored) {
        message->kind = ERROR_EXISTS;
    } else if (!message->write.is_create && !stored) {
        message->kind = ERROR_NOT_FOUND;
    } else if (!message->write.is_create &&
               strcmp(version, doc_text(stored, "metadata.resourceVersion")) != 0) {
        message->kind = ERROR_CONFLICT;
    } else if (!message->write.body) {
        (void)json_object_del(world->leases, message->name);
    } else {
        message->answer =
            stamp(world, message->write.body, stored ? doc_text(stored, "metadata.uid") : NULL);
        (void)json_object_set(world->leases, message->name, message->answer);
    }
}

static void serve(struct world *world, struct message *message)
{
    message->is_served = true;
    if (message->is_list)
        message->answer = json_deep_copy(world->leases);
    else
        serve_write(world, message);
}

/* ---- A replica ---- */

static void message_done(struct message *message)
{
    json_decref(message->write.body);
    json_decref(message->answer);
    *message = (struct message){0};
}

static struct message *send_message(struct replica *replica)
{
    struct world *world = replica->world;
    struct message *message = replica->messages;

    while (message->is_used)
        message++;
    assert_true(message < replica->messages + MESSAGES_MAX);
    *message = (struct message){
        .is_used = true,
        .is_lost = chance(world, 100) < world->lost_percent,
        .served_ms = world->now_ms + chance(world, world->late_max_ms + 1),
    };
    message->answered_ms = message->served_ms + chance(world, world->late_max_ms + 1);
    /* Half of the lost ones are lost on the way back. */
    if (message->is_lost) {
        message->answered_ms = world->now_ms + REQUEST_TIMEOUT_MS;
        message->is_served = chance(world, 2) == 0;
    }
    return message;
}

static void answer(struct replica *replica, struct message *message)
{
    struct shard_machine *machine = replica->machine;
    uint64_t now_ms = replica->world->now_ms;
    bool is_good = !message->is_lost && message->kind == ERROR_NONE;
    const char *name = NULL;
    json_t *lease = NULL;

    if (!message->is_list) {
        shard_machine_written(machine, message->write.place, is_good ? message->answer : NULL,
                              message->is_lost ? ERROR_TEMPORARY : message->kind, now_ms);
        return;
    }
    if (is_good) {
        json_object_foreach(message->answer, name, lease)
            shard_machine_note(machine, lease, now_ms);
    }
    shard_machine_end_list(machine, is_good, now_ms);
    replica->listed_ms = now_ms;
}

static bool is_busy(void *data, size_t bucket)
{
    const struct replica *replica = data;

    return replica->world->now_ms < replica->work_end_ms[bucket];
}

static void start(struct replica *replica)
{
    char identity[32];
    struct shard_machine_options options = {
        .namespace_name = "ns",
        .name = "fleet",
        .identity = identity,
        .bucket_count = BUCKETS,
        .is_busy = is_busy,
        .data = replica,
    };

    (void)snprintf(identity, sizeof(identity), "replica-%u", ++replica->world->started_count);
    replica->machine = shard_machine_new(&options);
    replica->listed_ms = 0;
    replica->paused_until_ms = 0;
}

/* Messages that it has sent are still served. */
static void kill_replica(struct replica *replica)
{
    shard_machine_free(replica->machine);
    replica->machine = NULL;
}

static bool has_list(const struct replica *replica)
{
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        if (replica->messages[i].is_used && replica->messages[i].is_list)
            return true;
    }
    return false;
}

static void send_requests(struct replica *replica)
{
    struct world *world = replica->world;
    struct shard_write write = {0};

    if (!has_list(replica) &&
        (!replica->listed_ms || world->now_ms - replica->listed_ms >= SHARD_READ_MS)) {
        shard_machine_begin_list(replica->machine);
        send_message(replica)->is_list = true;
    }
    while (shard_machine_next(replica->machine, world->now_ms, "2026-01-01T00:00:00.000000Z",
                              &write)) {
        struct message *message = send_message(replica);
        char time[32];

        message->write = write;
        (void)snprintf(message->name, sizeof(message->name), "%s", write.name);
        (void)snprintf(message->version, sizeof(message->version), "%s",
                       write.resource_version ? write.resource_version : "");
        (void)snprintf(time, sizeof(time), "%llu.%u", (unsigned long long)world->now_ms,
                       replica->number);
        if (write.body)
            doc_set_text(write.body, "spec.renewTime", time);
    }
}

static void work(struct replica *replica)
{
    struct world *world = replica->world;

    for (size_t i = 0; i < BUCKETS; i++) {
        if (!shard_machine_is_held(replica->machine, i, world->now_ms))
            continue;
        for (size_t j = 0; j < REPLICAS_MAX; j++) {
            const struct replica *other = &world->replicas[j];

            if (other != replica && world->now_ms < other->work_end_ms[i])
                fail_msg("bucket %zu has two writers at %llu ms", i,
                         (unsigned long long)world->now_ms);
        }
        if (world->now_ms >= replica->work_end_ms[i])
            replica->work_end_ms[i] = world->now_ms + chance(world, WORK_MAX_MS);
    }
}

static void step_messages(struct replica *replica)
{
    struct world *world = replica->world;
    bool is_running = replica->machine && world->now_ms >= replica->paused_until_ms;

    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        struct message *message = &replica->messages[i];

        if (!message->is_used)
            continue;
        if (!message->is_served && world->now_ms >= message->served_ms)
            serve(world, message);
        if (world->now_ms >= message->answered_ms && message->is_served && is_running)
            answer(replica, message);
        if (!replica->machine
                ? message->is_served
                : world->now_ms >= message->answered_ms && message->is_served && is_running)
            message_done(message);
    }
}

static void step(struct world *world)
{
    world->now_ms += STEP_MS;
    for (size_t i = 0; i < REPLICAS_MAX; i++) {
        struct replica *replica = &world->replicas[i];

        step_messages(replica);
        if (!replica->machine || world->now_ms < replica->paused_until_ms)
            continue;
        send_requests(replica);
        work(replica);
        if (shard_machine_is_stopped(replica->machine))
            kill_replica(replica);
    }
}

static void run(struct world *world, uint64_t time_ms)
{
    for (uint64_t end_ms = world->now_ms + time_ms; world->now_ms < end_ms;)
        step(world);
}

static size_t count_held(const struct world *world, const struct replica *only)
{
    size_t count = 0;

    for (size_t i = 0; i < REPLICAS_MAX; i++) {
        const struct replica *replica = &world->replicas[i];

        for (size_t j = 0; replica->machine && (!only || only == replica) && j < BUCKETS; j++)
            count += shard_machine_is_held(replica->machine, j, world->now_ms);
    }
    return count;
}

static void world_start(struct world *world, uint64_t seed, size_t replicas)
{
    *world = (struct world){.now_ms = 1000000, .seed = seed, .late_max_ms = 300};
    world->leases = json_object();
    for (size_t i = 0; i < REPLICAS_MAX; i++) {
        world->replicas[i].world = world;
        world->replicas[i].number = (unsigned)i;
    }
    for (size_t i = 0; i < replicas; i++)
        start(&world->replicas[i]);
}

static void world_done(struct world *world)
{
    for (size_t i = 0; i < REPLICAS_MAX; i++) {
        for (size_t j = 0; j < MESSAGES_MAX; j++)
            message_done(&world->replicas[i].messages[j]);
        shard_machine_free(world->replicas[i].machine);
    }
    json_decref(world->leases);
}

/* ---- The tests ---- */

static void assert_balanced(const struct world *world, size_t replicas)
{
    assert_int_equal(count_held(world, NULL), BUCKETS);
    for (size_t i = 0; i < REPLICAS_MAX; i++) {
        if (world->replicas[i].machine)
            assert_in_range(count_held(world, &world->replicas[i]), BUCKETS / replicas,
                            (BUCKETS + replicas - 1) / replicas);
    }
}

static void replicas_share_evenly_and_take_over_from_one_that_was_killed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        for (size_t replicas = 1; replicas <= REPLICAS_MAX; replicas++) {
            struct world world;

            world_start(&world, seed, replicas);
            run(&world, 120000);
            assert_balanced(&world, replicas);
            kill_replica(&world.replicas[0]);
            if (replicas > 1) {
                run(&world, TAKEOVER_MAX_MS);
                assert_balanced(&world, replicas - 1);
            }
            start(&world.replicas[0]);
            run(&world, 120000);
            assert_balanced(&world, replicas);
            world_done(&world);
        }
    }
}

static void a_replica_that_stops_hands_over_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct world world;

        world_start(&world, seed, 2);
        run(&world, 120000);
        shard_machine_stop(world.replicas[1].machine);
        run(&world, 20000); /* less than the duration of a Lease */
        assert_null(world.replicas[1].machine);
        assert_balanced(&world, 1);
        assert_int_equal(json_object_size(world.leases), BUCKETS + 1);
        world_done(&world);
    }
}

static void nothing_moves_while_nothing_happens(void **state)
{
    struct world world;
    bool is_held[REPLICAS_MAX][BUCKETS];

    (void)state;
    world_start(&world, 1, 3);
    run(&world, 180000);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < BUCKETS; j++)
            is_held[i][j] = shard_machine_is_held(world.replicas[i].machine, j, world.now_ms);
    }
    for (int minutes = 0; minutes < 10; minutes++) {
        run(&world, 60000);
        for (size_t i = 0; i < 3; i++) {
            for (size_t j = 0; j < BUCKETS; j++)
                assert_int_equal(shard_machine_is_held(world.replicas[i].machine, j, world.now_ms),
                                 is_held[i][j]);
        }
    }
    world_done(&world);
}

static void disturb(struct world *world)
{
    struct replica *replica = &world->replicas[chance(world, REPLICAS_MAX)];

    switch (chance(world, 5)) {
    case 0:
        kill_replica(replica);
        break;
    case 1:
        replica->paused_until_ms = world->now_ms + chance(world, 60000);
        break;
    case 2:
        if (replica->machine)
            shard_machine_stop(replica->machine);
        break;
    default:
        if (!replica->machine && !has_list(replica))
            start(replica);
        break;
    }
}

static void a_bucket_never_has_two_writers_whatever_happens(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct world world;

        world_start(&world, seed, 3);
        for (int i = 0; i < 60; i++) {
            world.late_max_ms = 1 + chance(&world, 2000);
            world.lost_percent = chance(&world, 30);
            disturb(&world);
            run(&world, chance(&world, 20000)); /* checks the writers at each step */
        }
        /* Calm: everything is held again. */
        world.late_max_ms = 300;
        world.lost_percent = 0;
        for (size_t i = 0; i < REPLICAS_MAX; i++) {
            world.replicas[i].paused_until_ms = 0;
            kill_replica(&world.replicas[i]);
        }
        run(&world, 10000);
        start(&world.replicas[0]);
        start(&world.replicas[1]);
        run(&world, 180000);
        assert_balanced(&world, 2);
        world_done(&world);
    }
}

static void leases_of_replicas_that_are_gone_are_deleted(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, 1, 1);
    for (int i = 0; i < 5; i++) {
        run(&world, 60000);
        kill_replica(&world.replicas[0]);
        run(&world, 10000);
        start(&world.replicas[0]);
    }
    assert_true(json_object_size(world.leases) > BUCKETS + 2);
    run(&world, 2 * (uint64_t)SHARD_MEMBER_AGE_MS);
    assert_int_equal(json_object_size(world.leases), BUCKETS + 1);
    world_done(&world);
}

static int setup(void **state)
{
    (void)state;
    doc_setup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_share_evenly_and_take_over_from_one_that_was_killed),
        cmocka_unit_test(a_replica_that_stops_hands_over_at_once),
        cmocka_unit_test(nothing_moves_while_nothing_happens),
        cmocka_unit_test(a_bucket_never_has_two_writers_whatever_happens),
        cmocka_unit_test(leases_of_replicas_that_are_gone_are_deleted),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
