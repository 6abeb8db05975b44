/* SPDX-License-Identifier: Apache-2.0 */
/* From a pair of Environment and DeployerRegistration to the objects that install the deployer
 * there: Installation, ServiceAccount, ClusterRoleBinding and Target. Pure: documents in, documents
 * out.
 *
 * Names, labels, finalizer and content are those of Landscaper v0.98, so that its objects are taken
 * over without a write. The environment must have passed environment_check(): its texts become
 * import data mappings, which Landscaper evaluates as templates. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/data/names.h"

struct pair {
    const json_t *environment, *registration;
    const char *namespace_name; /* of all objects but the binding */
    /* Of account, binding and Target, and the deployer's release name and identity. Also of the
     * Installation if that is new; an existing one keeps its name, whatever it is. */
    const char *name;
    const char *role; /* ClusterRole of deployers in Landscaper's cluster */
    int64_t renewals; /* how often the token in the Target was replaced */
    /* Identifies the jobs of the deployers that it needs, as of the job that is triggered; NULL:
     * not recorded. */
    const char *providers;
};

/* ---- names ---- */

/* "<registration>-<environment>", or a name with a hash if that is too long for an Installation, is
 * not a DNS label, or is taken (is_taken): "a-b" x "c" and "a" x "b-c" give the same text. Belongs
 * to the caller. */
char *pair_name(const char *registration, const char *environment, bool is_taken);
/* Whether another pair of these registrations and environments has the same plain name. Both are
 * objects with the names as keys. */
bool pair_name_is_ambiguous(const char *registration, const char *environment,
                            const json_t *registrations, const json_t *environments);
/* The halves of the pair that an object belongs to, by annotations or, in objects of v0.98, labels.
 * False: none. Borrowed. */
bool pair_of_object(const json_t *object, const char **ret_registration,
                    const char **ret_environment);

/* Whether the agent of the environment requests the tokens of its deployers and stores them in the
 * cluster of the environment. Then the pair has no Target, and the deployer's blueprint gets no
 * import "landscaperCluster": the Secret is called "<identity>-landscaper-access". */
bool pair_is_access_by_agent(const json_t *environment);

/* ---- objects; all results are new references ---- */

/* A new Installation that Landscaper starts at once. */
json_t *pair_installation(const struct pair *pair);
/* Its spec: componentDescriptor, blueprint, imports and importDataMappings. */
json_t *pair_installation_spec(const struct pair *pair);
json_t *pair_account(const struct pair *pair);
json_t *pair_binding(const struct pair *pair);
/* The Target that leads from the environment to Landscaper's cluster. The token was requested at
 * this time of our clock and is valid for this long. */
json_t *pair_target(const struct pair *pair, const char *token, int64_t requested_unix_ms,
                    int64_t lifetime_seconds);
/* The host Target, owned by the Environment. */
json_t *pair_host_target(const json_t *environment, const char *namespace_name);

/* A kubeconfig for the API server of spec.landscaperClusterConfig. Secret; the caller frees it with
 * wipe_free(). */
char *pair_kubeconfig(const json_t *environment, const char *token);
/* The same for an object like landscaperClusterConfig and one credential: "token" or "tokenFile".
 */
char *pair_kubeconfig_with(const json_t *cluster_config, const char *credential, const char *value);
/* Whether a kubeconfig has a token for this address. */
bool pair_kubeconfig_leads_to(const char *kubeconfig, const json_t *cluster_config);

/* ---- what has to be written ---- */

/* A JSON patch that makes an existing Installation that of the pair and triggers a job, or NULL if
 * nothing has changed. Fields of the spec that the pair does not set are left alone. The patch
 * fails if the Installation was replaced by another one of its name. */
json_t *pair_installation_patch(const struct pair *pair, const json_t *installation);
/* A JSON patch that triggers a job (operation "reconcile") or interrupts the running one, or
 * neither (NULL), and sets one annotation. */
json_t *pair_operation_patch(const json_t *installation, const char *operation,
                             const char *annotation, const char *value);
/* Whether the Target has a kubeconfig for the environment's address of Landscaper's cluster. */
bool pair_target_is_current(const struct pair *pair, const json_t *target);
/* Whether the host Target has the content, annotations, labels and owner that it should have. Other
 * annotations and labels are left alone. */
bool pair_host_target_is_current(const json_t *environment, const json_t *target);
bool pair_binding_is_current(const struct pair *pair, const json_t *binding);
/* Whether we may change or delete an account, binding or Target of this name: it has our labels, or
 * is owned by the Installation with this uid (NULL: none), or is a binding as v0.98 made it, which
 * has no mark but its content. */
bool pair_owns(const struct pair *pair, const json_t *object, const char *installation_uid);
/* The same for the host Target: it is owned by this Environment. */
bool pair_owns_host_target(const json_t *environment, const json_t *target);

/* When the token of a Target has to be renewed: half of its life after it was requested. 0: never
 * (a token of v0.98, which does not expire). 1: now, also if it was requested in the future: the
 * clock was set back, and its age is unknown. */
int64_t pair_renewal_unix_ms(const json_t *target, int64_t now_unix_ms);

bool pair_has_finalizer(const json_t *object);

/* ---- phases ---- */

/* Whether the last job of the Installation has ended and belongs to its current spec. */
bool installation_is_finished(const json_t *installation);
bool installation_is_ready(const json_t *installation); /* finished, and Succeeded */
/* Whether Landscaper has uninstalled it: it is being deleted, and only our finalizer is left. */
bool installation_is_uninstalled(const json_t *installation);
