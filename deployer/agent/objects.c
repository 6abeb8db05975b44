/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/objects.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "deployer/registrations/pair.h"

#define ANNOTATIONS "metadata.annotations"

/* ---- Environment ---- */

json_t *agent_cluster_config(const struct kube_config *config)
{
    struct kube_server_address address = kube_config_address(config);
    json_t *cluster = json_pack("{s:s,s:s,s:b}", "host", address.url, "apiPath", "", "insecure",
                                address.is_insecure);

    if (address.ca_pem && !address.is_insecure) {
        cleanup_free char *authority = base64_encode(address.ca_pem, strlen(address.ca_pem));

        (void)json_object_set_new(cluster, "caData", json_string(authority));
    }
    if (address.server_name)
        (void)json_object_set_new(cluster, "serverName", doc_new_text(address.server_name));
    return cluster;
}

/* Without a stored kubeconfig the deployer beside the agent uses an account of its own cluster. */
static json_t *host_target(const struct agent_config *config)
{
    json_t *target =
        json_pack("{s:s,s:{s:s,s:s}}", "type", TARGET_TYPE_KUBERNETES, "annotations",
                  ANNOTATION_ENVIRONMENT, config->name, ANNOTATION_DEPLOYER_ONLY, "true");
    cleanup_free char *secret = agent_target_secret_name(config);
    cleanup_free char *account = host_object_name(config, HOST_ACCOUNT);

    if (config->is_host_access)
        (void)json_object_set_new(target, "secretRef",
                                  json_pack("{s:s,s:s}", "name", secret, "key", TARGET_ACCESS_KEY));
    else
        (void)json_object_set_new(target, "config",
                                  json_pack("{s:{s:{s:s,s:s}}}", TARGET_HOST_CONFIG,
                                            "serviceAccount", "name", account, "namespace",
                                            config->namespace_name));
    return target;
}

json_t *agent_environment(const struct agent_config *config, const json_t *landscaper,
                          const char *cluster_id)
{
    json_t *environment = json_pack(
        "{s:s,s:s,s:{s:s,s:[s],s:{s:s}},s:{s:s,s:o,s:O,s:O}}", "apiVersion", LANDSCAPER_API_VERSION,
        "kind", KIND_ENVIRONMENT, "metadata", "name", config->name, "finalizers", FINALIZER_AGENT,
        "annotations", ANNOTATION_CLUSTER_ID, cluster_id, "spec", "namespace",
        config->namespace_name, "hostTarget", host_target(config), "landscaperClusterConfig",
        landscaper, "targetSelectors", config->target_selectors);

    if (config->is_access_agent)
        (void)json_object_set_new(doc_writable(doc_get(environment, ANNOTATIONS)),
                                  ANNOTATION_ACCESS, json_string(ACCESS_BY_AGENT));
    return environment;
}

bool agent_has_finalizer(const json_t *environment, const char *finalizer)
{
    const json_t *finalizers = doc_get(environment, "metadata.finalizers");

    for (size_t i = 0; i < json_array_size(finalizers); i++) {
        const char *name = json_string_value(json_array_get(finalizers, i));

        if (name && strcmp(name, finalizer) == 0)
            return true;
    }
    return false;
}

static const char *annotation_of(const json_t *object, const char *key)
{
    return json_string_value(doc_member(doc_get(object, ANNOTATIONS), key));
}

/* The annotations that the Environment should have. New reference. */
static json_t *merged_annotations(const json_t *environment, const json_t *wanted)
{
    const json_t *found = doc_get(environment, ANNOTATIONS);
    json_t *merged = json_is_object(found) ? json_deep_copy(found) : json_object();

    if (!annotation_of(wanted, ANNOTATION_ACCESS))
        (void)json_object_del(merged, ANNOTATION_ACCESS);
    (void)json_object_del(merged, ANNOTATION_MOVE_TO);
    (void)json_object_update(merged, doc_writable(doc_get(wanted, ANNOTATIONS)));
    return merged;
}

bool agent_environment_is_current(const json_t *environment, const json_t *wanted)
{
    cleanup_json json_t *annotations = merged_annotations(environment, wanted);

    return agent_has_finalizer(environment, FINALIZER_AGENT) &&
           json_equal(doc_member(environment, "spec"), doc_member(wanted, "spec")) &&
           json_equal(doc_get(environment, ANNOTATIONS), annotations);
}

/* The first operations of a patch: it fails if the object is not the one that was read. */
static json_t *guarded_patch(const json_t *object)
{
    return json_pack("[{s:s,s:s,s:s},{s:s,s:s,s:s}]", "op", "test", "path", "/metadata/uid",
                     "value", doc_text_or(object, "metadata.uid", ""), "op", "test", "path",
                     "/metadata/resourceVersion", "value",
                     doc_text_or(object, "metadata.resourceVersion", ""));
}

static void patch_add(json_t *patch, const char *path, json_t *value)
{
    (void)json_array_append_new(
        patch, json_pack("{s:s,s:s,s:o}", "op", "add", "path", path, "value", value));
}

/* The finalizers of an Environment with or without ours. */
static json_t *finalizers_of(const json_t *environment, bool is_wanted)
{
    const json_t *found = doc_get(environment, "metadata.finalizers");
    json_t *kept = json_array();

    for (size_t i = 0; i < json_array_size(found); i++) {
        const char *name = json_string_value(json_array_get(found, i));

        if (name && strcmp(name, FINALIZER_AGENT) != 0)
            (void)json_array_append_new(kept, json_string(name));
    }
    if (is_wanted)
        (void)json_array_append_new(kept, json_string(FINALIZER_AGENT));
    return kept;
}

json_t *agent_environment_patch(const json_t *environment, const json_t *wanted)
{
    json_t *patch = guarded_patch(environment);

    if (!agent_has_finalizer(environment, FINALIZER_AGENT))
        patch_add(patch, "/metadata/finalizers", finalizers_of(environment, true));
    patch_add(patch, "/metadata/annotations", merged_annotations(environment, wanted));
    patch_add(patch, "/spec", json_deep_copy(doc_member(wanted, "spec")));
    return patch;
}

json_t *agent_finalizer_patch(const json_t *environment)
{
    json_t *patch = guarded_patch(environment);

    patch_add(patch, "/metadata/finalizers", finalizers_of(environment, false));
    return patch;
}

const char *agent_environment_cluster(const json_t *environment)
{
    const char *cluster = annotation_of(environment, ANNOTATION_CLUSTER_ID);

    if (!cluster || !*cluster)
        cluster = doc_text(environment, "status.agent.clusterID");
    return cluster && *cluster ? cluster : NULL;
}

bool agent_environment_is_foreign(const json_t *environment, const char *cluster_id)
{
    const char *cluster = agent_environment_cluster(environment);
    const char *move_to = annotation_of(environment, ANNOTATION_MOVE_TO);

    if (!cluster || strcmp(cluster, cluster_id) == 0)
        return false;
    return !move_to || strcmp(move_to, cluster_id) != 0;
}

bool agent_environment_is_accepted(const json_t *environment, bool is_manual)
{
    const json_t *conditions = doc_get(environment, "status.conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);
        const char *status = doc_text_or(condition, "status", "");

        if (strcmp(doc_text_or(condition, "type", ""), CONDITION_ACCEPTED) != 0)
            continue;
        if (strcmp(status, "Unknown") != 0)
            return strcmp(status, "True") == 0;
    }
    return !is_manual;
}

json_t *agent_status(const struct agent_config *config, const char *cluster_id,
                     const char *identity)
{
    return json_pack("{s:s,s:s,s:O,s:s,s:s}", "version", LONGSHORE_VERSION, "identity", identity,
                     "types", config->types, "leaseName", config->name, "clusterID", cluster_id);
}

/* ---- Secrets ---- */

char *agent_target_secret_name(const struct agent_config *config)
{
    return xasprintf("%s" TARGET_ACCESS_SUFFIX, config->name);
}

char *agent_access_secret_name(const char *account)
{
    return xasprintf("%s" LANDSCAPER_ACCESS_SUFFIX, account);
}

/* Without values. times may be NULL. */
static json_t *secret_make(const struct agent_config *config, const char *namespace_name,
                           const char *name, const struct token_times *times)
{
    cleanup_free char *environment = name_label_value(config->name);
    json_t *secret =
        json_pack("{s:s,s:s,s:s,s:{s:s,s:s,s:{s:s,s:s}}}", "apiVersion", "v1", "kind", "Secret",
                  "type", "Opaque", "metadata", "name", name, "namespace", namespace_name, "labels",
                  LABEL_MANAGED_BY, MANAGED_BY, LABEL_ENVIRONMENT, environment);

    if (times) {
        cleanup_free char *seconds = xasprintf("%lld", (long long)times->lifetime_seconds);

        doc_set_new(secret, ANNOTATIONS,
                    json_pack("{s:s,s:s}", ANNOTATION_TOKEN_REQUESTED, times->requested,
                              ANNOTATION_TOKEN_LIFETIME, seconds));
    }
    return secret;
}

static void secret_set(json_t *secret, const char *key, const char *value)
{
    json_t *data = json_object_get(secret, "data");
    cleanup_wipe char *encoded = base64_encode(value, strlen(value));

    if (!data) {
        data = json_object();
        (void)json_object_set_new(secret, "data", data);
    }
    (void)json_object_set_new(data, key, json_string(encoded));
}

char *agent_secret_value(const json_t *secret, const char *key)
{
    const char *encoded = json_string_value(doc_member(doc_member(secret, "data"), key));
    cleanup_buffer struct buffer decoded = {0};
    struct error err = {0};

    buffer_init(&decoded, SECRET_MAX_BYTES);
    if (!encoded || base64_decode(encoded, strlen(encoded), &decoded, &err) < 0 ||
        decoded.size == 0)
        return NULL;
    return buffer_take(&decoded);
}

json_t *agent_target_secret(const struct agent_config *config, const json_t *host,
                            const char *token, const struct token_times *times)
{
    cleanup_free char *name = agent_target_secret_name(config);
    cleanup_wipe char *kubeconfig = pair_kubeconfig_with(host, "token", token);
    json_t *secret = secret_make(config, config->landscaper_namespace, name, times);

    secret_set(secret, TARGET_ACCESS_KEY, kubeconfig);
    return secret;
}

bool agent_target_secret_is_current(const json_t *secret, const json_t *host)
{
    cleanup_wipe char *kubeconfig = agent_secret_value(secret, TARGET_ACCESS_KEY);

    return kubeconfig && pair_kubeconfig_leads_to(kubeconfig, host);
}

json_t *agent_access_secret(const struct agent_config *config, const char *account,
                            const json_t *landscaper, const char *token,
                            const struct token_times *times)
{
    cleanup_free char *name = agent_access_secret_name(account);
    cleanup_free char *kubeconfig =
        pair_kubeconfig_with(landscaper, "tokenFile", PATH_LANDSCAPER_ACCESS "/token");
    json_t *secret = secret_make(config, config->namespace_name, name, times);

    (void)json_object_set_new(doc_writable(doc_get(secret, "metadata.labels")), LABEL_AGENT_SECRET,
                              json_string(AGENT_SECRET_ACCESS));
    secret_set(secret, "kubeconfig", kubeconfig);
    secret_set(secret, "token", token);
    return secret;
}

json_t *agent_credential_secret(const struct agent_config *config, const char *token,
                                const char *given, const struct token_times *times)
{
    json_t *secret = secret_make(config, config->namespace_name, config->credential_secret, times);

    secret_set(secret, "token", token);
    secret_set(secret, "given", given);
    return secret;
}

json_t *agent_left_secret(const struct agent_config *config, const char *uid)
{
    json_t *secret = agent_rejoined_secret(config);

    doc_set_new(secret, ANNOTATIONS, json_pack("{s:s}", ANNOTATION_LEFT, uid ? uid : "none"));
    return secret;
}

json_t *agent_rejoined_secret(const struct agent_config *config)
{
    return secret_make(config, config->namespace_name, config->credential_secret, NULL);
}
