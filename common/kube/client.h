/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to one API server, on the loop. The only code that knows the API's paths and verbs. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/kube/config.h"
#include "common/kube/count.h"
#include "common/net/http.h"

struct kube; /* a client */
struct kube_call;

/* Which collection: {"", "v1", "secrets"}, {"apps", "v1", "deployments"}. */
struct kube_resource {
    const char *group, *version, *plural;
};

extern const struct kube_resource KUBE_PODS, KUBE_SECRETS, KUBE_CONFIG_MAPS, KUBE_SERVICE_ACCOUNTS,
    KUBE_EVENTS, KUBE_NAMESPACES, KUBE_ROLES, KUBE_ROLE_BINDINGS, KUBE_LEASES, KUBE_DEPLOY_ITEMS,
    KUBE_TARGETS, KUBE_CONTEXTS, KUBE_SYNC_OBJECTS;

enum kube_verb {
    KUBE_GET,
    KUBE_LIST, /* one page; all pages: list.h */
    KUBE_CREATE,
    KUBE_UPDATE,      /* PUT */
    KUBE_PATCH_MERGE, /* application/merge-patch+json */
    KUBE_PATCH_JSON,  /* application/json-patch+json */
    KUBE_APPLY,       /* server-side apply; field_manager is needed */
    KUBE_DELETE,
    KUBE_DELETE_COLLECTION,
};

/* The object, list or Status of the answer, or NULL after a failure (borrowed: json_incref to
 * keep; NULL too if it was to be left unread). Failures carry the API's own words (Status.message)
 * and a kind: 404 NOT_FOUND, 401/403 DENIED, 409 AlreadyExists EXISTS, else 409 CONFLICT, 410 GONE,
 * 413 TOO_LARGE, 400/422 INVALID, 429 and 5xx and transport TEMPORARY (retry_after_ms set). Exactly
 * once, from the loop; never after kube_cancel(). */
typedef void kube_done_fn(void *data, json_t *object, const struct error *err);

/* Whether a call may be sent (again): asked before each try, however long it waited. */
typedef bool kube_may_send_fn(const void *data);

/* How a call waits for its turn: one that hangs holds up none of another lane. */
enum kube_lane {
    KUBE_LANE_COMMON, /* first come, first served, so many at a time as do a server good */
    KUBE_LANE_URGENT, /* sent at once: for what is of no use later (a Lease) */
    /* For what the server has to ask somebody else for (a kubelet: logs), who may not answer. A few
     * at a time; timeout_ms counts from kube_start(), so that a crowd ends when the first do. */
    KUBE_LANE_SLOW,
    KUBE_LANE_COUNT,
};

struct kube_request {
    enum kube_verb verb;
    enum kube_lane lane;
    struct kube_resource resource;
    const char *namespace_name; /* NULL: cluster scope, or all namespaces for a list */
    const char *name;
    const char *subresource; /* "status", "log", "token", or NULL */
    const json_t *body;      /* borrowed until kube_start() returns */
    const char *label_selector, *field_selector;
    const char *field_manager;
    const char *query;     /* further raw query, already escaped ("container=main&tailLines=20") */
    int64_t grace_seconds; /* DELETE: -1 leaves it to the object */
    const char *uid;       /* DELETE: precondition, or NULL */
    const char *resource_version; /* DELETE: precondition; LIST: as is; or NULL */
    bool is_raw;                  /* the answer is text (log): object is a JSON string */
    bool is_unread;               /* nobody looks at the answer: object is NULL */
    bool is_reducible;            /* an answer that can't be read comes reduced (object.h) */
    const char *const *left_out;  /* of the answer, as of a watch; NULL at the end, or NULL */
    bool is_tail;                 /* raw: of a longer answer than body_max the end is kept */
    size_t body_max;              /* of the answer; 0: 8 MiB */
    uint64_t timeout_ms;          /* 0: 30 s */
    bool is_not_retried;        /* else TEMPORARY failures are tried again for up to 5 times within
                                 * timeout_ms: only idempotent verbs and creates with a fixed name,
                                 * where a late EXISTS is the caller's to judge */
    kube_may_send_fn *may_send; /* false: the call ends as ERROR_CANCELLED. NULL: it may */
    const void *may_send_data;
    kube_done_fn *on_done;
    void *data;
};

/* config is taken over only on success; http and loop are borrowed. Lists, watches and leases end
 * before the client; calls under way are cancelled with it. */
int kube_new(struct loop *loop, struct http_client *http, struct kube_config *config,
             struct kube **ret_kube, struct error *err) must_check;
void kube_free(struct kube *kube);
define_cleanup(struct kube *, kube_free)
#define cleanup_kube __attribute__((cleanup(kube_freep)))

/* One HTTP/2 connection carries all calls and watches; calls beyond what their lane takes at a time
 * wait in line, and timeout_ms counts from when it is sent. Fails only for requests that can't be
 * built. ret_call may be NULL. */
int kube_start(struct kube *kube, const struct kube_request *request, struct kube_call **ret_call,
               struct error *err) must_check;
void kube_cancel(struct kube_call *call); /* NULL is fine */

/* Runs the loop until this one request is answered (not from inside a watch's or list's callback);
 * for programs that do one thing after another. *ret_object is a new reference (NULL allowed for
 * ret_object). */
int kube_perform(struct kube *kube, const struct kube_request *request, json_t **ret_object,
                 struct error *err) must_check;

struct loop *kube_loop(struct kube *kube);
const char *kube_server(const struct kube *kube);
/* Requests that failed and wait for their next try, or for their turn in the slow lane: they keep
 * no server busy. */
size_t kube_asleep(const struct kube *kube);
/* Requests that have ended so far, lists and watches included. Borrowed. */
const struct kube_counts *kube_request_counts(const struct kube *kube);
