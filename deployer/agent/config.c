/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/config.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/registrations/kinds.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/selector.h"
#include "deployer/validation/shared_rules.h"

enum {
    FILE_MAX = 1 << 20,
    TOKEN_SECONDS = 86400,
    TOKEN_SECONDS_MAX = 1 << 30,
    RULES_MAX = 500,
    HEARTBEAT_SECONDS = 12,
    HEARTBEAT_SECONDS_MAX = 20
};

#define CREDENTIAL_SECRET_PREFIX "landscaper-agent-"

/* ---- fields ---- */

static const char *const api_versions[] = {AGENT_CONFIG_API_VERSION, NULL};
static const char *const kinds[] = {KIND_AGENT_CONFIGURATION, NULL};
static const char *const host_access_modes[] = {"token", "none", NULL};
static const char *const access_modes[] = {"inline", ACCESS_BY_AGENT, NULL};
static const char *const acceptance_modes[] = {"auto", "manual", NULL};

static const struct field_rule policy_fields[] = {
    {.name = "apiGroups", ROW_TEXT_LIST, .help = "API groups; \"\" is the core group"},
    {.name = "resources", ROW_TEXT_LIST, .help = "resources"},
    {.name = "verbs", ROW_TEXT_LIST, .is_required = true, .help = "verbs"},
    {.name = "resourceNames", ROW_TEXT_LIST, .help = "names of objects; default: all"},
    {.name = "nonResourceURLs", ROW_TEXT_LIST, .help = "paths that are not resources"},
    RULES_END,
};

static const struct field_rule ELEMENT_POLICY = {
    .types = RULE_OBJECT, .fields = policy_fields, .help = "a rule of a Role"};

#define ROW_POLICIES .types = RULE_LIST, .elements = &ELEMENT_POLICY, .max = RULES_MAX

static const struct field_rule host_rules_fields[] = {
    {.name = "namespace", ROW_POLICIES, .help = "in the namespace of the deployers"},
    {.name = "cluster", ROW_POLICIES, .help = "in the whole cluster"},
    RULES_END,
};

const struct field_rule AGENT_CONFIG_FIELDS[] = {
    {.name = "apiVersion",
     .types = RULE_TEXT,
     .choices = api_versions,
     .is_required = true,
     .help = "version of the API"},
    {.name = "kind",
     .types = RULE_TEXT,
     .choices = kinds,
     .is_required = true,
     .help = "kind of the document"},
    {.name = "name",
     ROW_OBJECT_NAME,
     .is_required = true,
     .help = "name of the Environment, unique among all agents of a Landscaper"},
    {.name = "namespace",
     ROW_OBJECT_NAME,
     .is_empty_allowed = true,
     .fallback = "\"" DEPLOYERS_NAMESPACE "\"",
     .help = "namespace of the deployers in the cluster of the agent"},
    {.name = "landscaperNamespace",
     ROW_OBJECT_NAME,
     .is_empty_allowed = true,
     .fallback = "\"" DEPLOYERS_NAMESPACE "\"",
     .help = "namespace of longshore registrations in Landscaper's cluster"},
    {.name = "targetSelectors",
     .types = RULE_LIST,
     .elements = &SELECTOR_ELEMENT,
     .is_checked_by_code = true,
     .help = "Targets that deployers of this environment serve; default: those with the "
             "annotation " ANNOTATION_ENVIRONMENT " and the name of the environment"},
    {.name = "oci",
     .types = RULE_OBJECT,
     .is_open = true,
     .is_unused = true,
     .help = "registry access of the deployer beside the agent",
     .reason = "that deployer is a container of its own with its own configuration"},
    {.name = "credentialSecret",
     ROW_OBJECT_NAME,
     .is_empty_allowed = true,
     .help = "Secret in the namespace of the deployers in which the agent keeps its own token; "
             "default: " CREDENTIAL_SECRET_PREFIX "NAME"},
    {.name = "hostAccess",
     .types = RULE_TEXT,
     .choices = host_access_modes,
     .is_empty_allowed = true,
     .fallback = "\"token\"",
     .help = "whether a kubeconfig of this cluster is stored in Landscaper's cluster"},
    {.name = "access",
     .types = RULE_TEXT,
     .choices = access_modes,
     .is_empty_allowed = true,
     .fallback = "\"inline\"",
     .help = "how deployers get tokens for Landscaper's cluster: in a Target, or by the agent"},
    {.name = "acceptance",
     .types = RULE_TEXT,
     .choices = acceptance_modes,
     .is_empty_allowed = true,
     .fallback = "\"auto\"",
     .help = "manual: nothing is published before the Environment is accepted"},
    {.name = "hostRules",
     .types = RULE_OBJECT,
     .fields = host_rules_fields,
     .help = "permissions of the account with which deployers are installed; default: what "
             "charts of deployers need"},
    {.name = "tokenSeconds",
     .types = RULE_INTEGER,
     .min = AGENT_TOKEN_SECONDS_MIN,
     .max = TOKEN_SECONDS_MAX,
     .fallback = "86400",
     .help = "lifetime of tokens, which are renewed at half of it"},
    {.name = "heartbeatSeconds",
     .types = RULE_INTEGER,
     .min = 1,
     .max = HEARTBEAT_SECONDS_MAX,
     .fallback = "12",
     .help = "time between two renewals of the Lease, which expires after 40 seconds"},
    {.name = "types",
     ROW_TEXT_LIST,
     .help = "types of items that the deployer beside the agent serves"},
    RULES_END,
};

/* ---- defaults ---- */

/* What charts of deployers create, and what they grant to what they create. The values of
 * charts/landscaper-agent have the same rules; e2e compares. */
static json_t *policy(const char *groups, const char *resources, const char *verbs)
{
    const char *const texts[] = {groups, resources, verbs};
    const char *const keys[] = {"apiGroups", "resources", "verbs"};
    json_t *rule = json_object();

    for (size_t i = 0; i < array_length(texts); i++) {
        json_t *list = json_array();

        for (const char *at = texts[i];; at++) {
            size_t length = strcspn(at, " ");

            (void)json_array_append_new(list, json_stringn(at, length));
            at += length;
            if (!*at)
                break;
        }
        (void)json_object_set_new(rule, keys[i], list);
    }
    return rule;
}

#define WRITE "get list watch create update patch delete"

static json_t *default_namespace_rules(void)
{
    json_t *rules = json_array();

    (void)json_array_append_new(
        rules, policy("", "secrets configmaps serviceaccounts pods", WRITE " deletecollection"));
    (void)json_array_append_new(rules, policy("", "services persistentvolumeclaims", WRITE));
    (void)json_array_append_new(rules, policy("", "pods/log", "get"));
    (void)json_array_append_new(rules, policy("", "events", "create get list patch update watch"));
    (void)json_array_append_new(rules,
                                policy("apps", "deployments replicasets statefulsets", WRITE));
    (void)json_array_append_new(rules, policy("rbac.authorization.k8s.io", "roles rolebindings",
                                              WRITE " deletecollection"));
    (void)json_array_append_new(rules, policy("coordination.k8s.io", "leases", WRITE));
    (void)json_array_append_new(rules, policy("autoscaling", "horizontalpodautoscalers", WRITE));
    (void)json_array_append_new(rules, policy("policy", "poddisruptionbudgets", WRITE));
    (void)json_array_append_new(rules, policy("networking.k8s.io", "networkpolicies", WRITE));
    return rules;
}

static json_t *default_cluster_rules(void)
{
    json_t *rules = json_array();

    (void)json_array_append_new(rules, policy("", "namespaces", "get list watch"));
    (void)json_array_append_new(
        rules, policy("rbac.authorization.k8s.io", "clusterroles clusterrolebindings", WRITE));
    return rules;
}

static json_t *default_selectors(const char *name)
{
    return json_pack("[{s:[{s:s,s:s,s:[s]}]}]", "annotations", "key", ANNOTATION_ENVIRONMENT,
                     "operator", "=", "values", name);
}

/* ---- parsing ---- */

void agent_config_free(struct agent_config *config)
{
    if (!config)
        return;
    free(config->name);
    free(config->namespace_name);
    free(config->landscaper_namespace);
    free(config->credential_secret);
    json_decref(config->target_selectors);
    json_decref(config->namespace_rules);
    json_decref(config->cluster_rules);
    json_decref(config->types);
    free(config);
}

static json_t *copy_or(const struct fields *fields, const char *key, json_t *fallback)
{
    json_t *copy = field_array(fields, key) ? field_copy(fields, key) : NULL;

    if (!copy)
        return fallback;
    json_decref(fallback);
    return copy;
}

static bool is_choice(const struct fields *fields, const char *key, const char *value)
{
    const char *text = field_text(fields, key);

    return text && strcmp(text, value) == 0;
}

static void check_selectors(const json_t *selectors, struct mistakes *mistakes)
{
    selector_free(selector_parse(selectors, "targetSelectors", mistakes));
    if (template_find(selectors))
        mistakes_add(mistakes, MISTAKE_INVALID, "targetSelectors",
                     "contains \"((\", which starts a template expression");
}

int agent_config_parse(const json_t *doc, struct agent_config **ret_config,
                       struct mistakes *mistakes)
{
    const struct fields fields = {doc, "", mistakes};
    const struct fields rules = {field_object(&fields, "hostRules"), "hostRules", mistakes};
    cleanup_agent_config struct agent_config *config = xcalloc(1, sizeof(*config));
    cleanup_free char *secret = NULL;

    if (!json_is_object(doc))
        mistakes_add_type(mistakes, "", "an " KIND_AGENT_CONFIGURATION, doc);
    rules_check(doc, AGENT_CONFIG_FIELDS, "", mistakes);
    check_selectors(field_any(&fields, "targetSelectors"), mistakes);
    config->name = field_text_copy(&fields, "name", "");
    config->namespace_name = field_text_copy(&fields, "namespace", DEPLOYERS_NAMESPACE);
    config->landscaper_namespace =
        field_text_copy(&fields, "landscaperNamespace", DEPLOYERS_NAMESPACE);
    secret = xasprintf(CREDENTIAL_SECRET_PREFIX "%s", config->name);
    config->credential_secret = field_text_copy(&fields, "credentialSecret", secret);
    config->target_selectors = copy_or(&fields, "targetSelectors", default_selectors(config->name));
    config->namespace_rules = copy_or(&rules, "namespace", default_namespace_rules());
    config->cluster_rules = copy_or(&rules, "cluster", default_cluster_rules());
    config->types = field_text_list(&fields, "types");
    if (!config->types)
        config->types = json_pack("[s]", DEPLOY_ITEM_TYPE_MANIFEST);
    config->token_seconds = field_integer(&fields, "tokenSeconds", TOKEN_SECONDS);
    config->heartbeat_seconds = field_integer(&fields, "heartbeatSeconds", HEARTBEAT_SECONDS);
    config->is_host_access = !is_choice(&fields, "hostAccess", "none");
    config->is_access_agent = is_choice(&fields, "access", ACCESS_BY_AGENT);
    config->is_manual = is_choice(&fields, "acceptance", "manual");
    if (mistakes->errors > 0)
        return -1;
    *ret_config = steal(&config);
    return 0;
}

int agent_config_load(const char *path, struct agent_config **ret_config, struct mistakes *mistakes)
{
    cleanup_buffer struct buffer data = {0};
    cleanup_json json_t *doc = NULL;
    struct error err = {0};

    buffer_init(&data, FILE_MAX);
    if (doc_read_file(path, FILE_MAX, &data, &err) < 0 ||
        doc_parse_yaml(data.data ? data.data : "", data.size, FILE_MAX, &doc, &err) < 0) {
        mistakes_add(mistakes, MISTAKE_INVALID, "", "%s", err.text);
        return -1;
    }
    return agent_config_parse(doc, ret_config, mistakes);
}
