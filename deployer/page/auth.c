/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/page/auth.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "deployer/page/page.h"

#define SCHEME "Bearer "

static const struct kube_resource TOKEN_REVIEWS = {"authentication.k8s.io", "v1", "tokenreviews"};
static const struct kube_resource ACCESS_REVIEWS = {"authorization.k8s.io", "v1",
                                                    "subjectaccessreviews"};

/* Tokens themselves are not kept. */
struct verdict {
    char digest[DIGEST_HEX_MAX]; /* of the token; "": unused */
    enum auth_result result;
    uint64_t until_ms;
};

struct auth {
    struct kube *kube;
    struct kube_resource resource;
    struct verdict cache[AUTH_CACHE_MAX];
    size_t next; /* to be replaced */
    size_t call_count;
};

struct auth_call {
    struct auth *auth;
    struct kube_call *call;
    char digest[DIGEST_HEX_MAX];
    auth_fn *done;
    void *data;
};

struct auth *auth_new(struct kube *kube, struct kube_resource resource)
{
    struct auth *auth = xcalloc(1, sizeof(*auth));

    auth->kube = kube;
    auth->resource = resource;
    return auth;
}

void auth_free(struct auth *auth)
{
    free(auth);
}

static const char *problem_of(enum auth_result result)
{
    static const char *const problems[] = {
        [AUTH_ALLOWED] = "",
        [AUTH_UNKNOWN] = "a valid bearer token of the cluster is needed; make one with kubectl "
                         "create token",
        [AUTH_FORBIDDEN] = "this user may not see the page: it needs permission to list the "
                           "objects that the page shows in all namespaces",
        [AUTH_BUSY] = "too many tokens are being reviewed; retry later",
        [AUTH_FAILED] = "the API server cannot review tokens now; retry later",
    };

    return problems[result];
}

/* ---- Cache ---- */

static struct verdict *find_verdict(struct auth *auth, const char *digest)
{
    uint64_t now_ms = loop_now_ms(kube_loop(auth->kube));

    for (size_t i = 0; i < AUTH_CACHE_MAX; i++) {
        if (strcmp(auth->cache[i].digest, digest) == 0 && auth->cache[i].until_ms > now_ms)
            return &auth->cache[i];
    }
    return NULL;
}

static void keep_verdict(struct auth *auth, const char *digest, enum auth_result result)
{
    struct verdict *verdict = &auth->cache[auth->next];

    auth->next = (auth->next + 1) % AUTH_CACHE_MAX;
    *verdict =
        (struct verdict){.result = result,
                         .until_ms = loop_now_ms(kube_loop(auth->kube)) +
                                     (result == AUTH_ALLOWED ? AUTH_ALLOWED_MS : AUTH_DENIED_MS)};
    (void)snprintf(verdict->digest, sizeof(verdict->digest), "%s", digest);
}

/* ---- Reviews ---- */

void auth_cancel(struct auth_call *call)
{
    if (!call)
        return;
    kube_cancel(call->call);
    call->auth->call_count--;
    free(call);
}

static void finish(struct auth_call *call, enum auth_result result)
{
    auth_fn *done = call->done;
    void *data = call->data;

    call->call = NULL;
    if (result != AUTH_FAILED)
        keep_verdict(call->auth, call->digest, result);
    auth_cancel(call);
    done(data, result, problem_of(result));
}

static int review(struct auth_call *call, struct kube_resource resource, const json_t *body,
                  kube_done_fn *done)
{
    const struct kube_request request = {.verb = KUBE_CREATE,
                                         .resource = resource,
                                         .body = body,
                                         .timeout_ms = PAGE_REQUEST_TIMEOUT_MS / 2,
                                         .on_done = done,
                                         .data = call};
    struct error err = {0};

    return kube_start(call->auth->kube, &request, &call->call, &err);
}

static void on_access(void *data, json_t *object, const struct error *err)
{
    struct auth_call *call = data;

    if (err->kind != ERROR_NONE)
        finish(call, AUTH_FAILED);
    else
        finish(call, doc_bool_or(object, "status.allowed", false) ? AUTH_ALLOWED : AUTH_FORBIDDEN);
}

static json_t *access_review(const struct auth *auth, const json_t *user)
{
    json_t *spec = json_pack("{s:{s:s,s:s,s:s,s:s}}", "resourceAttributes", "verb", "list", "group",
                             auth->resource.group, "version", auth->resource.version, "resource",
                             auth->resource.plural);
    static const char *const keys[][2] = {
        {"username", "user"}, {"uid", "uid"}, {"groups", "groups"}, {"extra", "extra"}};

    for (size_t i = 0; i < array_length(keys); i++) {
        json_t *value = doc_writable(doc_member(user, keys[i][0]));

        if (value)
            (void)json_object_set(spec, keys[i][1], value);
    }
    return json_pack("{s:s,s:s,s:o}", "apiVersion", "authorization.k8s.io/v1", "kind",
                     "SubjectAccessReview", "spec", spec);
}

static void on_token(void *data, json_t *object, const struct error *err)
{
    struct auth_call *call = data;
    cleanup_json json_t *body = NULL;

    call->call = NULL;
    if (err->kind != ERROR_NONE) {
        finish(call, AUTH_FAILED);
        return;
    }
    if (!doc_bool_or(object, "status.authenticated", false)) {
        finish(call, AUTH_UNKNOWN);
        return;
    }
    body = access_review(call->auth, doc_get(object, "status.user"));
    if (review(call, ACCESS_REVIEWS, body, on_access) < 0)
        finish(call, AUTH_FAILED);
}

static bool is_token(const char *header)
{
    return header && strncasecmp(header, SCHEME, strlen(SCHEME)) == 0 && header[strlen(SCHEME)] &&
           strlen(header) <= AUTH_TOKEN_MAX;
}

void auth_check(struct auth *auth, const char *header, auth_fn *done, void *data,
                struct auth_call **ret_call)
{
    char digest[DIGEST_HEX_MAX] = "";
    const struct verdict *verdict = NULL;
    struct auth_call *call = NULL;
    json_t *body = NULL;
    int started = 0;

    *ret_call = NULL;
    if (!is_token(header)) {
        done(data, AUTH_UNKNOWN, problem_of(AUTH_UNKNOWN));
        return;
    }
    header += strlen(SCHEME);
    digest_sha256_hex(header, strlen(header), digest);
    verdict = find_verdict(auth, digest);
    if (verdict || auth->call_count == AUTH_CALLS_MAX) {
        enum auth_result result = verdict ? verdict->result : AUTH_BUSY;

        done(data, result, problem_of(result));
        return;
    }
    call = xcalloc(1, sizeof(*call));
    *call = (struct auth_call){.auth = auth, .done = done, .data = data};
    memcpy(call->digest, digest, sizeof(digest));
    auth->call_count++;
    body = json_pack("{s:s,s:s,s:{s:o}}", "apiVersion", "authentication.k8s.io/v1", "kind",
                     "TokenReview", "spec", "token", doc_new_text(header));
    started = review(call, TOKEN_REVIEWS, body, on_token);
    json_decref(body);
    if (started < 0)
        finish(call, AUTH_FAILED);
    else
        *ret_call = call;
}
