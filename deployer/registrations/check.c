/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/check.h"

#include <signal.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/client.h"
#include "deployer/page/watched.h"
#include "deployer/registrations/manager.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define NAMESPACE_OF_EVENTS "default"

/* PLACE_REVIEWS: in the cluster, and only needed if the page asks for tokens. */
enum place { PLACE_CLUSTER, PLACE_DEPLOYERS, PLACE_EVENTS, PLACE_REVIEWS };

/* The same rules as in the chart; e2e compares. name: only for this object, "role" is replaced by
 * the ClusterRole of deployers. */
static const struct rule {
    enum place place;
    const char *group, *resource, *subresource, *name;
    const char *verbs; /* with blanks between them */
    const char *purpose;
} rules[] = {
    {PLACE_CLUSTER, LANDSCAPER_GROUP, RESOURCE_ENVIRONMENTS, NULL, NULL, "list watch patch",
     "find environments and set their finalizer"},
    {PLACE_CLUSTER, LANDSCAPER_GROUP, RESOURCE_ENVIRONMENTS, "status", NULL, "patch",
     "report conditions of environments"},
    {PLACE_CLUSTER, LANDSCAPER_GROUP, RESOURCE_DEPLOYER_REGISTRATIONS, NULL, NULL,
     "list watch patch", "find registrations and set their finalizer"},
    {PLACE_CLUSTER, LANDSCAPER_GROUP, RESOURCE_DEPLOYER_REGISTRATIONS, "status", NULL, "patch",
     "report conditions of registrations"},
    {PLACE_CLUSTER, LANDSCAPER_GROUP, RESOURCE_DEPLOY_ITEMS, NULL, NULL, "list watch",
     "find items that a deployer serves, and types that install one"},
    {PLACE_CLUSTER, RBAC_GROUP, "clusterrolebindings", NULL, NULL,
     "list watch create update delete", "grant the ClusterRole to accounts of deployers"},
    {PLACE_CLUSTER, RBAC_GROUP, "clusterroles", NULL, "role", "get bind",
     "grant the ClusterRole to accounts of deployers"},
    {PLACE_DEPLOYERS, LANDSCAPER_GROUP, RESOURCE_INSTALLATIONS, NULL, NULL,
     "list watch create patch delete", "install deployers"},
    {PLACE_DEPLOYERS, LANDSCAPER_GROUP, RESOURCE_TARGETS, NULL, NULL,
     "list watch create update delete", "write Targets of environments and deployers"},
    {PLACE_DEPLOYERS, LANDSCAPER_GROUP, RESOURCE_CONTEXTS, NULL, CONTEXT_DEFAULT, "get",
     "only for --check: find the Context of Installations"},
    {PLACE_DEPLOYERS, "", "serviceaccounts", NULL, NULL, "list watch create delete",
     "create accounts of deployers"},
    {PLACE_DEPLOYERS, "", "serviceaccounts", "token", NULL, "create",
     "request tokens of deployers"},
    {PLACE_DEPLOYERS, "", "secrets", NULL, NULL, "delete",
     "remove the Secret of an agent whose cluster is gone"},
    {PLACE_DEPLOYERS, "coordination.k8s.io", "leases", NULL, NULL,
     "get list watch create update delete", "elect a leader, and see heartbeats of agents"},
    {PLACE_EVENTS, "", "events", NULL, NULL, "create", "report changes as Events"},
    {PLACE_REVIEWS, "authentication.k8s.io", "tokenreviews", NULL, NULL, "create",
     "find out who may see the status page"},
    {PLACE_REVIEWS, "authorization.k8s.io", "subjectaccessreviews", NULL, NULL, "create",
     "find out who may see the status page"},
};

static const char *const definitions[] = {RESOURCE_ENVIRONMENTS,  RESOURCE_DEPLOYER_REGISTRATIONS,
                                          RESOURCE_INSTALLATIONS, RESOURCE_TARGETS,
                                          RESOURCE_DEPLOY_ITEMS,  RESOURCE_CONTEXTS};

struct inquiry {
    const struct settings *settings;
    bool is_page_authenticated;
    struct kube *kube;
    FILE *file;
    size_t problems;
};

static void print_row(struct inquiry *inquiry, const char *place, const char *what,
                      const char *verbs, const char *result, const char *purpose)
{
    inquiry->problems += strcmp(result, "ok") != 0;
    (void)fprintf(inquiry->file, "%-16s  %-52s  %-36s  %-24s  %s\n", place, what, verbs, result,
                  purpose);
}

static const char *namespace_of(const struct inquiry *inquiry, enum place place)
{
    if (place == PLACE_CLUSTER || place == PLACE_REVIEWS)
        return NULL;
    return place == PLACE_EVENTS ? NAMESPACE_OF_EVENTS : inquiry->settings->namespace_name;
}

/* 1: allowed, 0: not, -1: it could not be asked. */
static int ask(struct inquiry *inquiry, const struct rule *rule, const char *verb,
               struct error *err)
{
    static const struct kube_resource reviews = {"authorization.k8s.io", "v1",
                                                 "selfsubjectaccessreviews"};
    const char *namespace_name = namespace_of(inquiry, rule->place);
    cleanup_json json_t *attributes =
        json_pack("{s:s,s:s,s:s}", "group", rule->group, "resource", rule->resource, "verb", verb);
    cleanup_json json_t *body =
        json_pack("{s:s,s:s,s:{s:O}}", "apiVersion", "authorization.k8s.io/v1", "kind",
                  "SelfSubjectAccessReview", "spec", "resourceAttributes", attributes);
    const struct kube_request request = {
        .verb = KUBE_CREATE, .resource = reviews, .body = body, .grace_seconds = -1};
    cleanup_json json_t *answer = NULL;

    if (namespace_name)
        (void)json_object_set_new(attributes, "namespace", json_string(namespace_name));
    if (rule->subresource)
        (void)json_object_set_new(attributes, "subresource", json_string(rule->subresource));
    if (rule->name)
        (void)json_object_set_new(
            attributes, "name",
            json_string(strcmp(rule->name, "role") == 0 ? inquiry->settings->role : rule->name));
    if (kube_perform(inquiry->kube, &request, &answer, err) < 0)
        return -1;
    return doc_bool_or(answer, "status.allowed", false);
}

static int check_rule(struct inquiry *inquiry, const struct rule *rule, struct error *err)
{
    cleanup_free char *missing = xstrdup("");
    cleanup_free char *result = NULL;
    cleanup_free char *resource =
        xasprintf("%s%s%s%s%s", rule->resource, rule->subresource ? "/" : "",
                  rule->subresource ? rule->subresource : "", *rule->group ? "." : "", rule->group);
    const char *namespace_name = namespace_of(inquiry, rule->place);

    for (const char *at = rule->verbs; *at;) {
        size_t length = strcspn(at, " ");
        cleanup_free char *verb = xstrndup(at, length);
        int allowed = ask(inquiry, rule, verb, err);

        if (allowed < 0)
            return -1;
        if (!allowed) {
            char *longer = xasprintf("%s %s", missing, verb);

            free(missing);
            missing = longer;
        }
        at += length + (at[length] == ' ');
    }
    result = *missing ? xasprintf("missing:%s", missing) : xstrdup("ok");
    print_row(inquiry, namespace_name ? namespace_name : "all", resource, rule->verbs, result,
              rule->purpose);
    return 0;
}

/* Whether an object exists; an object that may not be read is reported as unknown. */
static void check_object(struct inquiry *inquiry, const char *what, struct kube_resource resource,
                         const char *namespace_name, const char *name, const char *purpose)
{
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = resource,
                                         .namespace_name = namespace_name,
                                         .name = name,
                                         .grace_seconds = -1,
                                         .is_unread = true};
    cleanup_free char *label = xasprintf("%s %s", what, name);
    struct error err = {0};
    int found = kube_perform(inquiry->kube, &request, NULL, &err);

    print_row(inquiry, namespace_name ? namespace_name : "-", label, "-",
              found == 0                    ? "ok"
              : err.kind == ERROR_NOT_FOUND ? "missing"
                                            : "unknown",
              purpose);
}

static int check_definitions(struct inquiry *inquiry, struct error *err)
{
    const struct kube_request request = {.verb = KUBE_LIST,
                                         .resource = {LANDSCAPER_GROUP, LANDSCAPER_VERSION, NULL},
                                         .grace_seconds = -1};
    cleanup_json json_t *answer = NULL;
    const json_t *resources = NULL;

    /* Without any of the definitions the API server does not know the group. */
    if (kube_perform(inquiry->kube, &request, &answer, err) < 0 && err->kind != ERROR_NOT_FOUND)
        return -1;
    resources = doc_member(answer, "resources");
    for (size_t i = 0; i < array_length(definitions); i++) {
        cleanup_free char *label = xasprintf("%s." LANDSCAPER_GROUP, definitions[i]);
        bool is_found = false;

        for (size_t k = 0; k < json_array_size(resources); k++)
            is_found |=
                strcmp(doc_text_or(json_array_get(resources, k), "name", ""), definitions[i]) == 0;
        print_row(inquiry, "-", label, "-", is_found ? "ok" : "missing",
                  i < 2 ? "CustomResourceDefinition of this chart"
                        : "CustomResourceDefinition of Landscaper");
    }
    return 0;
}

static int check_all(struct inquiry *inquiry, struct error *err)
{
    static const struct kube_resource roles = {RBAC_GROUP, "v1", "clusterroles"};

    (void)fprintf(inquiry->file, "%-16s  %-52s  %-36s  %-24s  %s\n", "NAMESPACE", "RESOURCE",
                  "VERBS", "RESULT", "PURPOSE");
    for (size_t i = 0; i < array_length(rules); i++) {
        bool is_needed = rules[i].place != PLACE_REVIEWS || inquiry->is_page_authenticated;

        if (is_needed && check_rule(inquiry, &rules[i], err) < 0)
            return -1;
    }
    if (check_definitions(inquiry, err) < 0)
        return -1;
    check_object(inquiry, "ClusterRole", roles, NULL, inquiry->settings->role,
                 "permissions of deployers in this cluster");
    check_object(inquiry, "Context", KUBE_CONTEXTS, inquiry->settings->namespace_name,
                 CONTEXT_DEFAULT,
                 "Landscaper starts no Installation without it, and does not create it in "
                 "excluded namespaces");
    return 0;
}

int registrations_check_run(const struct settings *settings,
                            const struct registrations_values *values, FILE *file,
                            bool *ret_is_complete, struct error *err)
{
    struct inquiry inquiry = {.settings = settings,
                              .is_page_authenticated = watched_page_is_authenticated(values->page),
                              .file = file};
    struct loop *loop = NULL;
    struct http_client *http = NULL;
    int result = -1;
    sigset_t none;

    /* Ctrl-C ends the command: there is nothing to release. */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (loop_new(clock_system(), &loop, err) == 0 &&
        http_client_new(loop, REGISTRATIONS_USER_AGENT, &http, err) == 0 &&
        kube_new_default(loop, http, values->kubeconfig, &inquiry.kube, err) == 0)
        result = check_all(&inquiry, err);
    if (result == 0) {
        *ret_is_complete = inquiry.problems == 0;
        if (inquiry.problems > 0)
            (void)fprintf(file, "%zu problem%s found\n", inquiry.problems,
                          inquiry.problems == 1 ? "" : "s");
        else
            (void)fputs("no problems found\n", file);
    }
    kube_free(inquiry.kube);
    http_client_free(http);
    loop_free(loop);
    return result;
}
