/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/check.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/check_table.h"

enum { RULE_VERBS_MAX = 7 };

enum cluster { CLUSTER_HOST, CLUSTER_LANDSCAPER };
static const char *const cluster_names[] = {"host", "landscaper"};

enum place { PLACE_RUNS, PLACE_LEASE, PLACE_OWN_POD, PLACE_ALL, PLACE_NONE };

/* When a rule is needed. */
enum need { NEED_ALWAYS, NEED_ELECTION, NEED_LOCKS, NEED_PODS, NEED_TOKENS, NEED_LATE, NEED_PAGE };

struct rule {
    enum cluster cluster;
    enum place place;
    enum need need;
    bool is_lease; /* the Lease of the configuration, by its name */
    const char *group, *resource, *subresource;
    const char *verbs; /* with blanks between them */
    const char *purpose;
};

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define LEASE_GROUP "coordination.k8s.io"

/* The same rules as in the chart (templates/role.yaml, templates/clusterrole.yaml); e2e compares.
 */
static const struct rule rules[] = {
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_ALWAYS, false, LANDSCAPER_GROUP, RESOURCE_DEPLOY_ITEMS,
     NULL, "get list watch patch", "find DeployItems and set their finalizer"},
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_ALWAYS, false, LANDSCAPER_GROUP, RESOURCE_DEPLOY_ITEMS,
     "status", "patch", "report the progress and result of a DeployItem"},
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_ALWAYS, false, LANDSCAPER_GROUP, RESOURCE_TARGETS, NULL,
     "get", "read the Target of a DeployItem"},
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_PODS, false, LANDSCAPER_GROUP, RESOURCE_CONTEXTS, NULL,
     "get", "read the Context of a DeployItem"},
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_LOCKS, false, LANDSCAPER_GROUP, RESOURCE_SYNC_OBJECTS,
     NULL, "get create update", "lock DeployItems among several replicas"},
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_ALWAYS, false, "", "secrets", NULL,
     "get create patch delete", "read Targets and pull secrets, write exports"},
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_TOKENS, false, "", "serviceaccounts", "token", "create",
     "request tokens for Targets with oidcConfig or selfConfig"},
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_LATE, false, LANDSCAPER_GROUP, RESOURCE_EXECUTIONS, NULL,
     "get", "find the root Installation of a DeployItem"},
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_LATE, false, LANDSCAPER_GROUP, RESOURCE_INSTALLATIONS,
     NULL, "get patch", "trigger jobs because of late changes"},
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_PODS, false, "", "configmaps", NULL, "get",
     "read the OCM configuration of a Context"},
    {CLUSTER_LANDSCAPER, PLACE_ALL, NEED_ALWAYS, false, "", "events", NULL, "create",
     "report errors as Events"},
    {CLUSTER_LANDSCAPER, PLACE_NONE, NEED_PAGE, false, "authentication.k8s.io", "tokenreviews",
     NULL, "create", "find out who may see the status page"},
    {CLUSTER_LANDSCAPER, PLACE_NONE, NEED_PAGE, false, "authorization.k8s.io",
     "subjectaccessreviews", NULL, "create", "find out who may see the status page"},
    {CLUSTER_HOST, PLACE_RUNS, NEED_PODS, false, "", "pods", NULL,
     "get list watch create patch delete", "run DeployItems as pods"},
    {CLUSTER_HOST, PLACE_RUNS, NEED_PODS, false, "", "pods", "log", "get",
     "show the end of a failed main's log in lastError"},
    {CLUSTER_HOST, PLACE_RUNS, NEED_PODS, false, "", "secrets", NULL,
     "get list create patch delete deletecollection", "store inputs, exports and state of runs"},
    {CLUSTER_HOST, PLACE_RUNS, NEED_PODS, false, "", "secrets", NULL, "update",
     "grant it to wait containers, which update their export"},
    {CLUSTER_HOST, PLACE_RUNS, NEED_PODS, false, "", "configmaps", NULL, "list deletecollection",
     "remove ConfigMaps that the Go deployer has left"},
    {CLUSTER_HOST, PLACE_RUNS, NEED_PODS, false, "", "serviceaccounts", NULL,
     "get list create patch deletecollection", "create accounts for wait containers"},
    {CLUSTER_HOST, PLACE_RUNS, NEED_PODS, false, RBAC_GROUP, "roles", NULL,
     "list create patch deletecollection", "grant permissions to wait containers"},
    {CLUSTER_HOST, PLACE_RUNS, NEED_PODS, false, RBAC_GROUP, "rolebindings", NULL,
     "list create patch deletecollection", "grant permissions to wait containers"},
    {CLUSTER_HOST, PLACE_LEASE, NEED_ELECTION, false, LEASE_GROUP, "leases", NULL, "create",
     "elect a leader; without it DeployItems are locked with SyncObjects"},
    {CLUSTER_HOST, PLACE_LEASE, NEED_ELECTION, true, LEASE_GROUP, "leases", NULL, "get update",
     "elect a leader; without it DeployItems are locked with SyncObjects"},
    {CLUSTER_HOST, PLACE_OWN_POD, NEED_LOCKS, false, "", "pods", NULL, "get",
     "find out whether the holder of a lock still exists"},
};

static const struct {
    enum need need;
    const char *plural;
} definitions[] = {
    {NEED_ALWAYS, RESOURCE_DEPLOY_ITEMS},
    {NEED_ALWAYS, RESOURCE_TARGETS},
    {NEED_PODS, RESOURCE_CONTEXTS},
    {NEED_LOCKS, RESOURCE_SYNC_OBJECTS},
};

struct check {
    const struct clusters *clusters;
    const struct deployer_config *config;
    const char *pod_namespace;
    check_done_fn *on_done;
    void *data;

    struct kube_call *call;
    size_t rule, verb, place; /* the next question */

    struct error unreachable[array_length(cluster_names)]; /* no more questions to this cluster */
    bool is_missing[array_length(rules)][RULE_VERBS_MAX];
    bool is_definition_missing[array_length(definitions)];
    struct error errors[array_length(rules)]; /* kind ERROR_NONE: every verb is answered */
    struct error discovery_error;
};

static void ask_next(struct check *check);

/* ---- What is asked ---- */

static bool is_needed(const struct check *check, enum need need)
{
    switch (need) {
    case NEED_ELECTION:
        return check->config->is_electing;
    case NEED_LOCKS:
        return check->config->max_replicas > 1;
    case NEED_PODS:
        return check->config->is_container_enabled || check->config->is_helm_enabled;
    case NEED_TOKENS:
        return check->config->is_manifest_enabled || check->config->is_helm_enabled;
    case NEED_LATE:
        return check->config->is_manifest_enabled && check->config->is_late_trigger;
    case NEED_PAGE:
        return check->config->is_page_enabled && check->config->is_page_authenticated;
    case NEED_ALWAYS:
        break;
    }
    return true;
}

/* The namespaces of PLACE_ALL that are asked for one by one; 1 if one question covers all. */
static size_t place_count(const struct check *check, const struct rule *rule)
{
    size_t count = 0;

    while (rule->place == PLACE_ALL && check->config->namespaces[count])
        count++;
    return count > 0 ? count : 1;
}

/* Number place of the namespaces of a rule. NULL: all namespaces. */
static const char *namespace_of(const struct check *check, const struct rule *rule, size_t place)
{
    switch (rule->place) {
    case PLACE_RUNS:
        return check->config->namespace_name;
    case PLACE_LEASE:
        return clusters_lease_namespace(check->config, check->pod_namespace);
    case PLACE_OWN_POD:
        return check->pod_namespace;
    case PLACE_NONE:
        return NULL;
    case PLACE_ALL:
        break;
    }
    return check->config->namespaces[place];
}

/* All namespaces of a rule, with commas between them. Belongs to the caller. */
static char *namespaces_text(const struct check *check, const struct rule *rule)
{
    const char *first = namespace_of(check, rule, 0);
    char *text = xstrdup(first ? first : "all");

    for (size_t i = 1; i < place_count(check, rule); i++) {
        char *longer = xasprintf("%s,%s", text, namespace_of(check, rule, i));

        free(text);
        text = longer;
    }
    return text;
}

static struct kube *client_of(const struct check *check, const struct rule *rule)
{
    return rule->cluster == CLUSTER_HOST ? check->clusters->host : check->clusters->landscaper;
}

/* RESOURCE/SUBRESOURCE.GROUP, as kubectl writes it. Belongs to the caller. */
static char *resource_text(const struct rule *rule)
{
    return xasprintf("%s%s%s%s%s", rule->resource, rule->subresource ? "/" : "",
                     rule->subresource ? rule->subresource : "", *rule->group ? "." : "",
                     rule->group);
}

/* The n-th verb of a rule; NULL: there are not so many. Belongs to the caller. */
static char *verb_at(const struct rule *rule, size_t number)
{
    const char *verb = rule->verbs;

    for (; number > 0 && verb; number--) {
        verb = strchr(verb, ' ');
        verb = verb ? verb + 1 : NULL;
    }
    return verb ? xstrndup(verb, strcspn(verb, " ")) : NULL;
}

/* The missing verbs with blanks between them. Belongs to the caller. */
static char *missing_verbs(const struct check *check, size_t number)
{
    char *text = xstrdup("");

    for (size_t i = 0; i < RULE_VERBS_MAX; i++) {
        cleanup_free char *verb = verb_at(&rules[number], i);
        char *longer = NULL;

        if (!verb || !check->is_missing[number][i])
            continue;
        longer = xasprintf("%s%s%s", text, *text ? " " : "", verb);
        free(text);
        text = longer;
    }
    return text;
}

/* ---- Questions and answers ---- */

static void on_review(void *data, json_t *object, const struct error *err)
{
    struct check *check = data;

    check->call = NULL;
    if (err->kind == ERROR_TEMPORARY)
        check->unreachable[rules[check->rule].cluster] = *err;
    if (err->kind != ERROR_NONE)
        check->errors[check->rule] = *err;
    else
        check->is_missing[check->rule][check->verb] |=
            !doc_bool_or(object, "status.allowed", false);
    if (++check->place == place_count(check, &rules[check->rule])) {
        check->place = 0;
        check->verb++;
    }
    ask_next(check);
}

static void ask_review(struct check *check)
{
    static const struct kube_resource reviews = {"authorization.k8s.io", "v1",
                                                 "selfsubjectaccessreviews"};
    const struct rule *rule = &rules[check->rule];
    const char *namespace_name = namespace_of(check, rule, check->place);
    cleanup_free char *verb = verb_at(rule, check->verb);
    cleanup_json json_t *body =
        json_pack("{s:s,s:s,s:{s:{s:s,s:s,s:s}}}", "apiVersion", "authorization.k8s.io/v1", "kind",
                  "SelfSubjectAccessReview", "spec", "resourceAttributes", "group", rule->group,
                  "resource", rule->resource, "verb", verb);
    const struct kube_request request = {.verb = KUBE_CREATE,
                                         .resource = reviews,
                                         .body = body,
                                         .grace_seconds = -1,
                                         .on_done = on_review,
                                         .data = check};
    struct error err = {0};

    if (namespace_name)
        doc_set_text(body, "spec.resourceAttributes.namespace", namespace_name);
    if (rule->subresource)
        doc_set_text(body, "spec.resourceAttributes.subresource", rule->subresource);
    if (rule->is_lease)
        doc_set_text(body, "spec.resourceAttributes.name", check->config->lease_name);
    if (kube_start(client_of(check, rule), &request, &check->call, &err) < 0)
        on_review(check, NULL, &err);
}

static bool is_served(const json_t *discovery, const char *plural)
{
    const json_t *resources = doc_member(discovery, "resources");

    for (size_t i = 0; i < json_array_size(resources); i++) {
        if (strcmp(doc_text_or(json_array_get(resources, i), "name", ""), plural) == 0)
            return true;
    }
    return false;
}

static void on_discovery(void *data, json_t *object, const struct error *err)
{
    struct check *check = data;

    check->call = NULL;
    /* Without any of the definitions the API server does not know the group. */
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND)
        check->discovery_error = *err;
    for (size_t i = 0; i < array_length(definitions); i++)
        check->is_definition_missing[i] = check->discovery_error.kind == ERROR_NONE &&
                                          is_needed(check, definitions[i].need) &&
                                          !is_served(object, definitions[i].plural);
    check->on_done(check->data);
}

static void ask_discovery(struct check *check)
{
    const struct kube_request request = {.verb = KUBE_LIST,
                                         .resource = {LANDSCAPER_GROUP, LANDSCAPER_VERSION, NULL},
                                         .grace_seconds = -1,
                                         .on_done = on_discovery,
                                         .data = check};
    struct error err = {0};

    if (kube_start(check->clusters->landscaper, &request, &check->call, &err) < 0)
        on_discovery(check, NULL, &err);
}

static void ask_next(struct check *check)
{
    for (; check->rule < array_length(rules); check->rule++, check->verb = check->place = 0) {
        const struct rule *rule = &rules[check->rule];
        const struct error *unreachable = &check->unreachable[rule->cluster];
        cleanup_free char *verb = verb_at(rule, check->verb);

        if (unreachable->kind != ERROR_NONE)
            check->errors[check->rule] = *unreachable;
        else if (is_needed(check, rule->need) && verb)
            break;
    }
    if (check->rule < array_length(rules)) {
        ask_review(check);
    } else if (check->unreachable[CLUSTER_LANDSCAPER].kind != ERROR_NONE) {
        check->discovery_error = check->unreachable[CLUSTER_LANDSCAPER];
        check->on_done(check->data);
    } else {
        ask_discovery(check);
    }
}

struct check *check_start(const struct clusters *clusters, const struct deployer_config *config,
                          const char *pod_namespace, check_done_fn *on_done, void *data)
{
    struct check *check = xcalloc(1, sizeof(*check));

    check->clusters = clusters;
    check->config = config;
    check->pod_namespace = pod_namespace;
    check->on_done = on_done;
    check->data = data;
    ask_next(check);
    return check;
}

void check_free(struct check *check)
{
    if (!check)
        return;
    kube_cancel(check->call);
    free(check);
}

/* ---- Results ---- */

/* Why something could not be verified; NULL: everything could. */
static const struct error *first_error(const struct check *check)
{
    for (size_t i = 0; i < array_length(rules); i++) {
        if (check->errors[i].kind != ERROR_NONE)
            return &check->errors[i];
    }
    return check->discovery_error.kind != ERROR_NONE ? &check->discovery_error : NULL;
}

void check_log(const struct check *check)
{
    const struct error *unknown = first_error(check);

    for (size_t i = 0; i < array_length(rules); i++) {
        cleanup_free char *missing = missing_verbs(check, i);
        cleanup_free char *resource = resource_text(&rules[i]);
        cleanup_free char *namespaces = namespaces_text(check, &rules[i]);

        if (*missing)
            log_error("missing permission", log_text("cluster", cluster_names[rules[i].cluster]),
                      log_text("resource", resource), log_text("verbs", missing),
                      log_text("namespace", namespaces), log_text("purpose", rules[i].purpose));
    }
    for (size_t i = 0; i < array_length(definitions); i++) {
        if (check->is_definition_missing[i])
            log_error("missing CustomResourceDefinition",
                      log_text("cluster", cluster_names[CLUSTER_LANDSCAPER]),
                      log_text("resource", definitions[i].plural),
                      log_text("group", LANDSCAPER_GROUP));
    }
    if (unknown)
        log_info("some permissions could not be verified", log_text("error", unknown->text));
}

static_assert(1 + array_length(rules) + array_length(definitions) <= CHECK_ROWS_MAX,
              "the table has room for all rows");

static void add_rule(const struct check *check, size_t number, struct check_table *table)
{
    const struct rule *rule = &rules[number];
    cleanup_free char *missing = missing_verbs(check, number);
    char *result = *missing ? xasprintf("missing: %s", missing)
                            : xstrdup(check->errors[number].kind == ERROR_NONE ? "ok" : "unknown");

    table->problems += strcmp(result, "ok") != 0;
    check_table_add(table, xstrdup(cluster_names[rule->cluster]), namespaces_text(check, rule),
                    resource_text(rule), xstrdup(rule->verbs), result, xstrdup(rule->purpose));
}

static void add_definition(const struct check *check, size_t number, struct check_table *table)
{
    const char *result = check->discovery_error.kind != ERROR_NONE ? "unknown"
                         : check->is_definition_missing[number]    ? "missing"
                                                                   : "ok";

    table->problems += strcmp(result, "ok") != 0;
    check_table_add(table, xstrdup(cluster_names[CLUSTER_LANDSCAPER]), xstrdup("-"),
                    xasprintf("%s." LANDSCAPER_GROUP, definitions[number].plural), xstrdup("-"),
                    xstrdup(result), xstrdup("CustomResourceDefinition of Landscaper"));
}

bool check_print(const struct check *check, FILE *file)
{
    struct check_table table = {0};
    const struct error *unknown = first_error(check);
    size_t problems = 0;

    check_table_add(&table, xstrdup("CLUSTER"), xstrdup("NAMESPACE"), xstrdup("RESOURCE"),
                    xstrdup("VERBS"), xstrdup("RESULT"), xstrdup("PURPOSE"));
    for (size_t i = 0; i < array_length(rules); i++) {
        if (is_needed(check, rules[i].need))
            add_rule(check, i, &table);
    }
    for (size_t i = 0; i < array_length(definitions); i++) {
        if (is_needed(check, definitions[i].need))
            add_definition(check, i, &table);
    }
    check_table_print(&table, file);
    problems = table.problems;
    check_table_done(&table);
    if (unknown)
        (void)fprintf(file, "error: %s\n", unknown->text);
    if (problems)
        (void)fprintf(file, "%zu problem%s found\n", problems, problems == 1 ? "" : "s");
    else
        (void)fputs("no problems found\n", file);
    return problems == 0;
}

/* ---- The command ---- */

static void stop_loop(void *data)
{
    loop_stop(data);
}

int check_run(const struct controller_options *options, struct deployer_config *config, FILE *file,
              bool *ret_is_complete, struct error *err)
{
    const char *pod_namespace = getenv(ENV_MY_POD_NAMESPACE);
    struct clusters clusters = {0};
    struct loop *loop = NULL;
    struct http_client *http = NULL;
    struct check *check = NULL;
    int result = -1;
    sigset_t none;

    /* Ctrl-C ends the command: there is nothing to release. */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (!pod_namespace || !*pod_namespace)
        pod_namespace = config->namespace_name;
    if (loop_new(clock_system(), &loop, err) == 0 &&
        http_client_new(loop, "longshore/" LONGSHORE_VERSION, &http, err) == 0 &&
        clusters_connect(loop, http, options->kubeconfig, options->landscaper_kubeconfig, config,
                         &clusters, err) == 0) {
        check = check_start(&clusters, config, pod_namespace, stop_loop, loop);
        result = loop_run(loop, err);
    }
    if (result == 0)
        *ret_is_complete = check_print(check, file);
    check_free(check);
    clusters_done(&clusters);
    http_client_free(http);
    loop_free(loop);
    return result;
}
