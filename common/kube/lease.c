/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the Lease, asks lease_decide(), and writes it with the resourceVersion that was read. Every
 * failed write is followed by a read. */
#include "common/kube/lease.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/kube/lease_decide.h"
#include "common/kube/lease_owner.h"

enum { DURATION_MS = 15000, RENEW_DEADLINE_MS = 10000, RETRY_MS = 2000, STATUS_FORBIDDEN = 403 };

struct lease {
    struct kube *kube;
    struct loop *loop;
    char *namespace_name, *name, *identity;
    uint32_t duration_ms, renew_deadline_ms, retry_ms;
    lease_fn *on_change;
    lease_problem_fn *on_problem;
    void *data;

    struct loop_timer try_timer;
    struct loop_timer expiry_timer; /* ends leadership */
    struct kube_call *call;
    uint64_t sent_ms;
    json_t *object; /* the newest known state, or NULL: must be read */
    json_t *seen_spec;
    json_t *owner; /* NULL: none */
    struct lease_record record;
    bool is_leader;      /* as last reported to on_change */
    uint64_t renewed_ms; /* when the last successful write was sent */
    bool is_releasing, has_other_holders;
};

static void renew_or_read(void *data);

static bool is_fresh(const struct lease *lease)
{
    return loop_now_ms(lease->loop) - lease->renewed_ms < lease->renew_deadline_ms;
}

bool lease_is_held(const struct lease *lease)
{
    return lease->is_leader && is_fresh(lease);
}

static void set_leader(struct lease *lease, bool is_leader)
{
    if (lease->is_leader == is_leader)
        return;
    lease->is_leader = is_leader;
    if (!is_leader)
        loop_timer_stop(&lease->expiry_timer);
    lease->on_change(lease->data, is_leader);
}

static void on_expiry(void *data)
{
    struct lease *lease = data;

    if (!is_fresh(lease))
        set_leader(lease, false);
}

static void forget_object(struct lease *lease)
{
    json_decref(lease->object);
    lease->object = NULL;
}

static void note_object(struct lease *lease, json_t *object)
{
    struct lease_record record = lease_record_read(object, lease->seen_spec, &lease->record,
                                                   lease->identity, loop_now_ms(lease->loop));

    forget_object(lease);
    json_decref(lease->seen_spec);
    lease->object = json_incref(object);
    lease->seen_spec = json_incref(json_object_get(object, "spec"));
    lease->record = record;
}

static void on_failed(struct lease *lease, const struct error *err)
{
    forget_object(lease);
    if (!lease->is_releasing)
        loop_timer_start(&lease->try_timer, lease->retry_ms);
    if (lease->on_problem && err->kind != ERROR_CONFLICT && err->kind != ERROR_EXISTS)
        lease->on_problem(lease->data, err);
}

static void forget_owner(struct lease *lease)
{
    json_decref(lease->owner);
    lease->owner = NULL;
}

static void on_written(void *data, json_t *object, const struct error *err)
{
    struct lease *lease = data;

    lease->call = NULL;
    if (err->kind != ERROR_NONE) {
        /* The admission plugin OwnerReferencesPermissionEnforcement lets only those who may delete
         * the Lease change its owners. */
        if (err->http_status == STATUS_FORBIDDEN)
            forget_owner(lease);
        on_failed(lease, err);
        return;
    }
    note_object(lease, object);
    lease->renewed_ms = lease->sent_ms;
    if (lease->is_releasing)
        return;
    loop_timer_start(&lease->try_timer, lease->retry_ms);
    if (is_fresh(lease))
        loop_timer_start(&lease->expiry_timer,
                         lease->renewed_ms + lease->renew_deadline_ms - loop_now_ms(lease->loop));
    set_leader(lease, is_fresh(lease));
}

static int start_call(struct lease *lease, enum kube_verb verb, const json_t *body,
                      kube_done_fn *on_done, struct error *err)
{
    const struct kube_request request = {
        .verb = verb,
        .lane = KUBE_LANE_URGENT, /* other requests that hang must not cost the lease */
        .resource = KUBE_LEASES,
        .namespace_name = lease->namespace_name,
        .name = lease->name,
        .body = body,
        /* Leave time for another attempt before the renew deadline. */
        .timeout_ms = lease->renew_deadline_ms / 2,
        .is_not_retried = true,
        .on_done = on_done,
        .data = lease,
    };

    lease->sent_ms = loop_now_ms(lease->loop);
    return kube_start(lease->kube, &request, &lease->call, err);
}

static void start_or_retry(struct lease *lease, enum kube_verb verb, const json_t *body,
                           kube_done_fn *on_done)
{
    struct error err = {0};

    if (start_call(lease, verb, body, on_done, &err) < 0)
        on_failed(lease, &err);
}

static void act(struct lease *lease, enum lease_action action)
{
    cleanup_json json_t *body = NULL;
    char time[TIMESTAMP_MAX];

    if (action == LEASE_WAIT) {
        set_leader(lease, false);
        forget_object(lease);
        loop_timer_start(&lease->try_timer, lease->retry_ms);
        return;
    }
    timestamp_format_micro(clock_unix_ms(loop_clock(lease->loop)), time);
    body = lease_object_make(lease->object, lease->namespace_name, lease->name, lease->identity,
                             lease->duration_ms, action, time);
    lease_owner_add(body, lease->owner);
    start_or_retry(lease, action == LEASE_CREATE ? KUBE_CREATE : KUBE_UPDATE, body, on_written);
}

static void decide_and_act(struct lease *lease)
{
    act(lease, lease_decide(&lease->record, lease->duration_ms, loop_now_ms(lease->loop)));
}

static void on_read(void *data, json_t *object, const struct error *err)
{
    struct lease *lease = data;

    lease->call = NULL;
    if (err->kind == ERROR_NONE) {
        note_object(lease, object);
        decide_and_act(lease);
    } else if (err->kind == ERROR_NOT_FOUND && err->http_status == 404) {
        forget_object(lease);
        lease->record = (struct lease_record){0};
        decide_and_act(lease);
    } else {
        on_failed(lease, err);
    }
}

static void renew_or_read(void *data)
{
    struct lease *lease = data;

    if (lease->call)
        return;
    /* The leader renews what it wrote last; if somebody else wrote in between, it gets 409. */
    if (lease->object && lease->is_leader) {
        decide_and_act(lease);
        return;
    }
    start_or_retry(lease, KUBE_GET, NULL, on_read);
}

int lease_start(struct kube *kube, const struct lease_options *options, struct lease **ret_lease,
                struct error *err)
{
    uint32_t duration_ms = options->duration_ms ? options->duration_ms : DURATION_MS;
    uint32_t deadline_ms =
        options->renew_deadline_ms ? options->renew_deadline_ms : RENEW_DEADLINE_MS;
    uint32_t retry_ms = options->retry_ms ? options->retry_ms : RETRY_MS;
    struct lease *lease = NULL;

    if (duration_ms <= deadline_ms || deadline_ms <= retry_ms || duration_ms % 1000 != 0)
        return error_set(
            err, ERROR_INVALID,
            "lease \"%s/%s\": the duration must be in whole seconds and longer than the "
            "renew deadline, which must be longer than the retry period",
            options->namespace_name, options->name);
    if (!options->identity[0])
        return error_set(err, ERROR_INVALID, "lease \"%s/%s\": identity is missing",
                         options->namespace_name, options->name);
    lease = xcalloc(1, sizeof(*lease));
    lease->kube = kube;
    lease->loop = kube_loop(kube);
    lease->namespace_name = xstrdup(options->namespace_name);
    lease->name = xstrdup(options->name);
    lease->identity = xstrdup(options->identity);
    lease->duration_ms = duration_ms;
    lease->renew_deadline_ms = deadline_ms;
    lease->retry_ms = retry_ms;
    lease->has_other_holders = options->has_other_holders;
    lease->owner = lease_owner_new(kube, options->namespace_name);
    lease->on_change = options->on_change;
    lease->on_problem = options->on_problem;
    lease->data = options->data;
    loop_timer_init(&lease->try_timer, lease->loop, renew_or_read, lease);
    loop_timer_init(&lease->expiry_timer, lease->loop, on_expiry, lease);
    loop_timer_start(&lease->try_timer, 0);
    *ret_lease = lease;
    return 0;
}

static void on_released(void *data, json_t *object, const struct error *err)
{
    struct lease *lease = data;

    (void)object;
    (void)err;
    lease->call = NULL;
}

static void run_until_answer(struct lease *lease, uint64_t end_ms)
{
    struct error ignored = {0};
    uint64_t now_ms = 0;

    while (lease->call && (now_ms = loop_now_ms(lease->loop)) < end_ms) {
        if (loop_run_once(lease->loop, (int)(end_ms - now_ms), &ignored) < 0)
            break;
    }
    kube_cancel(lease->call);
    lease->call = NULL;
}

static void release_now(struct lease *lease, uint64_t end_ms)
{
    cleanup_json json_t *body = NULL;
    struct error ignored = {0};
    char time[TIMESTAMP_MAX];

    timestamp_format_micro(clock_unix_ms(loop_clock(lease->loop)), time);
    body = lease_object_release(lease->object, time);
    if (start_call(lease, KUBE_UPDATE, body, on_released, &ignored) == 0)
        run_until_answer(lease, end_ms);
}

void lease_release(struct lease *lease, uint64_t timeout_ms)
{
    bool was_held = false;
    uint64_t end_ms = 0;

    if (!lease)
        return;
    end_ms = loop_now_ms(lease->loop) + (timeout_ms > INT32_MAX ? INT32_MAX : timeout_ms);
    was_held = lease_is_held(lease) && !lease->has_other_holders;
    lease->is_leader = false; /* before somebody else can take the lease */
    lease->is_releasing = true;
    loop_timer_stop(&lease->try_timer);
    loop_timer_stop(&lease->expiry_timer);
    /* A renewal in progress changes the resourceVersion that the release needs. */
    if (was_held)
        run_until_answer(lease, end_ms);
    kube_cancel(lease->call);
    lease->call = NULL;
    if (was_held && lease->object)
        release_now(lease, end_ms);
    json_decref(lease->object);
    json_decref(lease->seen_spec);
    forget_owner(lease);
    free(lease->namespace_name);
    free(lease->name);
    free(lease->identity);
    free(lease);
}
