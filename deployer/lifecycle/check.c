/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/check.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/names.h"

/* The namespace of the Kymas, the cluster, or the cluster if the page asks for tokens. */
enum place { PLACE_OWN, PLACE_CLUSTER, PLACE_REVIEWS };

/* The same rules as in the chart (charts/lifecycle-manager/templates/rbac.yaml); e2e compares. */
static const struct {
    const char *group, *resource, *subresource, *verbs;
    enum place place;
} rules[] = {
    {KYMA_GROUP, "kymas", NULL, "list watch patch", PLACE_OWN},
    {KYMA_GROUP, "kymas", "status", "patch", PLACE_OWN},
    {KYMA_GROUP, "manifests", NULL, "list watch create patch delete", PLACE_OWN},
    {KYMA_GROUP, "manifests", "status", "patch", PLACE_OWN},
    {KYMA_GROUP, "moduletemplates", NULL, "list watch", PLACE_OWN},
    {KYMA_GROUP, "modulereleasemetas", NULL, "list watch patch", PLACE_OWN},
    {"", "secrets", NULL, "list watch", PLACE_OWN},
    {"", "events", NULL, "create", PLACE_OWN},
    {"coordination.k8s.io", "leases", NULL, "get list create update delete", PLACE_OWN},
    {"apiextensions.k8s.io", "customresourcedefinitions", NULL, "get", PLACE_CLUSTER},
    {"authentication.k8s.io", "tokenreviews", NULL, "create", PLACE_REVIEWS},
    {"authorization.k8s.io", "subjectaccessreviews", NULL, "create", PLACE_REVIEWS},
};

static const char *const definitions[] = {"kymas", "manifests", "moduletemplates",
                                          "modulereleasemetas"};

static int ask(struct kube *kube, size_t rule, const char *verb, const char *namespace_name,
               bool *ret_is_allowed, struct error *err)
{
    cleanup_json json_t *answer = NULL;
    cleanup_json json_t *body =
        json_pack("{s:s, s:s, s:{s:{s:s, s:s, s:s}}}", "apiVersion", "authorization.k8s.io/v1",
                  "kind", "SelfSubjectAccessReview", "spec", "resourceAttributes", "group",
                  rules[rule].group, "resource", rules[rule].resource, "verb", verb);
    const struct kube_request request = {
        .verb = KUBE_CREATE,
        .resource = {"authorization.k8s.io", "v1", "selfsubjectaccessreviews"},
        .body = body,
        .grace_seconds = -1,
    };

    if (rules[rule].place == PLACE_OWN)
        doc_set_text(body, "spec.resourceAttributes.namespace", namespace_name);
    if (rules[rule].subresource)
        doc_set_text(body, "spec.resourceAttributes.subresource", rules[rule].subresource);
    if (kube_perform(kube, &request, &answer, err) < 0)
        return -1;
    *ret_is_allowed = doc_bool_or(answer, "status.allowed", false);
    return 0;
}

static int check_rule(struct kube *kube, size_t rule, const char *namespace_name, FILE *file,
                      bool *ret_is_complete, struct error *err)
{
    const char *at = rules[rule].verbs;

    while (*at) {
        size_t length = strcspn(at, " ");
        cleanup_free char *verb = xstrndup(at, length);
        bool is_allowed = false;

        if (ask(kube, rule, verb, namespace_name, &is_allowed, err) < 0)
            return -1;
        (void)fprintf(file, "%-8s %-7s %s%s%s%s%s\n", is_allowed ? "ok" : "MISSING", verb,
                      rules[rule].resource, rules[rule].subresource ? "/" : "",
                      rules[rule].subresource ? rules[rule].subresource : "",
                      *rules[rule].group ? "." : "", rules[rule].group);
        *ret_is_complete &= is_allowed;
        at += length + (at[length] == ' ');
    }
    return 0;
}

static int check_definitions(struct kube *kube, FILE *file, bool *ret_is_complete,
                             struct error *err)
{
    for (size_t i = 0; i < array_length(definitions); i++) {
        cleanup_free char *name = xasprintf("%s.%s", definitions[i], KYMA_GROUP);
        const struct kube_request request = {
            .verb = KUBE_GET,
            .resource = {"apiextensions.k8s.io", "v1", "customresourcedefinitions"},
            .name = name,
        };
        struct error failure = {0};
        bool is_there = kube_perform(kube, &request, NULL, &failure) == 0;

        if (!is_there && failure.kind != ERROR_NOT_FOUND && failure.kind != ERROR_DENIED) {
            *err = failure;
            return -1;
        }
        (void)fprintf(file, "%-8s %-7s %s\n", is_there ? "ok" : "MISSING", "CRD", name);
        *ret_is_complete &= is_there;
    }
    return 0;
}

int lifecycle_check(struct kube *kube, const char *namespace_name, bool is_page_authenticated,
                    FILE *file, bool *ret_is_complete, struct error *err)
{
    *ret_is_complete = true;
    for (size_t i = 0; i < array_length(rules); i++) {
        bool is_needed = rules[i].place != PLACE_REVIEWS || is_page_authenticated;

        if (is_needed && check_rule(kube, i, namespace_name, file, ret_is_complete, err) < 0)
            return -1;
    }
    return check_definitions(kube, file, ret_is_complete, err);
}
