/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of an agent, in both clusters. Pure: documents in, documents out. Names and content
 * are those of the agent of Landscaper v0.98 where it had such objects. Results are new references
 * unless stated otherwise. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/kube/client.h"
#include "common/kube/config.h"
#include "deployer/agent/config.h"

/* ---- Environment ---- */

/* An object like spec.landscaperClusterConfig: how to reach this server. */
json_t *agent_cluster_config(const struct kube_config *config);
/* A new Environment. landscaper: an agent_cluster_config(). */
json_t *agent_environment(const struct agent_config *config, const json_t *landscaper,
                          const char *cluster_id);
/* Whether it has finalizer, annotations and spec. What others added to the metadata is left alone.
 */
bool agent_environment_is_current(const json_t *environment, const json_t *wanted);
/* A JSON patch that makes it so, or that removes our finalizer. It fails if the Environment was
 * changed meanwhile. */
json_t *agent_environment_patch(const json_t *environment, const json_t *wanted);
json_t *agent_finalizer_patch(const json_t *environment);
bool agent_has_finalizer(const json_t *environment, const char *finalizer);
/* The cluster that the Environment belongs to; NULL: none yet. Borrowed. */
const char *agent_environment_cluster(const json_t *environment);
/* Whether it belongs to another cluster and was not given to ours by annotation. */
bool agent_environment_is_foreign(const json_t *environment, const char *cluster_id);
/* Whether it is accepted, by its condition; without one, unless acceptance is manual. */
bool agent_environment_is_accepted(const json_t *environment, bool is_manual);

/* status.agent. */
json_t *agent_status(const struct agent_config *config, const char *cluster_id,
                     const char *identity);

/* ---- host cluster ---- */

/* In the order of creation. Removed in reverse. */
enum host_object {
    HOST_ACCOUNT,
    HOST_ROLE,
    HOST_ROLE_BINDING,
    HOST_CLUSTER_ROLE,
    HOST_CLUSTER_ROLE_BINDING,
    HOST_OBJECT_COUNT,
};

struct kube_resource host_object_resource(enum host_object which);
bool host_object_is_namespaced(enum host_object which);
/* Belongs to the caller. */
char *host_object_name(const struct agent_config *config, enum host_object which);
/* NULL: this one is not wanted, because there are no such rules. */
json_t *host_object_make(const struct agent_config *config, enum host_object which);
/* Whether the object has the rules, role and account that it should have. */
bool host_object_is_current(const json_t *object, const json_t *wanted);
/* Whether only a new object can be right: the role of a binding cannot be changed. */
bool host_object_needs_new(const json_t *object, const json_t *wanted);
/* Whether we may change or delete it: it has our label, or it is an account or binding of v0.98,
 * whose names nobody else uses. */
bool host_object_is_owned(const json_t *object, enum host_object which);

/* ---- Secrets ---- */

/* When a token was requested, by our clock, and for how long it was granted, by the server's. */
struct token_times {
    const char *requested; /* RFC 3339 */
    int64_t lifetime_seconds;
};

/* The name of the Secret of the host Target; belongs to the caller. */
char *agent_target_secret_name(const struct agent_config *config);
json_t *agent_target_secret(const struct agent_config *config, const json_t *host,
                            const char *token, const struct token_times *times);
/* Whether its kubeconfig leads to the host cluster (an agent_cluster_config()). */
bool agent_target_secret_is_current(const json_t *secret, const json_t *host);

/* The Secret of a deployer whose account in Landscaper's cluster is this one. */
char *agent_access_secret_name(const char *account);
json_t *agent_access_secret(const struct agent_config *config, const char *account,
                            const json_t *landscaper, const char *token,
                            const struct token_times *times);

/* The Secret in which the agent keeps its own token. given: identifies the kubeconfig that the
 * agent was started with. */
json_t *agent_credential_secret(const struct agent_config *config, const char *token,
                                const char *given, const struct token_times *times);
/* The same after the agent has left: without a token. uid: of the Environment, or NULL. */
json_t *agent_left_secret(const struct agent_config *config, const char *uid);
json_t *agent_rejoined_secret(const struct agent_config *config);
/* A value of a Secret; NULL if absent. The caller frees it with wipe_free(). */
char *agent_secret_value(const json_t *secret, const char *key);
