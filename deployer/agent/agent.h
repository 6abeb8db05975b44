/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `longshore agent` share. One thread, one event loop, one action at a time. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "common/data/digest.h"
#include "common/kube/client.h"
#include "common/kube/lease.h"
#include "common/kube/watch.h"
#include "common/net/http.h"
#include "common/net/retry.h"
#include "deployer/agent/config.h"
#include "deployer/agent/decide.h"
#include "deployer/agent/objects.h"

#define AGENT_FIELD_MANAGER "landscaper-agent"
#define AGENT_USER_AGENT "longshore-agent/" LONGSHORE_VERSION

enum {
    AGENT_RETRY_FIRST_MS = 1000,
    AGENT_RETRY_MAX_MS = 60 * 1000,
    AGENT_LEASE_MS = 40 * 1000,
    AGENT_LEASE_DEADLINE_MS = 30 * 1000,
    AGENT_RELEASE_MS = 3000,
};

/* The first are host objects, in the same order. */
enum agent_source {
    AGENT_SOURCE_HOST_OBJECTS, /* HOST_ACCOUNT ... */
    AGENT_SOURCE_CREDENTIAL = HOST_OBJECT_COUNT,
    AGENT_SOURCE_ENVIRONMENT,
    AGENT_SOURCE_TARGET,    /* the Secret of the host Target */
    AGENT_SOURCE_DEPLOYERS, /* their accounts in Landscaper's cluster; access: agent */
    AGENT_SOURCE_ACCESS,    /* their Secrets in the host cluster; access: agent */
    AGENT_SOURCE_COUNT,
};

struct agent;

/* The objects of one watch, by name. */
struct agent_watch {
    struct agent *agent;
    enum agent_source source;
    struct kube_watch *watch;
    json_t *objects;
    json_t *listed; /* names in the list that is under way; else NULL */
    bool is_synced, is_rewound;
};

struct agent {
    struct loop *loop;
    struct http_client *http;
    struct kube *host, *landscaper;
    struct agent_config *config;
    bool wants_leave, wants_register, is_draining;
    /* It has left. Remembered in memory, too: when its release is removed, the Secret with the mark
     * goes before the process does. */
    bool has_left;
    const char *directory; /* for kubeconfig and token of the deployer beside the agent; or NULL */
    int directory_fd;

    json_t *host_cluster, *landscaper_cluster; /* agent_cluster_config() */
    char *cluster_id;                          /* NULL: not known yet */
    char *identity;                            /* in the Lease */
    char *pod_name;
    struct kube_call *cluster_call;

    struct agent_watch watches[AGENT_SOURCE_COUNT];
    json_t *deleted; /* uids of objects that were deleted while a request was under way */

    struct lease *lease; /* NULL: not a candidate */
    bool is_lease_gone, is_lease_problem;

    /* The credentials for Landscaper's cluster. */
    char given[DIGEST_HEX_MAX];        /* identifies those that the agent was started with */
    char *account_namespace, *account; /* NULL: they are not those of an account */
    char *token;                       /* own token that is in use; NULL: the given one */
    bool is_token_refused;             /* the own token is not valid any more */
    json_t *deadlines;                 /* name -> [requested, loop_now_ms() of its renewal] */

    enum agent_action action; /* under way */
    struct kube_call *call;
    enum agent_source source; /* of the object that is written */
    char *name;               /* of that object, or of the deployer whose token is requested */
    bool is_deletion;
    struct retry retries[AGENT_ACTION_COUNT];
    uint64_t retry_at_ms[AGENT_ACTION_COUNT]; /* 0: may be started */
    /* One deployer whose token is refused must not delay those of the others. */
    char *deployer;         /* account whose token is renewed; NULL: none */
    json_t *deployer_waits; /* account -> loop_now_ms() of the next attempt, after an error */
    const char *last_rule;

    struct loop_timer pass_timer; /* the next evaluation */
    struct loop_timer leave_timer;
    struct loop_timer cluster_timer; /* the next attempt to identify the cluster */
    struct retry cluster_retry;
    struct loop_timer trim_timer; /* returns memory that is not used between two heartbeats */
    uint64_t writes, failures, renewals;
    int result; /* of --leave and --prepare */
};

/* ---- known.c: what the watches report ---- */
int agent_known_start(struct agent *agent, struct error *err) must_check;
void agent_known_stop(struct agent *agent);
bool agent_known_is_synced(const struct agent *agent);
/* NULL: it does not exist. Borrowed. */
const json_t *agent_find(const struct agent *agent, enum agent_source source, const char *name);
/* The object of a source that has only one. */
const json_t *agent_only(const struct agent *agent, enum agent_source source);
/* Takes the answer to a write over, as if the watch had reported it; NULL: it was deleted. */
void agent_known_answer(struct agent *agent, enum agent_source source, const char *name,
                        const json_t *object);

/* ---- evaluate.c ---- */
void agent_evaluate(void *data); /* the callback of pass_timer */
/* Evaluates later, from the loop. */
void agent_touch(struct agent *agent);
/* The first host object, deployer account or Secret that the situation is about. Belongs to the
 * caller; NULL: none. */
size_t agent_wrong_host_object(const struct agent *agent); /* HOST_OBJECT_COUNT: none */
size_t agent_old_host_object(const struct agent *agent, bool is_any);
const char *agent_due_deployer(struct agent *agent);
const char *agent_old_access(const struct agent *agent, bool is_any);
bool agent_has_left(const struct agent *agent);

/* ---- act.c ---- */
void agent_act(struct agent *agent, enum agent_action action);
void agent_act_stop(struct agent *agent);
/* Starts the request of the action. */
void agent_send(struct agent *agent, struct kube *kube, struct kube_request *request,
                kube_done_fn *on_done);
/* The action ended; err may be of kind ERROR_NONE. */
void agent_done(struct agent *agent, const struct error *err);
/* Stores a Secret; the action ends with the answer. */
void agent_write_secret(struct agent *agent, enum agent_source source, const json_t *secret);
/* The answer to a write: for on_done. */
void agent_on_written(void *data, json_t *object, const struct error *err);

/* ---- renew.c: tokens ---- */
void agent_renew(struct agent *agent, enum agent_action action);
/* In how many milliseconds the token in a Secret is to be renewed. 0: now, or there is none. */
uint64_t agent_renewal_in_ms(struct agent *agent, const char *key, const json_t *secret);
/* The milliseconds until the next renewal; UINT64_MAX: none. */
uint64_t agent_next_renewal_in_ms(struct agent *agent);

/* ---- credential.c: access to Landscaper's cluster ---- */
/* Reads the given credentials. config is borrowed. */
int agent_credential_start(struct agent *agent, const struct kube_config *config, struct error *err)
    must_check;
/* Uses the stored token if it belongs to the given credentials, and writes it to the directory. */
void agent_credential_use(struct agent *agent, const json_t *secret);
/* Whether an own token can be requested and has to be. */
bool agent_credential_is_due(struct agent *agent);
/* A request was answered with an error: returns to the given credentials after 401. */
void agent_credential_failed(struct agent *agent, const struct error *err);
/* Writes kubeconfig and token to the directory, if there is one. */
int agent_credential_export(struct agent *agent, const char *token, struct error *err) must_check;
void agent_credential_stop(struct agent *agent);

/* ---- election.c ---- */
void agent_elect(struct agent *agent);
bool agent_is_leader(const struct agent *agent);
bool agent_may_send(const void *data);
/* Gives the Lease up and removes it if it is ours. */
void agent_remove_lease(struct agent *agent);
