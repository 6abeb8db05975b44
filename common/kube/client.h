/* SPDX-License-Identifier: Apache-2.0 */
/* A client of one Kubernetes API server, on the loop. */
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

/* A collection: {"", "v1", "secrets"}, {"apps", "v1", "deployments"}. plural NULL with KUBE_LIST:
 * the resources that the API server knows in this group and version (an APIResourceList). */
struct kube_resource {
    const char *group, *version, *plural;
};

extern const struct kube_resource KUBE_PODS, KUBE_SECRETS, KUBE_CONFIG_MAPS, KUBE_SERVICE_ACCOUNTS,
    KUBE_EVENTS, KUBE_NAMESPACES, KUBE_ROLES, KUBE_ROLE_BINDINGS, KUBE_LEASES, KUBE_DEPLOY_ITEMS,
    KUBE_TARGETS, KUBE_CONTEXTS, KUBE_SYNC_OBJECTS, KUBE_CLUSTER_ROLE_BINDINGS, KUBE_INSTALLATIONS,
    KUBE_ENVIRONMENTS, KUBE_DEPLOYER_REGISTRATIONS;

enum kube_verb {
    KUBE_GET,
    KUBE_LIST, /* one page; all pages: list.h */
    /* All API groups but the core group with their resources: an APIGroupDiscoveryList. Servers
     * before Kubernetes 1.27 answer with an APIGroupList. resource is not used. */
    KUBE_DISCOVER,
    KUBE_VERSION, /* the version of the API server; resource is not used */
    KUBE_CREATE,
    KUBE_UPDATE,      /* PUT */
    KUBE_PATCH_MERGE, /* application/merge-patch+json */
    KUBE_PATCH_JSON,  /* application/json-patch+json */
    KUBE_APPLY,       /* server-side apply; field_manager is required */
    KUBE_DELETE,
    KUBE_DELETE_COLLECTION,
};

/* Called exactly once, from the loop, but not after kube_cancel(). object is the object, list or
 * Status of the response: borrowed (json_incref() to keep it), NULL after an error and with
 * is_unread. err->text contains Status.message, and err->kind is: 404 NOT_FOUND, 401 and 403
 * DENIED, 409 AlreadyExists EXISTS, other 409 CONFLICT, 410 GONE, 413 TOO_LARGE, 400 and 422
 * INVALID; 429, 5xx and transport errors TEMPORARY (with retry_after_ms). */
typedef void kube_done_fn(void *data, json_t *object, const struct error *err);

/* As in struct http_request: asked right before the request is written, for each attempt. */
typedef http_may_send_fn kube_may_send_fn;

/* Queueing class; lanes never block each other. */
enum kube_lane {
    KUBE_LANE_NORMAL, /* first come, first served, with a limit on concurrent requests */
    KUBE_LANE_URGENT, /* not queued: for requests that are useless if late (a Lease) */
    /* For requests that the server forwards to a kubelet (logs), which may not respond. A low limit
     * on concurrent requests; timeout_ms includes the time in the queue. */
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
    const char *query;                  /* appended as it is: "container=main&tailLines=20" */
    int64_t grace_seconds;              /* DELETE: -1 for the grace period of the object */
    const char *uid;                    /* DELETE: precondition, or NULL */
    const char *resource_version;       /* DELETE: precondition; LIST: query parameter; or NULL */
    bool is_raw;                        /* the response is text (log): object is a JSON string */
    bool is_unread;                     /* the response is ignored: object is NULL */
    bool is_reducible;                  /* an object that can't be parsed is reduced (object.h) */
    const char *const *skipped_members; /* as in struct kube_watch_options */
    bool is_tail;        /* is_raw: keep the last body_max bytes of a longer response */
    size_t body_max;     /* of the response; 0: 8 MiB */
    uint64_t timeout_ms; /* 0: 30 s */
    /* Otherwise idempotent requests, and creates with a fixed name, are retried up to 5 times
     * within timeout_ms after a TEMPORARY error. A retried create may end with EXISTS although the
     * first attempt created the object. */
    bool is_not_retried;
    kube_may_send_fn *may_send; /* or NULL. If it returns false, the error is ERROR_CANCELLED */
    const void *may_send_data;
    kube_done_fn *on_done;
    void *data;
};

/* Takes ownership of config on success; http and loop are borrowed. Lists, watches and leases must
 * be ended before kube_free(), which cancels the remaining calls and closes the connection; http
 * must still exist then. Many clients may share http: none of them shares a connection. */
int kube_new(struct loop *loop, struct http_client *http, struct kube_config *config,
             struct kube **ret_kube, struct error *err) must_check;
/* The same with the configuration of kube_config_default(). */
int kube_new_default(struct loop *loop, struct http_client *http, const char *path,
                     struct kube **ret_kube, struct error *err) must_check;
void kube_free(struct kube *kube);
define_cleanup(struct kube *, kube_free)
#define cleanup_kube __attribute__((cleanup(kube_freep)))

/* Uses this token from the next request on, or again the credentials of the configuration (NULL).
 */
void kube_set_token(struct kube *kube, const char *token);

/* For a server that may be away for long while many users send requests: when it cannot be reached
 * or is silent, calls, lists and watches fail at once with ERROR_TEMPORARY (retry_after_ms says
 * when to come back), except for one attempt at a time, with back-off up to half a minute. */
void kube_share_back_off(struct kube *kube);

/* Queues a request. All calls and watches share one HTTP/2 connection. timeout_ms counts from when
 * the call is sent (but see KUBE_LANE_SLOW). Fails only if the request is invalid. ret_call may be
 * NULL. */
int kube_start(struct kube *kube, const struct kube_request *request, struct kube_call **ret_call,
               struct error *err) must_check;
void kube_cancel(struct kube_call *call); /* NULL is fine */
/* Whether it was sent more than once, so that the answer says nothing about what an earlier attempt
 * has done. For on_done. */
bool kube_is_repeated(const struct kube_call *call);

/* Runs the loop until this request has been answered or has failed. Not from inside a callback of
 * this client. *ret_object is a new reference; ret_object may be NULL. */
int kube_perform(struct kube *kube, const struct kube_request *request, json_t **ret_object,
                 struct error *err) must_check;

struct loop *kube_loop(struct kube *kube);
const struct kube_config *kube_get_config(const struct kube *kube);
const char *kube_server(const struct kube *kube);
/* The number of requests that wait for a retry or are queued in the slow lane, and so cause no load
 * on the server. */
size_t kube_sleeping_count(const struct kube *kube);
/* Counts of finished requests, including lists and watches. Borrowed. */
const struct kube_counts *kube_request_counts(struct kube *kube);
/* Counts in this table instead, which other clients may share: a table takes a kilobyte. Borrowed
 * until the client is freed. What was counted before is lost. NULL: one of its own again. */
void kube_count_in(struct kube *kube, struct kube_counts *counts);
