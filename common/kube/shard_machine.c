/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/shard_machine.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"

enum { MEMBERS_MAX = 64, RETRY_MS = 2000 };

enum writing { WRITES_NOTHING, WRITES_OURS, WRITES_RELEASE, WRITES_DELETION };

/* A Lease: of a bucket, ours as a member, or another member's. */
struct place {
    char *name;
    json_t *object; /* the newest known state, or NULL: must be read */
    json_t *seen_spec;
    struct lease_record record;
    bool is_listed;  /* in the list that is being read */
    bool is_current; /* written since that list was begun: it may be older */
    enum writing writing;
    uint64_t sent_ms;    /* when it was written last */
    uint64_t renewed_ms; /* when the last successful write was sent */
    uint64_t next_ms;    /* not written before */
    bool is_held;        /* as last reported to on_change */
    bool is_giving_up;
    enum shard_action decision;
};

/* Buckets, then our own Lease, then those of other members. */
struct shard_machine {
    char *namespace_name, *name, *identity;
    struct shard_machine_options options;
    struct place *places[SHARD_BUCKETS_MAX + 1 + MEMBERS_MAX];
    size_t place_count;
    bool is_stopping;
};

static struct place *own_place(const struct shard_machine *machine)
{
    return machine->places[machine->options.bucket_count];
}

static bool is_bucket(const struct shard_machine *machine, size_t place)
{
    return place < machine->options.bucket_count;
}

static struct place *place_new(char *name)
{
    struct place *place = xcalloc(1, sizeof(*place));

    place->name = name;
    return place;
}

static void forget(struct place *place)
{
    json_decref(place->object);
    place->object = NULL;
}

static void place_free(struct place *place)
{
    forget(place);
    json_decref(place->seen_spec);
    free(place->name);
    free(place);
}

struct shard_machine *shard_machine_new(const struct shard_machine_options *options)
{
    struct shard_machine *machine = xcalloc(1, sizeof(*machine));
    char hash[NAME_HASH_SIZE];

    machine->options = *options;
    machine->namespace_name = xstrdup(options->namespace_name);
    machine->name = xstrdup(options->name);
    machine->identity = xstrdup(options->identity);
    for (size_t i = 0; i < options->bucket_count; i++)
        machine->places[i] = place_new(xasprintf("%s-%zu", options->name, i));
    name_hash(options->name, options->identity, hash);
    machine->places[options->bucket_count] =
        place_new(xasprintf("%s-member-%s", options->name, hash));
    machine->place_count = options->bucket_count + 1;
    return machine;
}

void shard_machine_free(struct shard_machine *machine)
{
    if (!machine)
        return;
    while (machine->place_count)
        place_free(machine->places[--machine->place_count]);
    free(machine->namespace_name);
    free(machine->name);
    free(machine->identity);
    free(machine);
}

/* ---- What is held ---- */

static bool is_fresh(const struct place *place, uint64_t now_ms)
{
    return now_ms - place->renewed_ms < SHARD_RENEW_DEADLINE_MS;
}

bool shard_machine_is_held(const struct shard_machine *machine, size_t bucket, uint64_t now_ms)
{
    const struct place *place = machine->places[bucket];

    return place->is_held && is_fresh(place, now_ms);
}

static void set_held(struct shard_machine *machine, size_t bucket, bool is_held)
{
    struct place *place = machine->places[bucket];

    if (place->is_held == is_held)
        return;
    place->is_held = is_held;
    if (machine->options.on_change)
        machine->options.on_change(machine->options.data, bucket, is_held);
}

static void begin_to_give_up(struct shard_machine *machine, size_t bucket)
{
    machine->places[bucket]->is_giving_up = true;
    set_held(machine, bucket, false);
}

/* ---- What was read ---- */

static void note_object(struct shard_machine *machine, struct place *place, const json_t *lease,
                        uint64_t now_ms)
{
    place->record =
        lease_record_read(lease, place->seen_spec, &place->record, machine->identity, now_ms);
    forget(place);
    json_decref(place->seen_spec);
    place->object = json_deep_copy(lease);
    place->seen_spec = json_incref(json_object_get(place->object, "spec"));
}

static void note_absence(struct place *place)
{
    forget(place);
    place->record = (struct lease_record){0};
}

void shard_machine_begin_list(struct shard_machine *machine)
{
    for (size_t i = 0; i < machine->place_count; i++)
        machine->places[i]->is_listed = machine->places[i]->is_current = false;
}

static struct place *find_place(struct shard_machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->place_count; i++) {
        if (strcmp(machine->places[i]->name, name) == 0)
            return machine->places[i];
    }
    if (machine->place_count == array_length(machine->places) || !strstr(name, "-member-"))
        return NULL;
    machine->places[machine->place_count] = place_new(xstrdup(name));
    return machine->places[machine->place_count++];
}

void shard_machine_note(struct shard_machine *machine, const json_t *lease, uint64_t now_ms)
{
    struct place *place = find_place(machine, doc_text_or(lease, "metadata.name", ""));

    if (!place)
        return;
    place->is_listed = true;
    if (!place->is_current && place->writing == WRITES_NOTHING)
        note_object(machine, place, lease, now_ms);
}

static bool is_live(const struct place *place, uint64_t now_ms)
{
    return place->record.is_held && now_ms - place->record.seen_ms < SHARD_DURATION_MS;
}

static size_t count_held_by(const struct shard_machine *machine, const char *identity)
{
    size_t count = 0;

    for (size_t i = 0; i < machine->options.bucket_count; i++)
        count +=
            strcmp(doc_text_or(machine->places[i]->seen_spec, "holderIdentity", ""), identity) == 0;
    return count;
}

static void count_members(const struct shard_machine *machine, struct shard_view *view,
                          uint64_t now_ms)
{
    view->member_count = 1;
    view->least_held = view->bucket_count;
    for (size_t i = view->bucket_count + 1; i < machine->place_count; i++) {
        const struct place *place = machine->places[i];
        size_t held = 0;

        if (!is_live(place, now_ms))
            continue;
        held = count_held_by(machine, doc_text_or(place->seen_spec, "holderIdentity", ""));
        view->member_count++;
        view->least_held = held < view->least_held ? held : view->least_held;
    }
}

static void decide(struct shard_machine *machine, uint64_t now_ms)
{
    struct lease_record records[SHARD_BUCKETS_MAX];
    struct shard_decision decisions[SHARD_BUCKETS_MAX];
    size_t count = machine->options.bucket_count;
    struct shard_view view = {
        .bucket_count = count,
        .buckets = records,
        .first = count ? hash_text(machine->identity) % count : 0,
        .is_stopping = machine->is_stopping,
        .duration_ms = SHARD_DURATION_MS,
    };

    for (size_t i = 0; i < view.bucket_count; i++)
        records[i] = machine->places[i]->record;
    count_members(machine, &view, now_ms);
    shard_decide(&view, now_ms, decisions);
    for (size_t i = 0; i < view.bucket_count; i++) {
        machine->places[i]->decision = decisions[i].action;
        if (decisions[i].action == SHARD_GIVE_UP && !machine->places[i]->is_giving_up)
            begin_to_give_up(machine, i);
    }
}

/* Forgets members whose Leases are gone. Not while one is being deleted: places have numbers. */
static void drop_members(struct shard_machine *machine)
{
    size_t kept = machine->options.bucket_count + 1;

    for (size_t i = kept; i < machine->place_count; i++) {
        if (machine->places[i]->writing != WRITES_NOTHING)
            return;
    }
    for (size_t i = kept; i < machine->place_count; i++) {
        if (machine->places[i]->is_listed)
            machine->places[kept++] = machine->places[i];
        else
            place_free(machine->places[i]);
    }
    machine->place_count = kept;
}

void shard_machine_end_list(struct shard_machine *machine, bool is_complete, uint64_t now_ms)
{
    if (!is_complete)
        return;
    for (size_t i = 0; i <= machine->options.bucket_count; i++) {
        struct place *place = machine->places[i];

        if (!place->is_listed && !place->is_current && place->writing == WRITES_NOTHING)
            note_absence(place);
        if (!place->record.is_ours && is_bucket(machine, i)) {
            place->is_giving_up = false;
            set_held(machine, i, false);
        }
    }
    drop_members(machine);
    decide(machine, now_ms);
}

/* ---- What is written ---- */

static void label(json_t *lease, const char *name)
{
    json_t *labels = json_object_get(json_object_get(lease, "metadata"), "labels");

    if (!labels) {
        labels = json_object();
        (void)json_object_set_new(json_object_get(lease, "metadata"), "labels", labels);
    }
    (void)json_object_set_new(labels, LABEL_SHARDS, json_string(name));
}

static void write_ours(struct shard_machine *machine, struct place *place, const char *time,
                       enum lease_action action, struct shard_write *write)
{
    write->body = lease_object_make(place->object, machine->namespace_name, place->name,
                                    machine->identity, SHARD_DURATION_MS, action, time);
    write->is_create = action == LEASE_CREATE;
    label(write->body, machine->name);
    place->writing = WRITES_OURS;
}

/* A deletion that races with a renewal fails because of its preconditions. */
static void write_deletion(struct place *place, struct shard_write *write)
{
    write->uid = doc_text(place->object, "metadata.uid");
    write->resource_version = doc_text(place->object, "metadata.resourceVersion");
    place->writing = WRITES_DELETION;
}

static bool next_for_bucket(struct shard_machine *machine, size_t bucket, uint64_t now_ms,
                            const char *time, struct shard_write *write)
{
    struct place *place = machine->places[bucket];
    enum lease_action action = lease_decide(&place->record, SHARD_DURATION_MS, now_ms);
    bool is_busy = place->is_giving_up && machine->options.is_busy &&
                   machine->options.is_busy(machine->options.data, bucket);

    if (action == LEASE_RENEW && place->object && place->is_giving_up && !is_busy) {
        write->body = lease_object_release(place->object, time);
        place->writing = WRITES_RELEASE;
        return true;
    }
    if (action == LEASE_RENEW && place->object) {
        write_ours(machine, place, time, action, write);
        return true;
    }
    if (place->decision != SHARD_TAKE || (action != LEASE_CREATE && action != LEASE_TAKE) ||
        (action == LEASE_TAKE && !place->object))
        return false;
    place->decision = SHARD_NONE; /* the next list decides again */
    write_ours(machine, place, time, action, write);
    return true;
}

static bool holds_any(const struct shard_machine *machine)
{
    for (size_t i = 0; i < machine->options.bucket_count; i++) {
        const struct place *place = machine->places[i];

        if (place->record.is_ours || place->writing != WRITES_NOTHING)
            return true;
    }
    return false;
}

static bool next_for_own(struct shard_machine *machine, uint64_t now_ms, const char *time,
                         struct shard_write *write)
{
    struct place *place = own_place(machine);
    enum lease_action action = lease_decide(&place->record, SHARD_DURATION_MS, now_ms);

    if (machine->is_stopping) {
        if (!place->object || holds_any(machine))
            return false;
        write_deletion(place, write);
        return true;
    }
    if (action == LEASE_WAIT || (action != LEASE_CREATE && !place->object))
        return false;
    write_ours(machine, place, time, action, write);
    return true;
}

static bool next_for_member(struct place *place, uint64_t now_ms, struct shard_write *write)
{
    if (!place->object || now_ms - place->record.seen_ms < SHARD_MEMBER_AGE_MS)
        return false;
    write_deletion(place, write);
    return true;
}

static bool next_for(struct shard_machine *machine, size_t i, uint64_t now_ms, const char *time,
                     struct shard_write *write)
{
    if (is_bucket(machine, i))
        return next_for_bucket(machine, i, now_ms, time, write);
    return i == machine->options.bucket_count ? next_for_own(machine, now_ms, time, write)
                                              : next_for_member(machine->places[i], now_ms, write);
}

bool shard_machine_next(struct shard_machine *machine, uint64_t now_ms, const char *time,
                        struct shard_write *ret_write)
{
    for (size_t i = 0; i < machine->place_count; i++) {
        struct place *place = machine->places[i];
        bool is_release_due = place->is_giving_up || machine->is_stopping;

        if (is_bucket(machine, i) && !is_fresh(place, now_ms))
            set_held(machine, i, false);
        if (place->writing != WRITES_NOTHING || (now_ms < place->next_ms && !is_release_due))
            continue;
        *ret_write = (struct shard_write){.place = i, .name = place->name};
        if (!next_for(machine, i, now_ms, time, ret_write))
            continue;
        place->sent_ms = now_ms;
        place->next_ms = now_ms + SHARD_RENEW_MS;
        return true;
    }
    return false;
}

void shard_machine_written(struct shard_machine *machine, size_t number, const json_t *lease,
                           enum error_kind kind, uint64_t now_ms)
{
    struct place *place = machine->places[number];
    enum writing writing = place->writing;

    place->writing = WRITES_NOTHING;
    place->is_current = true;
    if (kind != ERROR_NONE) {
        /* It may have been written nevertheless. Then the next attempt is a conflict. */
        place->next_ms = now_ms + RETRY_MS;
        if (kind == ERROR_CONFLICT || kind == ERROR_EXISTS || kind == ERROR_NOT_FOUND) {
            forget(place);
            place->is_current = false;
        }
        return;
    }
    if (writing == WRITES_DELETION) {
        note_absence(place);
        return;
    }
    note_object(machine, place, lease, now_ms);
    if (writing == WRITES_RELEASE) {
        place->is_giving_up = false;
        return;
    }
    place->renewed_ms = place->sent_ms;
    if (!is_bucket(machine, number) || place->is_giving_up)
        return;
    if (machine->is_stopping)
        begin_to_give_up(machine, number);
    else
        set_held(machine, number, is_fresh(place, now_ms));
}

void shard_machine_stop(struct shard_machine *machine)
{
    machine->is_stopping = true;
    for (size_t i = 0; i < machine->options.bucket_count; i++) {
        machine->places[i]->decision = SHARD_NONE;
        if (machine->places[i]->record.is_ours)
            begin_to_give_up(machine, i);
    }
}

bool shard_machine_is_stopped(const struct shard_machine *machine)
{
    return machine->is_stopping && !holds_any(machine) && !own_place(machine)->object &&
           own_place(machine)->writing == WRITES_NOTHING;
}
