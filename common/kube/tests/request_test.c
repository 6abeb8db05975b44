/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/request.h"

#define ITEMS "/apis/" LANDSCAPER_GROUP "/v1alpha1"

/* Verbs with a body send {"metadata":{"name":"n"}}. */
static const struct {
    struct kube_request request;
    const char *method, *url, *content_type, *body, *what;
    bool is_repeatable;
} good[] = {
    {{.verb = KUBE_GET, .resource = {"", "v1", "pods"}, .namespace_name = "a", .name = "b"},
     "GET",
     "https://s/api/v1/namespaces/a/pods/b",
     NULL,
     NULL,
     "get pods \"a/b\"",
     true},
    {{.verb = KUBE_GET,
      .resource = {"", "v1", "pods"},
      .namespace_name = "a",
      .name = "b",
      .subresource = "log",
      .query = "container=main"},
     "GET",
     "https://s/api/v1/namespaces/a/pods/b/log?container=main",
     NULL,
     NULL,
     "get pods/log \"a/b\"",
     true},
    {{.verb = KUBE_LIST,
      .resource = {LANDSCAPER_GROUP, "v1alpha1", "deployitems"},
      .label_selector = "a in (b,c)",
      .field_selector = "x=y",
      .resource_version = "5",
      .query = "limit=1"},
     "GET",
     "https://s" ITEMS "/deployitems?labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=x%3Dy"
     "&resourceVersion=5&limit=1",
     NULL,
     NULL,
     "list deployitems",
     true},
    {{.verb = KUBE_LIST, .resource = {LANDSCAPER_GROUP, "v1alpha1", NULL}},
     "GET",
     "https://s" ITEMS,
     NULL,
     NULL,
     "list " LANDSCAPER_GROUP,
     true},
    {{.verb = KUBE_DISCOVER}, "GET", "https://s/apis", NULL, NULL, "discover API groups", true},
    {{.verb = KUBE_CREATE, .resource = {"", "v1", "secrets"}, .namespace_name = "a"},
     "POST",
     "https://s/api/v1/namespaces/a/secrets",
     "application/json",
     "{\"metadata\":{\"name\":\"n\"}}",
     "create secrets \"a/n\"",
     true},
    {{.verb = KUBE_CREATE,
      .resource = {"", "v1", "serviceaccounts"},
      .namespace_name = "a",
      .name = "b",
      .subresource = "token"},
     "POST",
     "https://s/api/v1/namespaces/a/serviceaccounts/b/token",
     "application/json",
     "{\"metadata\":{\"name\":\"n\"}}",
     "create serviceaccounts/token \"a/b\"",
     true},
    {{.verb = KUBE_UPDATE, .resource = {"", "v1", "namespaces"}, .name = "n"},
     "PUT",
     "https://s/api/v1/namespaces/n",
     "application/json",
     "{\"metadata\":{\"name\":\"n\"}}",
     "update namespaces \"n\"",
     true},
    {{.verb = KUBE_PATCH_MERGE,
      .resource = {LANDSCAPER_GROUP, "v1alpha1", "deployitems"},
      .namespace_name = "a",
      .name = "n",
      .subresource = "status"},
     "PATCH",
     "https://s" ITEMS "/namespaces/a/deployitems/n/status",
     "application/merge-patch+json",
     "{\"metadata\":{\"name\":\"n\"}}",
     "patch deployitems/status \"a/n\"",
     true},
    {{.verb = KUBE_PATCH_JSON,
      .resource = {"", "v1", "secrets"},
      .namespace_name = "a",
      .name = "n"},
     "PATCH",
     "https://s/api/v1/namespaces/a/secrets/n",
     "application/json-patch+json",
     "{\"metadata\":{\"name\":\"n\"}}",
     "patch secrets \"a/n\"",
     false},
    {{.verb = KUBE_APPLY,
      .resource = {"rbac.authorization.k8s.io", "v1", "roles"},
      .namespace_name = "a",
      .name = "n",
      .field_manager = "us"},
     "PATCH",
     "https://s/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles/n?fieldManager=us&force="
     "true",
     "application/apply-patch+yaml",
     "{\"metadata\":{\"name\":\"n\"}}",
     "apply roles \"a/n\"",
     true},
    {{.verb = KUBE_DELETE,
      .resource = {"", "v1", "pods"},
      .namespace_name = "a",
      .name = "n",
      .grace_seconds = -1},
     "DELETE",
     "https://s/api/v1/namespaces/a/pods/n",
     "application/json",
     "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\"}",
     "delete pods \"a/n\"",
     true},
    {{.verb = KUBE_DELETE,
      .resource = {"", "v1", "pods"},
      .namespace_name = "a",
      .name = "n",
      .uid = "u",
      .resource_version = "7"},
     "DELETE",
     "https://s/api/v1/namespaces/a/pods/n",
     "application/json",
     "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\","
     "\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":\"u\",\"resourceVersion\":\"7\"}}",
     "delete pods \"a/n\"",
     true},
    {{.verb = KUBE_DELETE_COLLECTION,
      .resource = {"", "v1", "secrets"},
      .namespace_name = "a",
      .label_selector = "l",
      .grace_seconds = -1},
     "DELETE",
     "https://s/api/v1/namespaces/a/secrets?labelSelector=l",
     "application/json",
     "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\"}",
     "delete all secrets in \"a\"",
     true},
};

static void each_verb_has_its_method_url_and_body(void **state)
{
    cleanup_json json_t *body = json_pack("{s:{s:s}}", "metadata", "name", "n");

    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        struct kube_request request = good[i].request;
        struct kube_wire wire = {0};
        struct error err = {0};

        request.body = good[i].body && request.verb < KUBE_DELETE ? body : NULL;
        assert_int_equal(kube_wire_make("https://s", &request, &wire, &err), 0);
        assert_string_equal(wire.method, good[i].method);
        assert_string_equal(wire.url, good[i].url);
        assert_string_equal(wire.what, good[i].what);
        assert_int_equal(wire.is_repeatable, good[i].is_repeatable);
        if (good[i].content_type)
            assert_string_equal(wire.content_type, good[i].content_type);
        if (good[i].body)
            assert_string_equal(wire.body, good[i].body);
        else
            assert_null(wire.body);
        kube_wire_done(&wire);
    }
}

static void a_create_without_a_fixed_name_is_not_sent_twice(void **state)
{
    cleanup_json json_t *body = json_pack("{s:{s:s}}", "metadata", "generateName", "n-");
    const struct kube_request request = {
        .verb = KUBE_CREATE, .resource = KUBE_EVENTS, .namespace_name = "a", .body = body};
    struct kube_wire wire = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(kube_wire_make("https://s", &request, &wire, &err), 0);
    assert_false(wire.is_repeatable);
    kube_wire_done(&wire);
}

static void incomplete_and_dangerous_requests_are_refused(void **state)
{
    cleanup_json json_t *body = json_object();
    const struct kube_request cases[] = {
        {.verb = KUBE_GET, .resource = KUBE_PODS, .namespace_name = "a"},
        {.verb = KUBE_GET, .resource = KUBE_PODS, .namespace_name = "a", .name = ""},
        {.verb = KUBE_GET, .resource = KUBE_PODS, .namespace_name = "a", .name = ".."},
        {.verb = KUBE_GET, .resource = KUBE_PODS, .namespace_name = "a", .name = "."},
        {.verb = KUBE_GET, .resource = KUBE_PODS, .namespace_name = "a", .name = "b/c"},
        {.verb = KUBE_GET, .resource = KUBE_PODS, .namespace_name = "a", .name = "b%2fc"},
        {.verb = KUBE_GET, .resource = KUBE_PODS, .namespace_name = "", .name = "b"},
        {.verb = KUBE_GET, .resource = KUBE_PODS, .namespace_name = "..", .name = "b"},
        {.verb = KUBE_CREATE, .resource = KUBE_PODS, .namespace_name = "a"},
        {.verb = KUBE_UPDATE, .resource = KUBE_PODS, .namespace_name = "a", .body = body},
        {.verb = KUBE_APPLY, .resource = KUBE_PODS, .name = "n", .body = body},
        {.verb = KUBE_DELETE_COLLECTION, .resource = KUBE_PODS, .namespace_name = "a"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct kube_wire wire = {0};
        struct error err = {0};

        assert_int_equal(kube_wire_make("https://s", &cases[i], &wire, &err), -1);
        assert_null(wire.url);
        assert_int_not_equal(err.kind, ERROR_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_verb_has_its_method_url_and_body),
        cmocka_unit_test(a_create_without_a_fixed_name_is_not_sent_twice),
        cmocka_unit_test(incomplete_and_dangerous_requests_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
