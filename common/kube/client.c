/* SPDX-License-Identifier: Apache-2.0 */
/* A call is queued, sent, and then either ends or sleeps until it is retried. All of this happens
 * on the loop, never inside kube_start(). */
#include "common/kube/client.h"

#include <errno.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/answer.h"
#include "common/kube/back_off.h"
#include "common/kube/client_internal.h"
#include "common/kube/config_internal.h"
#include "common/kube/gate.h"
#include "common/kube/request.h"
#include "common/kube/status.h"
#include "common/kube/token.h"
#include "common/net/retry.h"

enum {
    BODY_MAX_DEFAULT = 8 * 1024 * 1024,
    TIMEOUT_DEFAULT_MS = 30000,
    TRIES_MAX = 6,
    RETRY_FIRST_MS = 200,
    RETRY_MAX_MS = 5000,
};

static const size_t LANE_MAX[KUBE_LANE_COUNT] = {
    [KUBE_LANE_NORMAL] = KUBE_IN_FLIGHT_MAX,
    [KUBE_LANE_URGENT] = SIZE_MAX,
    [KUBE_LANE_SLOW] = KUBE_SLOW_MAX,
};

struct lane {
    size_t waiting, in_flight;
};

struct kube {
    struct loop *loop;
    struct http_client *http;
    struct kube_config *config;
    struct http_tls tls;
    struct kube_token token;
    struct kube_gate gate;
    struct kube_call *first, *last;
    struct loop_timer pump; /* sends queued calls */
    struct lane lanes[KUBE_LANE_COUNT];
    size_t sleeping_count;
    struct kube_counts *counts; /* NULL: nothing was counted yet */
    bool has_own_counts;
};

enum kube_call_state {
    KUBE_CALL_NEW, /* or the response has not been evaluated yet */
    KUBE_CALL_WAITING,
    KUBE_CALL_SENT,
    KUBE_CALL_SLEEPING,
    KUBE_CALL_ENDED, /* on_done is running */
};

struct kube_call {
    struct kube *kube;
    struct kube_call *next, *previous;
    enum kube_call_state state;
    enum kube_lane lane;
    struct kube_wire wire;
    struct http_call *http;
    struct loop_timer timer; /* the next attempt; in the slow lane also the deadline */
    struct retry retry;
    uint64_t timeout_ms, deadline_ms; /* except in the slow lane, set by the first attempt */
    struct kube_answer answer;
    bool is_tail, is_not_retried, is_repeated;
    struct buffer tail;
    kube_may_send_fn *may_send;
    const void *may_send_data;
    bool has_new_token; /* it is retried after 401 with a token that was read again */
    kube_done_fn *on_done;
    void *data;
};

static void pump(void *data);
static void on_timer(void *data);

int kube_new(struct loop *loop, struct http_client *http, struct kube_config *config,
             struct kube **ret_kube, struct error *err)
{
    struct kube *kube = NULL;

    if (kube_config_check(config, err) < 0)
        return -1;
    kube = xcalloc(1, sizeof(*kube));
    kube->loop = loop;
    kube->http = http;
    kube->config = config;
    kube->tls = (struct http_tls){
        .ca_pem = config->ca_pem,
        .cert_pem = config->cert_pem,
        .key_pem = config->key_pem,
        .server_name = config->server_name,
        .is_insecure = config->is_insecure,
    };
    kube_token_init(&kube->token, config->token, config->token_file);
    loop_timer_init(&kube->pump, loop, pump, kube);
    *ret_kube = kube;
    return 0;
}

int kube_new_default(struct loop *loop, struct http_client *http, const char *path,
                     struct kube **ret_kube, struct error *err)
{
    cleanup_kube_config struct kube_config *config = NULL;

    if (kube_config_default(path, &config, err) < 0 ||
        kube_new(loop, http, config, ret_kube, err) < 0)
        return -1;
    config = NULL; /* taken over */
    return 0;
}

void kube_set_token(struct kube *kube, const char *token)
{
    kube_token_done(&kube->token);
    if (token)
        kube_token_init(&kube->token, token, NULL);
    else
        kube_token_init(&kube->token, kube->config->token, kube->config->token_file);
}

static bool is_sleeping(const struct kube_call *call)
{
    return call->state == KUBE_CALL_SLEEPING ||
           (call->state == KUBE_CALL_WAITING && call->lane == KUBE_LANE_SLOW);
}

static void set_state(struct kube_call *call, enum kube_call_state state)
{
    struct kube *kube = call->kube;
    struct lane *lane = &kube->lanes[call->lane];

    kube->sleeping_count -= is_sleeping(call);
    lane->waiting -= call->state == KUBE_CALL_WAITING;
    lane->in_flight -= call->state == KUBE_CALL_SENT;
    call->state = state;
    kube->sleeping_count += is_sleeping(call);
    lane->waiting += state == KUBE_CALL_WAITING;
    lane->in_flight += state == KUBE_CALL_SENT;
}

static void destroy_call(struct kube_call *call)
{
    struct kube *kube = call->kube;

    *(call->previous ? &call->previous->next : &kube->first) = call->next;
    *(call->next ? &call->next->previous : &kube->last) = call->previous;
    if (call->state == KUBE_CALL_SENT) {
        http_cancel(call->http);
        loop_timer_start(&kube->pump, 0);
    }
    set_state(call, KUBE_CALL_ENDED);
    loop_timer_stop(&call->timer);
    kube_wire_done(&call->wire);
    buffer_done(&call->tail);
    free(call);
}

void kube_free(struct kube *kube)
{
    if (!kube)
        return;
    while (kube->first)
        destroy_call(kube->first);
    loop_timer_stop(&kube->pump);
    http_forget(kube->http, &kube->tls, kube->config->server);
    kube_token_done(&kube->token);
    kube_gate_done(&kube->gate);
    kube_count_in(kube, NULL);
    kube_config_free(kube->config);
    free(kube);
}

void kube_share_back_off(struct kube *kube)
{
    kube_gate_use(&kube->gate);
}

bool kube_is_backing_off(const struct kube *kube)
{
    return kube->gate.is_closed;
}

struct loop *kube_loop(struct kube *kube)
{
    return kube->loop;
}

const struct kube_config *kube_get_config(const struct kube *kube)
{
    return kube->config;
}

const char *kube_server(const struct kube *kube)
{
    return kube->config->server;
}

size_t kube_sleeping_count(const struct kube *kube)
{
    return kube->sleeping_count;
}

static struct kube_counts *counts_of(struct kube *kube)
{
    if (!kube->counts) {
        kube->counts = xcalloc(1, sizeof(*kube->counts));
        kube->has_own_counts = true;
    }
    return kube->counts;
}

const struct kube_counts *kube_request_counts(struct kube *kube)
{
    return counts_of(kube);
}

void kube_count_in(struct kube *kube, struct kube_counts *counts)
{
    if (kube->has_own_counts)
        free(kube->counts);
    kube->counts = counts;
    kube->has_own_counts = false;
}

bool kube_has_token_file(const struct kube *kube)
{
    return kube->config->token_file != NULL;
}

bool kube_is_busy(const struct kube *kube)
{
    return http_client_is_busy(kube->http);
}

int kube_http_start(struct kube *kube, struct http_request *request, struct http_call **ret_call,
                    struct error *err)
{
    uint64_t now_ms = loop_now_ms(kube->loop);
    const char *token = NULL;

    if (kube_gate_check(&kube->gate, now_ms, kube->config->server, err) < 0)
        return -1;
    if (kube_token_get(&kube->token, now_ms, &token, err) < 0) {
        err->kind = ERROR_DENIED; /* NOT_FOUND would mean a missing object */
        return -1;
    }
    request->tls = &kube->tls;
    request->is_plain_http_allowed = true; /* kube_config_check() has been called */
    request->is_multiplexed = true;
    request->connect_timeout_ms = KUBE_CONNECT_TIMEOUT_MS;
    request->bearer = token;
    if (!token) {
        request->basic_user = kube->config->user;
        request->basic_password = kube->config->password;
    }
    return http_start(kube->http, request, ret_call, err);
}

int kube_http_result(struct kube *kube, const struct http_response *response,
                     const struct error *transport, const char *what, struct error *err)
{
    if (transport->kind != ERROR_CANCELLED)
        kube_counts_add(counts_of(kube), response->method,
                        transport->kind == ERROR_NONE ? response->status : 0);
    kube_gate_note(&kube->gate, loop_now_ms(kube->loop), transport);
    if (transport->kind != ERROR_NONE) {
        *err = *transport;
        return error_wrap(err, "%s", what);
    }
    if (response->status >= 200 && response->status < 300)
        return 0;
    if (response->status == 401)
        kube->token.is_stale = true;
    return kube_status_error(response->status, response->body->data, response->body->size,
                             http_retry_after_ms(response, KUBE_RETRY_AFTER_MAX_MS), what, err);
}

static void finish_call(struct kube_call *call, json_t *object, const struct error *err)
{
    set_state(call, KUBE_CALL_ENDED);
    call->on_done(call->data, object, err);
    destroy_call(call);
}

/* A request that was rejected with 429 or never sent can be repeated even if it is a create. */
static bool is_retried(const struct kube_call *call, const struct error *err)
{
    return !call->is_not_retried && retry_is_useful(err) && call->retry.attempts + 1 < TRIES_MAX &&
           (call->wire.is_repeatable || err->http_status == 429 || err->os == ECONNREFUSED);
}

static uint64_t time_left_ms(const struct kube_call *call)
{
    uint64_t now_ms = loop_now_ms(call->kube->loop);

    return call->deadline_ms > now_ms ? call->deadline_ms - now_ms : 1;
}

static void enqueue(struct kube_call *call)
{
    set_state(call, KUBE_CALL_WAITING);
    if (call->lane == KUBE_LANE_SLOW)
        loop_timer_start(&call->timer, time_left_ms(call));
    loop_timer_start(&call->kube->pump, 0);
}

static void retry_or_fail(struct kube_call *call, const struct error *err)
{
    uint32_t delay_ms = 0;

    if (err->http_status == 401 && kube_has_token_file(call->kube) && !call->has_new_token) {
        call->has_new_token = true;
        enqueue(call);
        return;
    }
    if (is_retried(call, err)) {
        /* Not before it is needed: it makes a system call. */
        if (call->retry.attempts == 0)
            retry_init(&call->retry, RETRY_FIRST_MS, RETRY_MAX_MS);
        delay_ms = retry_next_ms(&call->retry, err);
        if (loop_now_ms(call->kube->loop) + delay_ms < call->deadline_ms) {
            set_state(call, KUBE_CALL_SLEEPING);
            loop_timer_start(&call->timer, delay_ms);
            return;
        }
    }
    finish_call(call, NULL, err);
}

static void on_answer(void *data, const struct http_response *response,
                      const struct error *transport)
{
    struct kube_call *call = data;
    struct kube *kube = call->kube;
    cleanup_json json_t *object = NULL;
    struct error err = {0};
    bool has_failed = kube_http_result(kube, response, transport, call->wire.what, &err) < 0;

    if (!has_failed && kube_answer_read(&call->answer, call->is_tail ? &call->tail : response->body,
                                        &object, &err) < 0) {
        has_failed = true;
        (void)error_wrap(&err, "%s", call->wire.what);
    }
    call->is_repeated = call->is_repeated || response->is_repeated;
    set_state(call, KUBE_CALL_NEW);
    call->http = NULL;
    loop_timer_start(&kube->pump, 0);
    if (has_failed)
        retry_or_fail(call, &err);
    else
        finish_call(call, object, &err);
}

static int on_tail(void *data, const struct http_response *response, const char *bytes, size_t size,
                   struct error *err)
{
    struct kube_call *call = data;

    (void)response;
    (void)err;
    buffer_append_tail(&call->tail, bytes, size);
    return 0;
}

static void on_timer(void *data)
{
    struct kube_call *call = data;
    struct error err = {0};

    if (call->state == KUBE_CALL_SLEEPING) {
        enqueue(call);
        return;
    }
    (void)error_set(&err, ERROR_TEMPORARY, "%s: timed out after %llu ms in the request queue",
                    call->wire.what, (unsigned long long)call->timeout_ms);
    err.os = ETIMEDOUT;
    finish_call(call, NULL, &err);
}

static void send_call(struct kube_call *call)
{
    struct kube *kube = call->kube;
    struct error err = {0};
    const struct http_header headers[] = {
        {"Accept", call->wire.accept},
        {"Content-Type", call->wire.content_type},
    };
    struct http_request request = {
        .method = call->wire.method,
        .url = call->wire.url,
        .headers = headers,
        .header_count = call->wire.body ? 2 : 1,
        .body = call->wire.body,
        .body_size = call->wire.body ? strlen(call->wire.body) : 0,
        .body_max = call->answer.size_max,
        .may_send = call->may_send,
        .may_send_data = call->may_send_data,
        .on_data = call->is_tail ? on_tail : NULL,
        .on_done = on_answer,
        .data = call,
    };

    buffer_clear(&call->tail);
    loop_timer_stop(&call->timer);
    if (!call->deadline_ms)
        call->deadline_ms = loop_now_ms(kube->loop) + call->timeout_ms;
    request.total_timeout_ms = time_left_ms(call);
    /* The connection may be dead. Leave time for another attempt on a new one. */
    if (call->wire.is_repeatable && !call->is_not_retried)
        request.stall_timeout_ms = request.total_timeout_ms * 2 / 3;
    if (kube_http_start(kube, &request, &call->http, &err) < 0) {
        (void)error_wrap(&err, "%s", call->wire.what);
        retry_or_fail(call, &err);
        return;
    }
    set_state(call, KUBE_CALL_SENT);
}

static struct kube_call *first_waiting(const struct kube *kube, size_t lane)
{
    struct kube_call *call = kube->first;

    while (call->state != KUBE_CALL_WAITING || call->lane != lane)
        call = call->next;
    return call;
}

static void pump(void *data)
{
    struct kube *kube = data;

    for (size_t i = 0; i < KUBE_LANE_COUNT; i++) {
        const struct lane *lane = &kube->lanes[i];

        /* Search from the start each time: if a call fails at once, its callback may change the
         * list. */
        while (lane->waiting > 0 && lane->in_flight < LANE_MAX[i])
            send_call(first_waiting(kube, i));
    }
}

int kube_start(struct kube *kube, const struct kube_request *request, struct kube_call **ret_call,
               struct error *err)
{
    struct kube_wire wire = {0};
    struct kube_call *call = NULL;

    if (kube_wire_make(kube->config->server, request, &wire, err) < 0)
        return -1;
    call = xcalloc(1, sizeof(*call));
    call->kube = kube;
    call->wire = wire;
    call->lane = request->lane;
    call->timeout_ms = request->timeout_ms ? request->timeout_ms : TIMEOUT_DEFAULT_MS;
    call->answer = (struct kube_answer){
        .size_max = request->body_max ? request->body_max : BODY_MAX_DEFAULT,
        .skipped_members = request->skipped_members,
        .is_raw = request->is_raw,
        .is_unread = request->is_unread,
        .is_reducible = request->is_reducible,
    };
    call->is_tail = request->is_tail;
    buffer_init(&call->tail, call->answer.size_max);
    call->is_not_retried = request->is_not_retried;
    call->may_send = request->may_send;
    call->may_send_data = request->may_send_data;
    call->on_done = request->on_done;
    call->data = request->data;
    loop_timer_init(&call->timer, kube->loop, on_timer, call);
    if (call->lane == KUBE_LANE_SLOW)
        call->deadline_ms = loop_now_ms(kube->loop) + call->timeout_ms;
    call->previous = kube->last;
    *(kube->last ? &kube->last->next : &kube->first) = call;
    kube->last = call;
    enqueue(call);
    if (ret_call)
        *ret_call = call;
    return 0;
}

bool kube_is_repeated(const struct kube_call *call)
{
    return call->is_repeated || call->retry.attempts > 0;
}

void kube_cancel(struct kube_call *call)
{
    if (call && call->state != KUBE_CALL_ENDED)
        destroy_call(call);
}
