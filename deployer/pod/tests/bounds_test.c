/* SPDX-License-Identifier: Apache-2.0 */
/* Resource limits of a pod, and the lifetime of its token. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/tests/sample.h"

static json_t *make_pod(const char *config)
{
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_pod_objects struct pod_objects objects = {0};
    struct error err = {0};

    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, config, "{image: a}");
    if (pod_objects_make(&sample.request, &objects, &err) < 0)
        fail_msg("%s", err.text);
    return json_incref(objects.pod);
}

static const json_t *container(const json_t *pod, const char *name)
{
    static const char *const lists[] = {"spec.initContainers", "spec.containers"};

    for (size_t i = 0; i < array_length(lists); i++) {
        const json_t *list = doc_get(pod, lists[i]);

        for (size_t j = 0; j < json_array_size(list); j++) {
            if (strcmp(doc_text_or(json_array_get(list, j), "name", ""), name) == 0)
                return json_array_get(list, j);
        }
    }
    return NULL;
}

/* Every emptyDir has this limit, and there is at least one. */
static void check_scratch_limit(const char *config, const char *limit)
{
    cleanup_json json_t *pod = make_pod(config);
    const json_t *volumes = doc_get(pod, "spec.volumes");
    const json_t *volume = NULL;
    size_t count = 0;
    size_t i = 0;

    json_array_foreach(volumes, i, volume)
    {
        if (!doc_member(volume, "emptyDir"))
            continue;
        assert_string_equal(doc_text_or(volume, "emptyDir.sizeLimit", ""), limit);
        count++;
    }
    assert_true(count > 0);
}

static void the_storage_of_a_run_is_limited(void **state)
{
    (void)state;
    check_scratch_limit(NULL, "10Gi");
    check_scratch_limit("pod: {sharedVolumeSizeLimit: 1Gi}", "1Gi");
}

static void init_and_wait_have_requests_and_limits(void **state)
{
    static const struct {
        const char *container, *path, *value;
    } wanted[] = {
        {"init", "resources.requests.cpu", "10m"}, {"init", "resources.requests.memory", "32Mi"},
        {"init", "resources.limits.cpu", "1"},     {"init", "resources.limits.memory", "256Mi"},
        {"wait", "resources.requests.cpu", "10m"}, {"wait", "resources.requests.memory", "16Mi"},
        {"wait", "resources.limits.cpu", "1"},     {"wait", "resources.limits.memory", "128Mi"},
        {"main", "resources.requests.cpu", "50m"}, {"main", "resources.requests.memory", "64Mi"},
    };
    cleanup_json json_t *pod = make_pod(NULL);

    (void)state;
    for (size_t i = 0; i < array_length(wanted); i++)
        assert_string_equal(doc_text_or(container(pod, wanted[i].container), wanted[i].path, ""),
                            wanted[i].value);
}

static void the_only_token_is_bound_to_the_pod_and_short_lived(void **state)
{
    cleanup_json json_t *pod = make_pod(NULL);
    const json_t *volumes = doc_get(pod, "spec.volumes");
    const json_t *volume = NULL;
    size_t tokens = 0;
    size_t i = 0;

    (void)state;
    assert_true(json_is_false(doc_get(pod, "spec.automountServiceAccountToken")));
    json_array_foreach(volumes, i, volume)
    {
        const json_t *sources = doc_get(volume, "projected.sources");
        const json_t *source = NULL;
        size_t j = 0;

        json_array_foreach(sources, j, source)
        {
            const json_t *token = doc_member(source, "serviceAccountToken");
            int64_t seconds = doc_integer_or(token, "expirationSeconds", 0);

            if (!token)
                continue;
            /* Ten minutes is the minimum that an API server accepts. The default audience is that
             * of the API server, which wait needs. */
            assert_true(seconds >= 600 && seconds <= 3600);
            assert_null(doc_member(token, "audience"));
            tokens++;
        }
    }
    assert_int_equal(tokens, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_storage_of_a_run_is_limited),
        cmocka_unit_test(init_and_wait_have_requests_and_limits),
        cmocka_unit_test(the_only_token_is_bound_to_the_pod_and_short_lived),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
