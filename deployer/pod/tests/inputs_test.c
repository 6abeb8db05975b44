/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/base/buffer.h"
#include "common/data/base64.h"
#include "deployer/pod/access.h"
#include "deployer/pod/inputs.h"
#include "deployer/tests/sample.h"

static json_t *make(const struct pod_request *request)
{
    struct error err = {0};
    json_t *secret = NULL;

    if (inputs_secret(request, &secret, &err) < 0)
        fail_msg("%s", err.text);
    return secret;
}

/* The decoded value of a key, or NULL. */
static char *value_of(const json_t *secret, const char *key)
{
    const char *text = json_string_value(doc_member(doc_member(secret, "data"), key));
    struct buffer bytes = {0};
    struct error err = {0};

    if (!text)
        return NULL;
    buffer_init(&bytes, 1 << 22);
    assert_int_equal(base64_decode(text, strlen(text), &bytes, &err), 0);
    return buffer_take(&bytes);
}

static json_t *docker_configs(const char *yaml)
{
    json_t *list = json_array();
    cleanup_json json_t *config = sample_doc(yaml);

    inputs_add_docker_config(list, "file /x", config);
    return list;
}

static const char credentials[] = "{auths: {registry.example.com: {username: u, password: p}}}";

static void one_secret_holds_all_inputs_of_the_job(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_json json_t *configs = docker_configs(credentials);
    cleanup_json json_t *map = sample_doc("{metadata: {name: m}, data: {.ocmconfig: text}}");
    cleanup_json json_t *secret = NULL;
    cleanup_free char *configuration = NULL;
    cleanup_free char *target = NULL;
    cleanup_free char *ocm = NULL;
    cleanup_free char *docker = NULL;

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL,
                    "{image: a, componentDescriptor: {ref: {componentName: c, version: v}}}");
    sample.request.docker_configs = configs;
    sample.request.ocm_config_map = map;
    secret = make(&sample.request);
    configuration = value_of(secret, "configuration.json");
    target = value_of(secret, "target.json");
    ocm = value_of(secret, ".ocmconfig");
    docker = value_of(secret, "dockerconfig-000");
    assert_non_null(strstr(configuration, "\"image\":\"a\""));
    assert_string_equal(target, "null");
    assert_string_equal(ocm, "text");
    assert_non_null(strstr(docker, "registry.example.com"));
    assert_string_equal(doc_text(secret, "metadata.name"), sample.names.input);
    assert_true(doc_bool_or(secret, "immutable", false));
    assert_string_equal(
        json_string_value(doc_member(doc_get(secret, "metadata.labels"), LABEL_ROLE)), "run");
    assert_string_equal(
        json_string_value(doc_member(doc_get(secret, "metadata.annotations"), ANNOTATION_JOB)),
        SAMPLE_JOB);
}

static void init_gets_no_credentials_if_it_pulls_nothing(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_json json_t *configs = docker_configs(credentials);
    cleanup_json json_t *secret = NULL;

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    sample.request.docker_configs = configs;
    secret = make(&sample.request);
    assert_int_equal(json_object_size(json_object_get(secret, "data")), 2);
}

static const struct {
    const char *main_image, *config, *docker, *auths; /* keys of auths, or NULL for no Secret */
} pulls[] = {
    {"registry.example.com/a/b:1", "{}", credentials, "registry.example.com "},
    {"other.example.com/a", "{}", credentials, NULL},
    {"alpine", "{}", "{auths: {'https://index.docker.io/v1/': {username: u, password: p}}}",
     "https://index.docker.io/v1/ "},
    {"alpine", "{initContainer: {image: 'registry.example.com/init:1'}}", credentials,
     "registry.example.com "},
    {"alpine", "{waitContainer: {image: 'registry.example.com/wait:1'}}", credentials,
     "registry.example.com "},
    /* two credentials for one host: main's by host, init's by repository */
    {"r.io/main/x", "{initContainer: {image: 'r.io/tools/init:1'}}",
     "{auths: {r.io/main: {username: a, password: b}, r.io/tools: {username: c, password: d}}}",
     "r.io r.io/tools/init "},
    {"r.io/main/x", "{initContainer: {image: 'r.io/main/init:1'}}",
     "{auths: {r.io: {username: a, password: b}}}", "r.io "},
    {"r.io/main/x", "{}", "{auths: {r.io: {}}}", NULL},
    /* the kubelet gets the plain host, even if the entry is more specific */
    {"eu.r.io/main/x", "{}", "{auths: {'*.r.io': {username: a, password: b}}}", "eu.r.io "},
    {"a.eu.r.io/main/x", "{}", "{auths: {'*.r.io': {username: a, password: b}}}", NULL},
    {"r.io/main/x", "{}", "{auths: {'https://r.io/v2/main': {username: a, password: b}}}", "r.io "},
};

static void the_kubelet_gets_the_credentials_of_the_three_images(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(pulls); i++) {
        cleanup_sample_run struct sample_run sample = {0};
        cleanup_json json_t *configs = docker_configs(pulls[i].docker);
        cleanup_json json_t *secret = NULL;
        cleanup_json json_t *config = NULL;
        cleanup_free char *provider = xasprintf("{image: '%s'}", pulls[i].main_image);
        cleanup_free char *text = NULL;
        cleanup_free char *keys = xstrdup("");
        struct error err = {0};
        const char *key = NULL;
        json_t *entry = NULL;

        sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, pulls[i].config, provider);
        sample.request.docker_configs = configs;
        assert_int_equal(inputs_pull_secret(&sample.request, &secret, &err), 0);
        if (!pulls[i].auths) {
            assert_null(secret);
            continue;
        }
        assert_string_equal(doc_text(secret, "type"), "kubernetes.io/dockerconfigjson");
        assert_string_equal(doc_text(secret, "metadata.name"), sample.names.pull);
        text = value_of(secret, ".dockerconfigjson");
        config = sample_doc(text);
        json_object_foreach(json_object_get(config, "auths"), key, entry)
        {
            char *longer = xasprintf("%s%s ", keys, key);

            assert_non_null(doc_text(entry, "auth"));
            free(keys);
            keys = longer;
        }
        assert_string_equal(keys, pulls[i].auths);
    }
}

static const struct {
    const char *secret, *error;
} docker_secrets[] = {
    /* {"auths":{}} */
    {"{metadata: {name: s, namespace: ns}, data: {.dockerconfigjson: eyJhdXRocyI6e319}}", NULL},
    {"{metadata: {name: s, namespace: ns}, data: {.dockercfg: e30=}}", NULL},
    {"{metadata: {name: s, namespace: ns}, data: {other: e30=}}",
     "secret ns/s: has none of \".dockerconfigjson\", \".dockercfg\", \".ocmcredentialconfig\""},
    {"{metadata: {name: s, namespace: ns}}",
     "secret ns/s: has none of \".dockerconfigjson\", \".dockercfg\", \".ocmcredentialconfig\""},
    {"{metadata: {name: s, namespace: ns}, data: {.dockerconfigjson: '!'}}",
     "secret ns/s: \".dockerconfigjson\" is not valid base64"},
    /* {"auths": canary */
    {"{metadata: {name: s, namespace: ns}, data: {.dockerconfigjson: eyJhdXRocyI6IGNhbmFyeQ==}}",
     "secret ns/s: \".dockerconfigjson\": not a Docker configuration"},
    /* [1] */
    {"{metadata: {name: s, namespace: ns}, data: {.dockercfg: WzFd}}",
     "secret ns/s: \".dockercfg\": not a Docker configuration"},
    /* {"auths":{"r.io":{"auth":"OnRva2Vu"}}}, which is ":token" */
    {"{metadata: {name: s, namespace: ns}, data: {.dockerconfigjson: "
     "eyJhdXRocyI6eyJyLmlvIjp7ImF1dGgiOiJPblJ2YTJWdSJ9fX0=}}",
     "secret ns/s: \".dockerconfigjson\": 1 of its entries can't be used: address without a host, "
     "or 'auth' is not base64 of user:password"},
    /* {"credHelpers":{"r.io":"x"}} */
    {"{metadata: {name: s, namespace: ns}, data: {.dockerconfigjson: "
     "eyJjcmVkSGVscGVycyI6eyJyLmlvIjoieCJ9fQ==}}",
     "secret ns/s: \".dockerconfigjson\": contains only credential helpers "
     "(credHelpers, credsStore), which are not supported: add the credentials themselves"},
    /* {"credsStore":"x","auths":{"r.io":{"username":"u"}}} */
    {"{metadata: {name: s, namespace: ns}, data: {.dockerconfigjson: "
     "eyJjcmVkc1N0b3JlIjoieCIsImF1dGhzIjp7InIuaW8iOnsidXNlcm5hbWUiOiJ1In19fQ==}}",
     NULL},
    /* type: credentials.config.ocm.software */
    {"{metadata: {name: s, namespace: ns}, data: {.ocmcredentialconfig: "
     "dHlwZTogY3JlZGVudGlhbHMuY29uZmlnLm9jbS5zb2Z0d2FyZQ==}}",
     NULL},
    {"{metadata: {name: s, namespace: ns}, data: {.ocmcredentialconfig: WzFd}}",
     "secret ns/s: \".ocmcredentialconfig\": not a YAML object"},
};

static const char with_component[] = "{image: r.example/main:1, componentDescriptor: {inline: {}}}";

static void a_secret_without_a_docker_config_is_named_in_the_error(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, with_component);
    for (size_t i = 0; i < array_length(docker_secrets); i++) {
        cleanup_json json_t *secret = sample_doc(docker_secrets[i].secret);
        cleanup_json json_t *list = json_array();
        struct error err = {0};
        int result = inputs_add_docker_secret(list, secret, sample.run, sample.config, &err);

        assert_int_equal(result, docker_secrets[i].error ? -1 : 0);
        assert_int_equal(json_array_size(list), docker_secrets[i].error ? 0 : 1);
        if (docker_secrets[i].error)
            assert_string_equal(err.text, docker_secrets[i].error);
    }
}

/* A pull Secret with a password of that many bytes for each host (NULL at the end). */
static json_t *pull_secret(const char *const *hosts, size_t size)
{
    cleanup_free char *password = xmalloc(size + 1);
    cleanup_json json_t *auths = json_object();
    cleanup_json json_t *config = NULL;
    cleanup_free char *text = NULL;
    cleanup_free char *encoded = NULL;

    memset(password, 'x', size);
    password[size] = '\0';
    for (; *hosts; hosts++)
        (void)json_object_set_new(auths, *hosts,
                                  json_pack("{s:s,s:s}", "username", "u", "password", password));
    config = json_pack("{s:O}", "auths", auths);
    text = doc_dump(config);
    encoded = base64_encode(text, strlen(text));
    return json_pack("{s:{s:s,s:s},s:{s:s}}", "metadata", "namespace", "ns", "name", "big", "data",
                     FILE_DOCKER_CONFIG_JSON, encoded);
}

static void credentials_above_the_size_limit_of_a_secret_are_refused(void **state)
{
    static const char *const hosts[] = {"a.example", "r.example", NULL};
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_json json_t *secret = pull_secret(hosts, SECRET_MAX_BYTES / 4);
    cleanup_json json_t *list = json_array();
    struct error err = {0};

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, with_component);
    assert_int_equal(inputs_add_docker_secret(list, secret, sample.run, sample.config, &err), 0);
    assert_int_equal(inputs_add_docker_secret(list, secret, sample.run, sample.config, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_string_equal(
        err.text, "secret ns/big: \".dockerconfigjson\": the registry credentials of "
                  "the run exceed 1048576 bytes in total: remove those that it does not need");
    assert_int_equal(json_array_size(list), 1);
}

static void without_a_component_only_the_credentials_of_the_images_are_kept(void **state)
{
    static const char *const hosts[] = {"a.example", "r.example", "r.example/other", NULL};
    static const char *const others[] = {"a.example", NULL};
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_json json_t *secret = pull_secret(hosts, SECRET_MAX_BYTES / 5);
    cleanup_json json_t *no_use = pull_secret(others, SECRET_MAX_BYTES / 5);
    cleanup_json json_t *list = json_array();
    const json_t *auths = NULL;
    struct error err = {0};

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: r.example/main:1}");
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(inputs_add_docker_secret(list, no_use, sample.run, sample.config, &err),
                         0);
    assert_int_equal(json_array_size(list), 0);
    assert_int_equal(inputs_add_docker_secret(list, secret, sample.run, sample.config, &err), 0);
    auths = doc_get(json_array_get(list, 0), "config.auths");
    assert_int_equal(json_object_size(auths), 1);
    assert_non_null(json_object_get(auths, "r.example"));
}

static void inputs_above_the_size_limit_of_a_secret_are_refused(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_free char *target = xmalloc(SECRET_MAX_BYTES + 1);
    struct error err = {0};
    json_t *secret = NULL;

    (void)state;
    memset(target, 'x', SECRET_MAX_BYTES + 1);
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    sample.request.target_file = target;
    sample.request.target_file_size = SECRET_MAX_BYTES + 1;
    assert_int_equal(inputs_secret(&sample.request, &secret, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    sample.request.target_file_size = SECRET_MAX_BYTES - strlen("{\"image\":\"a\"}");
    assert_int_equal(inputs_secret(&sample.request, &secret, &err), 0);
    json_decref(secret);
    sample.request.target_file_size++;
    assert_int_equal(inputs_secret(&sample.request, &secret, &err), -1);
}

static void an_ocm_config_map_without_its_key_is_an_error(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_json json_t *map = sample_doc("{metadata: {name: m}, data: {other: text}}");
    struct error err = {0};
    json_t *secret = NULL;

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    sample.request.ocm_config_map = map;
    assert_int_equal(inputs_secret(&sample.request, &secret, &err), -1);
    assert_string_equal(err.text, "config map \"m\" of the context has no key \".ocmconfig\"");
}

/* count chunks of one generation of ours. */
static void add_generation(struct state_set *set, const char *uuid, int sequence, int count,
                           int missing)
{
    for (int i = 0; i < count; i++) {
        cleanup_free char *yaml =
            xasprintf("{metadata: {name: %s-%d, creationTimestamp: '2026-01-07T09:00:00Z', "
                      "annotations: {" ANNOTATION_STATE_UUID ": %s, " ANNOTATION_STATE_NUMBER
                      ": '%d', " ANNOTATION_STATE_CHUNKS ": '%d', " ANNOTATION_STATE_SEQUENCE
                      ": '%d', " ANNOTATION_STATE_SHA256 ": '%064d'}}}",
                      uuid, i, uuid, i, count, sequence, sequence);
        cleanup_json json_t *secret = sample_doc(yaml);

        if (i != missing)
            state_set_add_secret(set, secret);
    }
}

static void init_gets_the_newest_generations_with_their_metadata(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    struct state_set set = {0};
    cleanup_json json_t *secret = NULL;
    cleanup_free const struct state_chunk *const *chunks = NULL;
    cleanup_free char *metadata = NULL;
    cleanup_json json_t *doc = NULL;
    struct error err = {0};
    size_t count = 0;

    (void)state;
    add_generation(&set, "aaaa", 1, 1, -1);
    add_generation(&set, "bbbb", 2, 2, -1);
    add_generation(&set, "cccc", 3, 3, -1);
    add_generation(&set, "dddd", 4, 2, 0); /* torn */
    state_set_arrange(&set);
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    sample.request.state = &set;
    assert_int_equal(inputs_state_chunks(&sample.request, &chunks, &count, &err), 0);
    assert_int_equal(count, 5); /* two generations are kept, with three and two chunks */
    assert_string_equal(chunks[0]->object, "cccc-0");
    assert_string_equal(chunks[3]->object, "bbbb-0");
    secret = make(&sample.request);
    metadata = value_of(secret, "state-001.json");
    doc = sample_doc(metadata);
    assert_string_equal(
        json_string_value(doc_member(doc_get(doc, "annotations"), ANNOTATION_STATE_NUMBER)), "1");
    assert_string_equal(
        json_string_value(doc_member(doc_get(doc, "annotations"), ANNOTATION_STATE_UUID)), "cccc");
    assert_string_equal(doc_text(doc, "creationTimestamp"), "2026-01-07T09:00:00Z");
    state_set_done(&set);
}

static void a_state_with_too_many_chunks_for_a_pod_is_refused(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    struct state_set fits = {0};
    struct state_set over = {0};
    cleanup_free const struct state_chunk *const *chunks = NULL;
    cleanup_free const struct state_chunk *const *none = NULL;
    struct error err = {0};
    size_t count = 0;

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    add_generation(&fits, "aaaa", 1, 2, -1);
    add_generation(&fits, "bbbb", 2, POD_STATE_CHUNKS_MAX, -1);
    state_set_arrange(&fits);
    sample.request.state = &fits;
    assert_int_equal(inputs_state_chunks(&sample.request, &chunks, &count, &err), 0);
    assert_int_equal(count, POD_STATE_CHUNKS_MAX);
    add_generation(&over, "cccc", 3, POD_STATE_CHUNKS_MAX + 1, -1);
    state_set_arrange(&over);
    sample.request.state = &over;
    assert_int_equal(inputs_state_chunks(&sample.request, &none, &count, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    state_set_done(&fits);
    state_set_done(&over);
}

static void the_role_names_its_objects(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_sample_run struct sample_run go = {0};
    cleanup_json json_t *role = NULL;
    cleanup_json json_t *go_role = NULL;
    cleanup_json json_t *binding = NULL;
    cleanup_json json_t *rules = NULL;

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    role = access_role(&sample.request);
    rules =
        json_pack("[{s:[s],s:[s],s:[s],s:[s,s]},{s:[s],s:[s],s:[s,s],s:[s,s]},{s:[s],s:[s],s:[s]}]",
                  "apiGroups", "", "resources", "pods", "resourceNames", sample.names.pod, "verbs",
                  "get", "watch", "apiGroups", "", "resources", "secrets", "resourceNames",
                  "team-job-export", sample.names.report, "verbs", "get", "update", "apiGroups", "",
                  "resources", "secrets", "verbs", "create");
    assert_true(json_equal(json_object_get(role, "rules"), rules));
    binding = access_role_binding(&sample.request);
    assert_string_equal(doc_text(binding, "roleRef.name"), doc_text(role, "metadata.name"));
    assert_string_equal(doc_text(json_array_get(doc_get(binding, "subjects"), 0), "name"),
                        sample.names.account);

    sample_run_init(&go, DEPLOY_ITEM_TYPE_CONTAINER, "initContainer: {goImage: true}",
                    "{image: a}");
    go_role = access_role(&go.request);
    assert_int_equal(json_array_size(json_object_get(go_role, "rules")), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_secret_holds_all_inputs_of_the_job),
        cmocka_unit_test(init_gets_no_credentials_if_it_pulls_nothing),
        cmocka_unit_test(the_kubelet_gets_the_credentials_of_the_three_images),
        cmocka_unit_test(a_secret_without_a_docker_config_is_named_in_the_error),
        cmocka_unit_test(credentials_above_the_size_limit_of_a_secret_are_refused),
        cmocka_unit_test(without_a_component_only_the_credentials_of_the_images_are_kept),
        cmocka_unit_test(inputs_above_the_size_limit_of_a_secret_are_refused),
        cmocka_unit_test(an_ocm_config_map_without_its_key_is_an_error),
        cmocka_unit_test(init_gets_the_newest_generations_with_their_metadata),
        cmocka_unit_test(a_state_with_too_many_chunks_for_a_pod_is_refused),
        cmocka_unit_test(the_role_names_its_objects),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
