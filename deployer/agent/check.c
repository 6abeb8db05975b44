/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/check.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

enum { VERBS_MAX = 8 };

/* Where the object is, and what it is called. */
enum place { HOST_NAMESPACE, HOST_CLUSTER, LANDSCAPER_NAMESPACE, LANDSCAPER_CLUSTER, OWN_ACCOUNT };
enum named {
    NAMED_NOT,
    NAMED_ENVIRONMENT,
    NAMED_TARGET,
    NAMED_ACCOUNT,
    NAMED_CREDENTIAL,
    NAMED_CLUSTER,
    NAMED_KUBE_SYSTEM,
    NAMED_OWN_ACCOUNT
};

/* The same rules as in charts/landscaper-agent and docs/agent.md; e2e compares. */
static const struct rule {
    enum place place;
    enum named named;
    bool is_access_agent; /* only with access: agent */
    const char *group, *resource, *subresource, *verbs;
} rules[] = {
    {HOST_NAMESPACE, NAMED_ACCOUNT, false, "", "serviceaccounts", NULL,
     "get list watch update delete"},
    {HOST_NAMESPACE, NAMED_ACCOUNT, false, "", "serviceaccounts", "token", "create"},
    {HOST_NAMESPACE, NAMED_NOT, false, "", "serviceaccounts", NULL, "create"},
    {HOST_NAMESPACE, NAMED_ACCOUNT, false, RBAC_GROUP, "roles", NULL,
     "get list watch update delete"},
    {HOST_NAMESPACE, NAMED_NOT, false, RBAC_GROUP, "roles", NULL, "create"},
    {HOST_NAMESPACE, NAMED_ACCOUNT, false, RBAC_GROUP, "rolebindings", NULL,
     "get list watch update delete"},
    {HOST_NAMESPACE, NAMED_NOT, false, RBAC_GROUP, "rolebindings", NULL, "create"},
    {HOST_CLUSTER, NAMED_CLUSTER, false, RBAC_GROUP, "clusterroles", NULL,
     "get list watch update delete"},
    {HOST_CLUSTER, NAMED_NOT, false, RBAC_GROUP, "clusterroles", NULL, "create"},
    {HOST_CLUSTER, NAMED_CLUSTER, false, RBAC_GROUP, "clusterrolebindings", NULL,
     "get list watch update delete"},
    {HOST_CLUSTER, NAMED_NOT, false, RBAC_GROUP, "clusterrolebindings", NULL, "create"},
    {HOST_NAMESPACE, NAMED_CREDENTIAL, false, "", "secrets", NULL, "get list watch patch"},
    {HOST_NAMESPACE, NAMED_NOT, false, "", "secrets", NULL, "create"},
    {HOST_NAMESPACE, NAMED_NOT, true, "", "secrets", NULL, "list watch patch delete"},
    {HOST_CLUSTER, NAMED_KUBE_SYSTEM, false, "", "namespaces", NULL, "get"},
    {LANDSCAPER_CLUSTER, NAMED_ENVIRONMENT, false, LANDSCAPER_GROUP, RESOURCE_ENVIRONMENTS, NULL,
     "get list watch patch delete"},
    {LANDSCAPER_CLUSTER, NAMED_NOT, false, LANDSCAPER_GROUP, RESOURCE_ENVIRONMENTS, NULL, "create"},
    {LANDSCAPER_CLUSTER, NAMED_ENVIRONMENT, false, LANDSCAPER_GROUP, RESOURCE_ENVIRONMENTS,
     "status", "patch"},
    {LANDSCAPER_NAMESPACE, NAMED_TARGET, false, "", "secrets", NULL, "get list watch patch delete"},
    {LANDSCAPER_NAMESPACE, NAMED_NOT, false, "", "secrets", NULL, "create"},
    {LANDSCAPER_NAMESPACE, NAMED_ENVIRONMENT, false, "coordination.k8s.io", "leases", NULL,
     "get update delete"},
    {LANDSCAPER_NAMESPACE, NAMED_NOT, false, "coordination.k8s.io", "leases", NULL, "create"},
    {OWN_ACCOUNT, NAMED_OWN_ACCOUNT, false, "", "serviceaccounts", "token", "create"},
    {LANDSCAPER_NAMESPACE, NAMED_NOT, true, "", "serviceaccounts", NULL, "list watch"},
    /* Tokens of deployers: the role should name their accounts, which are not known here. */
};

static bool is_host(const struct rule *rule)
{
    return rule->place == HOST_NAMESPACE || rule->place == HOST_CLUSTER;
}

static const char *namespace_of(const struct agent *agent, enum place place)
{
    switch (place) {
    case HOST_NAMESPACE:
        return agent->config->namespace_name;
    case LANDSCAPER_NAMESPACE:
        return agent->config->landscaper_namespace;
    case OWN_ACCOUNT:
        return agent->account_namespace;
    case HOST_CLUSTER:
    case LANDSCAPER_CLUSTER:
        break;
    }
    return NULL;
}

/* Belongs to the caller; NULL: any. */
static char *name_of(const struct agent *agent, enum named named)
{
    switch (named) {
    case NAMED_NOT:
        break;
    case NAMED_ENVIRONMENT:
        return xstrdup(agent->config->name);
    case NAMED_TARGET:
        return agent_target_secret_name(agent->config);
    case NAMED_ACCOUNT:
        return host_object_name(agent->config, HOST_ACCOUNT);
    case NAMED_CREDENTIAL:
        return xstrdup(agent->config->credential_secret);
    case NAMED_CLUSTER:
        return host_object_name(agent->config, HOST_CLUSTER_ROLE);
    case NAMED_KUBE_SYSTEM:
        return xstrdup("kube-system");
    case NAMED_OWN_ACCOUNT:
        return xstrdup_or_null(agent->account);
    }
    return NULL;
}

static int ask(struct agent *agent, const struct rule *rule, const char *name, const char *verb,
               bool *ret_is_allowed, struct error *err)
{
    const char *namespace_name = namespace_of(agent, rule->place);
    cleanup_json json_t *body =
        json_pack("{s:s,s:s,s:{s:{s:s,s:s,s:s}}}", "apiVersion", "authorization.k8s.io/v1", "kind",
                  "SelfSubjectAccessReview", "spec", "resourceAttributes", "group", rule->group,
                  "resource", rule->resource, "verb", verb);
    const struct kube_request request = {
        .verb = KUBE_CREATE,
        .resource = {"authorization.k8s.io", "v1", "selfsubjectaccessreviews"},
        .body = body,
        .grace_seconds = -1};
    cleanup_json json_t *answer = NULL;

    if (namespace_name)
        doc_set_text(body, "spec.resourceAttributes.namespace", namespace_name);
    if (rule->subresource)
        doc_set_text(body, "spec.resourceAttributes.subresource", rule->subresource);
    if (name)
        doc_set_text(body, "spec.resourceAttributes.name", name);
    if (kube_perform(is_host(rule) ? agent->host : agent->landscaper, &request, &answer, err) < 0)
        return -1;
    *ret_is_allowed = doc_bool_or(answer, "status.allowed", false);
    return 0;
}

static int check_rule(struct agent *agent, const struct rule *rule, FILE *file, size_t *missing,
                      struct error *err)
{
    cleanup_free char *name = name_of(agent, rule->named);
    const char *namespace_name = namespace_of(agent, rule->place);

    for (const char *at = rule->verbs; *at;) {
        size_t length = strcspn(at, " ");
        cleanup_free char *verb = xstrndup(at, length);
        bool is_allowed = false;

        if (ask(agent, rule, name, verb, &is_allowed, err) < 0)
            return -1;
        *missing += !is_allowed;
        (void)fprintf(file, "%-7s  %-10s  %-8s  %s%s%s%s%s%s%s%s%s\n",
                      is_allowed ? "ok" : "missing", is_host(rule) ? "host" : "landscaper", verb,
                      rule->resource, rule->subresource ? "/" : "",
                      rule->subresource ? rule->subresource : "", *rule->group ? "." : "",
                      rule->group, name ? " " : "", name ? name : "",
                      namespace_name ? " in namespace " : "", namespace_name ? namespace_name : "");
        at += length;
        at += *at == ' ';
    }
    return 0;
}

static int check_definition(struct agent *agent, FILE *file, size_t *missing, struct error *err)
{
    const struct kube_request request = {.verb = KUBE_LIST,
                                         .resource = {LANDSCAPER_GROUP, LANDSCAPER_VERSION, NULL},
                                         .grace_seconds = -1};
    cleanup_json json_t *discovery = NULL;
    const json_t *resources = NULL;
    bool is_served = false;

    if (kube_perform(agent->landscaper, &request, &discovery, err) < 0 &&
        err->kind != ERROR_NOT_FOUND)
        return -1;
    resources = doc_member(discovery, "resources");
    for (size_t i = 0; i < json_array_size(resources); i++)
        is_served |= strcmp(doc_text_or(json_array_get(resources, i), "name", ""),
                            RESOURCE_ENVIRONMENTS) == 0;
    *missing += !is_served;
    (void)fprintf(file, "%-7s  %-10s  %-8s  " RESOURCE_ENVIRONMENTS "." LANDSCAPER_GROUP "\n",
                  is_served ? "ok" : "missing", "landscaper", "CRD");
    return 0;
}

int agent_check(struct agent *agent, FILE *file, struct error *err)
{
    size_t missing = 0;

    for (size_t i = 0; i < array_length(rules); i++) {
        bool is_needed = rules[i].place != OWN_ACCOUNT || agent->account;

        if (rules[i].is_access_agent && !agent->config->is_access_agent)
            is_needed = false;
        if (is_needed && check_rule(agent, &rules[i], file, &missing, err) < 0)
            return -1;
    }
    if (check_definition(agent, file, &missing, err) < 0)
        return -1;
    if (missing > 0)
        return error_set(err, ERROR_DENIED, "%zu permissions or definitions are missing", missing);
    return 0;
}
