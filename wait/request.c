/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/request.h"

#include "common/base/log.h"
#include "common/data/doc.h"
#include "common/net/retry.h"

enum {
    SLACK_MS = 5000, /* so that the client's own timeout comes first */
    RETRY_FIRST_MS = 200,
    RETRY_MAX_MS = 10000,
    LAST_ATTEMPT_MS = 500, /* no attempt with less time left */
    /* The kubelet replaces an expired token within about a minute. */
    UNAUTHORIZED_RETRY_MS = 120000,
    HTTP_UNAUTHORIZED = 401,
};

struct attempt {
    bool is_answered;
    json_t *object;
    struct error err;
};

static void on_done(void *data, json_t *object, const struct error *err)
{
    struct attempt *attempt = data;

    attempt->is_answered = true;
    if (object)
        attempt->object = json_incref(object);
    else
        attempt->err = *err;
}

/* Starts the call; the body is freed here. */
static int start(struct kube *kube, const struct kube_request *request, request_body_fn *make_body,
                 const void *body_data, struct kube_call **ret_call, struct error *err)
{
    struct kube_request own = *request;
    cleanup_json json_t *body = make_body ? make_body(body_data) : NULL;

    own.body = body;
    return kube_start(kube, &own, ret_call, err);
}

static int attempt_once(struct kube *kube, const struct deadline *deadline,
                        const struct kube_request *request, request_body_fn *make_body,
                        const void *body_data, struct attempt *ret_attempt, struct error *err)
{
    struct kube_request own = *request;
    struct kube_call *call = NULL;
    int result = 0;

    *ret_attempt = (struct attempt){0};
    own.is_not_retried = true;
    own.timeout_ms = deadline->request_ms;
    own.on_done = on_done;
    own.data = ret_attempt;
    if (start(kube, &own, make_body, body_data, &call, err) < 0)
        return -1;
    result =
        deadline_run(deadline, &ret_attempt->is_answered, deadline->request_ms + SLACK_MS, err);
    if (!ret_attempt->is_answered) {
        kube_cancel(call);
        (void)error_set(&ret_attempt->err, ERROR_TEMPORARY, "timed out");
    }
    return result;
}

static bool is_worth_retrying(const struct kube_request *request, const struct error *err,
                              uint64_t spent_ms)
{
    if (retry_is_useful(err))
        return true;
    if (err->http_status == HTTP_UNAUTHORIZED)
        return spent_ms < UNAUTHORIZED_RETRY_MS;
    /* A create carries no resourceVersion that could be stale; etcd reports such conflicts. */
    return request->verb == KUBE_CREATE && err->kind == ERROR_CONFLICT;
}

/* Returns 0 after the pause, or -1 if the deadline is too close for another attempt. */
static int pause_before_retry(const struct deadline *deadline, struct retry *retry,
                              struct error *err)
{
    uint64_t left_ms = deadline_left_ms(deadline, UINT64_MAX);
    uint64_t pause_ms = retry_next_ms(retry, err);

    if (left_ms < LAST_ATTEMPT_MS)
        return error_wrap(err, "gave up at the end of the grace period");
    if (pause_ms > left_ms / 2)
        pause_ms = left_ms / 2;
    log_info("request failed, retrying", log_text("error", err->text),
             log_number("attempts", retry->attempts));
    return deadline_run(deadline, NULL, pause_ms, err);
}

int request_perform(struct kube *kube, const struct deadline *deadline,
                    const struct kube_request *request, request_body_fn *make_body,
                    const void *body_data, json_t **ret_object, struct error *err)
{
    struct retry retry = {0};
    uint64_t started_ms = loop_now_ms(deadline->loop);

    retry_init(&retry, RETRY_FIRST_MS, RETRY_MAX_MS);
    for (;;) {
        struct attempt attempt = {0};

        if (attempt_once(kube, deadline, request, make_body, body_data, &attempt, err) < 0)
            return -1;
        if (attempt.object) {
            if (ret_object)
                *ret_object = attempt.object;
            else
                json_decref(attempt.object);
            return 0;
        }
        *err = attempt.err;
        if (!is_worth_retrying(request, err, loop_now_ms(deadline->loop) - started_ms) ||
            pause_before_retry(deadline, &retry, err) < 0)
            return -1;
    }
}
