/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/pair.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/registrations/kinds.h"
#include "deployer/registrations/reduce.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define CONTEXT_NAME "default" /* of cluster, context and user in a kubeconfig */

static const char *name_of(const json_t *object)
{
    return doc_text_or(object, "metadata.name", "");
}

/* ---- names ---- */

static char *plain_name(const char *registration, const char *environment)
{
    return xasprintf("%s-%s", registration, environment);
}

char *pair_name(const char *registration, const char *environment, bool is_taken)
{
    cleanup_free char *plain = plain_name(registration, environment);

    if (!is_taken && strlen(plain) <= INSTALLATION_NAME_MAX && !strchr(plain, '.'))
        return steal(&plain);
    return name_make(registration, plain, NULL, INSTALLATION_NAME_MAX);
}

bool pair_name_is_ambiguous(const char *registration, const char *environment,
                            const json_t *registrations, const json_t *environments)
{
    cleanup_free char *plain = plain_name(registration, environment);
    const char *other = NULL;
    json_t *value = NULL;

    doc_foreach(registrations, other, value)
    {
        size_t length = strlen(other);

        if (strcmp(other, registration) != 0 && strncmp(plain, other, length) == 0 &&
            plain[length] == '-' && json_object_get(environments, plain + length + 1))
            return true;
    }
    return false;
}

bool pair_of_object(const json_t *object, const char **ret_registration,
                    const char **ret_environment)
{
    const json_t *annotations = doc_get(object, "metadata.annotations");
    const json_t *labels = doc_get(object, "metadata.labels");
    const json_t *reduced = doc_member(doc_member(object, "metadata"), REDUCED_PAIR);

    *ret_registration = json_string_value(json_array_get(reduced, 0));
    *ret_environment = json_string_value(json_array_get(reduced, 1));
    if (*ret_registration && *ret_environment)
        return true;
    *ret_registration = json_string_value(doc_member(annotations, ANNOTATION_PAIR_REGISTRATION));
    *ret_environment = json_string_value(doc_member(annotations, ANNOTATION_PAIR_ENVIRONMENT));
    if (*ret_registration && *ret_environment)
        return true;
    *ret_registration = json_string_value(doc_member(labels, LABEL_REGISTRATION));
    *ret_environment = json_string_value(doc_member(labels, LABEL_ENVIRONMENT));
    return *ret_registration && *ret_environment;
}

bool pair_is_access_by_agent(const json_t *environment)
{
    const char *value = json_string_value(
        doc_member(doc_get(environment, "metadata.annotations"), ANNOTATION_ACCESS));

    return value && strcmp(value, ACCESS_BY_AGENT) == 0;
}

/* ---- objects ---- */

static json_t *labels_of(const struct pair *pair)
{
    cleanup_free char *registration = name_label_value(name_of(pair->registration));
    cleanup_free char *environment = name_label_value(name_of(pair->environment));

    return json_pack("{s:s,s:s,s:s}", LABEL_ENVIRONMENT, environment, LABEL_REGISTRATION,
                     registration, LABEL_MANAGED_BY, MANAGED_BY);
}

/* Label values are limited to 63 characters, so the full names are annotations. */
static json_t *metadata_of(const struct pair *pair)
{
    json_t *metadata = json_pack("{s:s,s:s,s:o,s:{s:s,s:s}}", "name", pair->name, "namespace",
                                 pair->namespace_name, "labels", labels_of(pair), "annotations",
                                 ANNOTATION_PAIR_ENVIRONMENT, name_of(pair->environment),
                                 ANNOTATION_PAIR_REGISTRATION, name_of(pair->registration));

    return metadata;
}

/* Pods of deployers read their kubeconfig once. Another annotation replaces them when the token was
 * renewed, if the registration has values of a chart. */
static void add_renewals(const struct pair *pair, json_t *mappings)
{
    json_t *values = json_object_get(mappings, IMPORT_VALUES);
    json_t *annotations = json_object_get(values, "podAnnotations");
    cleanup_free char *number = xasprintf("%lld", (long long)pair->renewals);

    if (pair->renewals == 0 || !json_is_object(values))
        return;
    if (!json_is_object(annotations)) {
        annotations = json_object();
        (void)json_object_set_new(values, "podAnnotations", annotations);
    }
    (void)json_object_set_new(annotations, ANNOTATION_TOKEN_RENEWALS, json_string(number));
}

static json_t *mappings_of(const struct pair *pair)
{
    const json_t *given =
        doc_get(pair->registration, "spec.installationTemplate.importDataMappings");
    json_t *mappings = json_is_object(given) ? json_deep_copy(given) : json_object();

    add_renewals(pair, mappings);
    (void)json_object_set_new(mappings, IMPORT_RELEASE_NAME, json_string(pair->name));
    (void)json_object_set_new(mappings, IMPORT_RELEASE_NAMESPACE,
                              doc_new_text(doc_text_or(pair->environment, "spec.namespace", "")));
    (void)json_object_set_new(mappings, IMPORT_IDENTITY, json_string(pair->name));
    (void)json_object_set_new(
        mappings, IMPORT_TARGET_SELECTORS,
        registration_selectors(pair->environment, name_of(pair->registration)));
    return mappings;
}

static void add_target_import(json_t *targets, const char *name, const char *target)
{
    cleanup_free char *reference = xasprintf("#%s", target);

    (void)json_array_append_new(targets, json_pack("{s:s,s:s}", "name", name, "target", reference));
}

json_t *pair_installation_spec(const struct pair *pair)
{
    static const char *const copied[] = {"componentDescriptor", "blueprint"};
    const json_t *template = doc_get(pair->registration, "spec.installationTemplate");
    const json_t *given = doc_member(template, "imports");
    json_t *imports = json_is_object(given) ? json_deep_copy(given) : json_object();
    json_t *targets = json_object_get(imports, "targets");
    json_t *spec = json_object();

    for (size_t i = 0; i < array_length(copied); i++) {
        const json_t *value = doc_member(template, copied[i]);

        if (value && !json_is_null(value))
            (void)json_object_set_new(spec, copied[i], json_deep_copy(value));
    }
    /* Go leaves out an empty list. */
    if (json_array_size(json_object_get(imports, "data")) == 0)
        (void)json_object_del(imports, "data");
    if (!json_is_array(targets)) {
        targets = json_array();
        (void)json_object_set_new(imports, "targets", targets);
    }
    add_target_import(targets, IMPORT_CLUSTER, name_of(pair->environment));
    if (!pair_is_access_by_agent(pair->environment))
        add_target_import(targets, IMPORT_LANDSCAPER_CLUSTER, pair->name);
    (void)json_object_set_new(spec, "imports", imports);
    (void)json_object_set_new(spec, "importDataMappings", mappings_of(pair));
    return spec;
}

json_t *pair_installation(const struct pair *pair)
{
    json_t *metadata = metadata_of(pair);

    (void)json_object_set_new(metadata, "finalizers", json_pack("[s]", FINALIZER_MANAGEMENT));
    (void)json_object_set_new(json_object_get(metadata, "annotations"), ANNOTATION_OPERATION,
                              json_string(OPERATION_ANNOTATION_RECONCILE));
    if (pair->providers)
        (void)json_object_set_new(json_object_get(metadata, "annotations"), ANNOTATION_PROVIDERS,
                                  json_string(pair->providers));
    return json_pack("{s:s,s:s,s:o,s:o}", "apiVersion", LANDSCAPER_API_VERSION, "kind",
                     KIND_INSTALLATION, "metadata", metadata, "spec", pair_installation_spec(pair));
}

json_t *pair_account(const struct pair *pair)
{
    return json_pack("{s:s,s:s,s:o,s:b}", "apiVersion", "v1", "kind", "ServiceAccount", "metadata",
                     metadata_of(pair), "automountServiceAccountToken", false);
}

static json_t *binding_subjects(const struct pair *pair)
{
    return json_pack("[{s:s,s:s,s:s}]", "kind", "ServiceAccount", "name", pair->name, "namespace",
                     pair->namespace_name);
}

static json_t *binding_role(const struct pair *pair)
{
    return json_pack("{s:s,s:s,s:s}", "apiGroup", RBAC_GROUP, "kind", "ClusterRole", "name",
                     pair->role);
}

json_t *pair_binding(const struct pair *pair)
{
    json_t *metadata = metadata_of(pair);

    (void)json_object_del(metadata, "namespace");
    return json_pack("{s:s,s:s,s:o,s:o,s:o}", "apiVersion", RBAC_GROUP "/v1", "kind",
                     "ClusterRoleBinding", "metadata", metadata, "roleRef", binding_role(pair),
                     "subjects", binding_subjects(pair));
}

json_t *pair_target(const struct pair *pair, const char *token, int64_t requested_unix_ms,
                    int64_t lifetime_seconds)
{
    char requested[TIMESTAMP_MAX] = {0};
    char expires[TIMESTAMP_MAX] = {0};
    cleanup_wipe char *kubeconfig = pair_kubeconfig(pair->environment, token);
    cleanup_free char *renewals = xasprintf("%lld", (long long)pair->renewals);
    json_t *metadata = metadata_of(pair);
    json_t *annotations = json_object_get(metadata, "annotations");

    /* Both by our clock, so that it does not matter if it differs from that of the API server. */
    timestamp_format(requested_unix_ms, requested);
    timestamp_format(requested_unix_ms + lifetime_seconds * 1000, expires);
    (void)json_object_set_new(annotations, ANNOTATION_TOKEN_REQUESTED, json_string(requested));
    (void)json_object_set_new(annotations, ANNOTATION_TOKEN_EXPIRES, json_string(expires));
    (void)json_object_set_new(annotations, ANNOTATION_TOKEN_RENEWALS, json_string(renewals));
    return json_pack("{s:s,s:s,s:o,s:{s:s,s:{s:s}}}", "apiVersion", LANDSCAPER_API_VERSION, "kind",
                     KIND_TARGET, "metadata", metadata, "spec", "type", TARGET_TYPE_KUBERNETES,
                     "config", "kubeconfig", kubeconfig);
}

json_t *pair_host_target(const json_t *environment, const char *namespace_name)
{
    json_t *target = environment_host_target(environment, namespace_name);

    (void)json_object_set_new(json_object_get(target, "metadata"), "ownerReferences",
                              json_pack("[{s:s,s:s,s:s,s:s,s:b,s:b}]", "apiVersion",
                                        LANDSCAPER_API_VERSION, "kind", KIND_ENVIRONMENT, "name",
                                        name_of(environment), "uid",
                                        doc_text_or(environment, "metadata.uid", ""), "controller",
                                        true, "blockOwnerDeletion", true));
    return target;
}

/* ---- the way to Landscaper's cluster ---- */

/* The cluster of a kubeconfig. New reference. */
static json_t *cluster_of(const json_t *config)
{
    const char *host = doc_text_or(config, "host", "");
    const char *authority = doc_text_or(config, "caData", "");
    const char *server_name = doc_text_or(config, "serverName", "");
    cleanup_free char *server = xasprintf("%s%s%s", strstr(host, "://") ? "" : "https://", host,
                                          doc_text_or(config, "apiPath", ""));
    json_t *cluster = json_pack("{s:s}", "server", server);

    if (*authority)
        (void)json_object_set_new(cluster, "certificate-authority-data", json_string(authority));
    if (*server_name)
        (void)json_object_set_new(cluster, "tls-server-name", json_string(server_name));
    if (doc_bool_or(config, "insecure", false))
        (void)json_object_set_new(cluster, "insecure-skip-tls-verify", json_true());
    return cluster;
}

char *pair_kubeconfig_with(const json_t *cluster_config, const char *credential, const char *value)
{
    cleanup_json json_t *config =
        json_pack("{s:s,s:s,s:s,s:[{s:s,s:o}],s:[{s:s,s:{s:s,s:s}}],s:[{s:s,s:{s:s}}]}",
                  "apiVersion", "v1", "kind", "Config", "current-context", CONTEXT_NAME, "clusters",
                  "name", CONTEXT_NAME, "cluster", cluster_of(cluster_config), "contexts", "name",
                  CONTEXT_NAME, "context", "cluster", CONTEXT_NAME, "user", CONTEXT_NAME, "users",
                  "name", CONTEXT_NAME, "user", credential, value);

    return doc_dump_yaml(config);
}

char *pair_kubeconfig(const json_t *environment, const char *token)
{
    return pair_kubeconfig_with(doc_get(environment, "spec.landscaperClusterConfig"), "token",
                                token);
}

/* Whether this is the hash of the cluster of a kubeconfig that leads there. */
static bool is_hash_of(const char *hash, const json_t *cluster_config)
{
    cleanup_json json_t *wanted = cluster_of(cluster_config);
    cleanup_free char *wanted_hash = reduce_cluster_hash(wanted);

    return hash && strcmp(hash, wanted_hash) == 0;
}

bool pair_kubeconfig_leads_to(const char *kubeconfig, const json_t *cluster_config)
{
    cleanup_free char *hash = reduce_kubeconfig_hash(kubeconfig);

    return is_hash_of(hash, cluster_config);
}

bool pair_target_is_current(const struct pair *pair, const json_t *target)
{
    cleanup_free char *hash = reduce_target_hash(target);

    return is_hash_of(hash, doc_get(pair->environment, "spec.landscaperClusterConfig"));
}
