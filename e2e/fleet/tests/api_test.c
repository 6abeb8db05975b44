/* SPDX-License-Identifier: Apache-2.0 */
/* What the comparison with a real API server (e2e/api/fleet) cannot show: controllers, and clusters
 * that share their definitions. */
#include "e2e/fleet/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* cmocka needs the headers above. */
#include <cmocka.h>

#include "e2e/fleet/tests/support.h"

#define JSON "application/json"
#define MERGE "application/merge-patch+json"
#define SPACE "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'n'}}"
#define MAP(name_, more_)                                                                          \
    "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': '" name_ "'" more_ "}}"
#define MAPS "/api/v1/namespaces/n/configmaps"

static void a_namespace_ends_when_its_objects_are_gone(void **state)
{
    struct support support;
    struct cluster *cluster = &support.cluster;

    (void)state;
    support_init(&support, true);
    assert_int_equal(send_code(cluster, "POST", "/api/v1/namespaces", JSON, SPACE), 201);
    assert_int_equal(send_code(cluster, "POST", MAPS, JSON, MAP("free", "")), 201);
    assert_int_equal(send_code(cluster, "POST", MAPS, JSON, MAP("held", ", 'finalizers': ['a/b']")),
                     201);
    assert_int_equal(send_code(cluster, "DELETE", "/api/v1/namespaces/n", JSON, NULL), 200);
    assert_int_equal(send_code(cluster, "GET", MAPS "/free", JSON, NULL), 404);
    assert_int_equal(send_code(cluster, "GET", "/api/v1/namespaces/n", JSON, NULL), 200);
    assert_int_equal(send_code(cluster, "POST", MAPS, JSON, MAP("new", "")), 403);
    assert_int_equal(
        send_code(cluster, "PATCH", MAPS "/held", MERGE, "{'metadata': {'finalizers': null}}"),
        200);
    assert_int_equal(send_code(cluster, "GET", MAPS "/held", JSON, NULL), 404);
    assert_int_equal(send_code(cluster, "GET", "/api/v1/namespaces/n", JSON, NULL), 404);
    support_done(&support);
}

static void objects_go_with_their_owner(void **state)
{
    struct support support;
    struct cluster *cluster = &support.cluster;
    cleanup_json json_t *owner = NULL;
    cleanup_free char *owned = NULL;
    int code = 0;

    (void)state;
    support_init(&support, true);
    assert_int_equal(send_code(cluster, "POST", "/api/v1/namespaces", JSON, SPACE), 201);
    owner = send_as(cluster, "POST", MAPS, JSON, MAP("owner", ""), &code);
    owned = xasprintf("{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'owned', "
                      "'ownerReferences': [{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': "
                      "'owner', 'uid': '%s'}]}}",
                      doc_text_or(owner, "metadata.uid", ""));
    assert_int_equal(send_code(cluster, "POST", MAPS, JSON, owned), 201);
    assert_int_equal(send_code(cluster, "DELETE", MAPS "/owner", JSON, NULL), 200);
    assert_int_equal(send_code(cluster, "GET", MAPS "/owned", JSON, NULL), 404);
    support_done(&support);
}

static void workloads_are_ready_at_once(void **state)
{
    static const char deployment[] =
        "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'd'}, 'spec': {}}";
    struct support support;
    struct cluster *cluster = &support.cluster;
    cleanup_json json_t *object = NULL;
    int code = 0;

    (void)state;
    support_init(&support, true);
    assert_int_equal(send_code(cluster, "POST", "/api/v1/namespaces", JSON, SPACE), 201);
    assert_int_equal(
        send_code(cluster, "POST", "/apis/apps/v1/namespaces/n/deployments", JSON, deployment),
        201);
    object = send_as(cluster, "GET", "/apis/apps/v1/namespaces/n/deployments/d", JSON, NULL, &code);
    assert_int_equal(doc_integer_or(object, "status.observedGeneration", 0), 1);
    assert_int_equal(doc_integer_or(object, "status.readyReplicas", 0), 1);
    support_done(&support);
}

static void a_definition_ends_with_its_objects(void **state)
{
    static const char definition[] =
        "{'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': "
        "{'name': 'boats.g.test'}, 'spec': {'group': 'g.test', 'scope': 'Namespaced', 'names': "
        "{'plural': 'boats', 'kind': 'Boat'}, 'versions': [{'name': 'v1', 'served': true, "
        "'storage': true}]}}";
    static const char path[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    static const char one[] = "/apis/g.test/v1/namespaces/n/boats/b";
    struct support support;
    struct cluster *cluster = &support.cluster;
    cleanup_free char *target = xasprintf("%s/boats.g.test", path);

    (void)state;
    support_init(&support, false);
    assert_int_equal(send_code(cluster, "POST", "/api/v1/namespaces", JSON, SPACE), 201);
    assert_int_equal(send_code(cluster, "POST", path, JSON, definition), 201);
    assert_int_equal(send_code(cluster, "POST", "/apis/g.test/v1/namespaces/n/boats", JSON,
                               "{'apiVersion': 'g.test/v1', 'kind': 'Boat', 'metadata': {'name': "
                               "'b', 'finalizers': ['a/b']}}"),
                     201);
    assert_int_equal(send_code(cluster, "DELETE", target, JSON, NULL), 200);
    assert_int_equal(send_code(cluster, "GET", target, JSON, NULL), 200);
    assert_int_equal(send_code(cluster, "PATCH", one, MERGE, "{'metadata': {'finalizers': null}}"),
                     200);
    assert_int_equal(send_code(cluster, "GET", target, JSON, NULL), 404);
    assert_int_equal(send_code(cluster, "GET", one, JSON, NULL), 404);
    support_done(&support);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_namespace_ends_when_its_objects_are_gone),
        cmocka_unit_test(objects_go_with_their_owner),
        cmocka_unit_test(workloads_are_ready_at_once),
        cmocka_unit_test(a_definition_ends_with_its_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
