/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"
#include "common/oci/tests/world.h"
#include "deployer/lifecycle/module_store.h"

#define COMPONENT "example.com/module/harbour"
#define CONFIG_TYPE "application/vnd.ocm.software.component.config.v1+json"
#define LAYER_TYPE "application/vnd.ocm.software.component-descriptor.v2+json"

static const char objects_text[] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

/* A registry with one component version, whose content is objects. */
struct bench {
    struct world *world;
    struct repository *repository;
    struct module_store *store;
    const char *objects;
    char objects_digest[DIGEST_TEXT_MAX], layer_digest[DIGEST_TEXT_MAX],
        config_digest[DIGEST_TEXT_MAX];
    char *layer, *config, *manifest;
    int status; /* of all answers; 0: the content */
    unsigned changes;
};

static struct bench *bench;

static void digest_of(const char *text, char ret_digest[DIGEST_TEXT_MAX])
{
    char hex[DIGEST_HEX_MAX];

    digest_sha256_hex(text, strlen(text), hex);
    (void)snprintf(ret_digest, DIGEST_TEXT_MAX, "sha256:%s", hex);
}

static void answer(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    const struct {
        const char *digest, *text;
    } blobs[] = {{bench->objects_digest, bench->objects},
                 {bench->layer_digest, bench->layer},
                 {bench->config_digest, bench->config}};

    (void)data;
    if (bench->status) {
        answer->status = bench->status;
        return;
    }
    answer->status = 404;
    if (strstr(request->path, "/manifests/1.0.0")) {
        answer->status = 200;
        answer->headers = "Content-Type: " MEDIA_TYPE_OCI_MANIFEST "\r\n";
        answer->body = bench->manifest;
        answer->size = strlen(bench->manifest);
    }
    for (size_t i = 0; i < array_length(blobs); i++)
        if (strstr(request->path, blobs[i].digest)) {
            answer->status = 200;
            answer->body = blobs[i].text;
            answer->size = strlen(blobs[i].text);
        }
}

static void on_change(void *data, const char *component)
{
    (void)data;
    assert_string_equal(component, COMPONENT);
    bench->changes++;
    bench->world->done++;
}

static void begin(const char *objects)
{
    cleanup_json json_t *spec = NULL;
    cleanup_free char *url = NULL;
    struct error err = {0};

    bench = xcalloc(1, sizeof(*bench));
    bench->objects = objects;
    bench->world = world_new(answer);
    digest_of(objects, bench->objects_digest);
    bench->layer = xasprintf(
        "{\"meta\":{\"schemaVersion\":\"v2\"},\"component\":{\"name\":\"" COMPONENT "\","
        "\"version\":\"1.0.0\",\"provider\":\"p\",\"repositoryContexts\":[{\"type\":"
        "\"OCIRegistry\","
        "\"baseUrl\":\"elsewhere.example.com\"}],\"sources\":[],\"componentReferences\":[],"
        "\"resources\":[{\"name\":\"raw-manifest\",\"version\":\"1.0.0\",\"type\":"
        "\"directoryTree\","
        "\"relation\":\"local\",\"access\":{\"type\":\"localBlob\",\"localReference\":\"%s\","
        "\"mediaType\":\"text/yaml\"}}]}}",
        bench->objects_digest);
    digest_of(bench->layer, bench->layer_digest);
    bench->config = xasprintf("{\"componentDescriptorLayer\":{\"mediaType\":\"" LAYER_TYPE
                              "\",\"digest\":\"%s\",\"size\":%zu}}",
                              bench->layer_digest, strlen(bench->layer));
    digest_of(bench->config, bench->config_digest);
    bench->manifest = xasprintf(
        "{\"schemaVersion\":2,\"mediaType\":\"" MEDIA_TYPE_OCI_MANIFEST
        "\",\"config\":{\"mediaType\":\"" CONFIG_TYPE "\",\"digest\":\"%s\",\"size\":%zu},"
        "\"layers\":[{\"mediaType\":\"" LAYER_TYPE "\",\"digest\":\"%s\",\"size\":%zu}]}",
        bench->config_digest, strlen(bench->config), bench->layer_digest, strlen(bench->layer));
    url = xasprintf("http://%s", bench->world->host);
    spec = json_pack("{s:s, s:s}", "type", "OCIRegistry", "baseUrl", url);
    if (repository_parse(spec, &bench->repository, &err) < 0)
        fail_msg("%s", err.text);
    bench->store = module_store_new(&(struct module_store_options){
        .loop = bench->world->loop,
        .registry = bench->world->registry,
        .repository = bench->repository,
        .on_change = on_change,
    });
}

static void end(void)
{
    module_store_free(bench->store);
    repository_free(bench->repository);
    world_end(bench->world);
    free(bench->layer);
    free(bench->config);
    free(bench->manifest);
    free(bench);
}

static void wait_for_changes(unsigned count)
{
    world_run_until(bench->world, count);
    assert_int_equal(bench->changes, count);
}

/* However many clusters ask, the registry is asked once. */
static void content_is_fetched_once(void **state)
{
    const struct module_source *source = NULL;
    const json_t *objects = NULL;
    struct error err = {0};

    (void)state;
    begin(objects_text);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(module_store_source(bench->store, COMPONENT, "1.0.0", &source, &err),
                         MODULE_ANSWER_WAIT);
    wait_for_changes(1);
    assert_int_equal(module_store_source(bench->store, COMPONENT, "1.0.0", &source, &err),
                     MODULE_ANSWER_KNOWN);
    assert_string_equal(source->digest, bench->objects_digest);
    assert_int_equal(bench->world->count, 3);

    for (int i = 0; i < 1000; i++)
        assert_int_equal(
            module_store_objects(bench->store, COMPONENT, source->digest, false, &objects, &err),
            MODULE_ANSWER_WAIT);
    wait_for_changes(2);
    assert_int_equal(
        module_store_objects(bench->store, COMPONENT, source->digest, false, &objects, &err),
        MODULE_ANSWER_KNOWN);
    assert_int_equal(json_array_size(objects), 1);
    assert_int_equal(bench->world->count, 4);
    end();
}

/* A registry that refuses is asked again after a while, not all the time, and then forgiven. */
static void failures_are_retried(void **state)
{
    const struct module_source *source = NULL;
    struct error err = {0};

    (void)state;
    begin(objects_text);
    bench->status = 403;
    assert_int_equal(module_store_source(bench->store, COMPONENT, "1.0.0", &source, &err),
                     MODULE_ANSWER_WAIT);
    wait_for_changes(1);
    assert_int_equal(module_store_source(bench->store, COMPONENT, "1.0.0", &source, &err),
                     MODULE_ANSWER_FAILED);
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, COMPONENT));
    bench->status = 0;
    wait_for_changes(2);
    assert_int_equal(module_store_source(bench->store, COMPONENT, "1.0.0", &source, &err),
                     MODULE_ANSWER_KNOWN);
    assert_true(loop_now_ms(bench->world->loop) >= 15000);
    end();
}

/* Such as a version that was named by mistake, and corrected. */
static void what_nobody_asks_for_is_not_tried_again(void **state)
{
    const struct module_source *source = NULL;
    struct error err = {0};
    size_t count;

    (void)state;
    begin(objects_text);
    bench->status = 403;
    assert_int_equal(module_store_source(bench->store, COMPONENT, "1.0.0", &source, &err),
                     MODULE_ANSWER_WAIT);
    wait_for_changes(1);
    count = bench->world->count;
    for (int i = 0; i < 100; i++) {
        clock_fake_advance(&bench->world->clock, 60 * 1000);
        assert_int_equal(loop_run_once(bench->world->loop, 0, &err), 0);
    }
    assert_int_equal(bench->world->count, count);
    assert_int_equal(bench->changes, 1);

    bench->status = 0;
    assert_int_equal(module_store_source(bench->store, COMPONENT, "1.0.0", &source, &err),
                     MODULE_ANSWER_FAILED);
    wait_for_changes(2);
    assert_int_equal(module_store_source(bench->store, COMPONENT, "1.0.0", &source, &err),
                     MODULE_ANSWER_KNOWN);
    end();
}

static void wrong_content_is_final(void **state)
{
    const json_t *objects = NULL;
    struct error err = {0};
    size_t count;

    (void)state;
    begin("- not an object\n");
    assert_int_equal(
        module_store_objects(bench->store, COMPONENT, bench->objects_digest, false, &objects, &err),
        MODULE_ANSWER_WAIT);
    wait_for_changes(1);
    assert_int_equal(
        module_store_objects(bench->store, COMPONENT, bench->objects_digest, false, &objects, &err),
        MODULE_ANSWER_FAILED);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "document 1: expected an object"));
    count = bench->world->count;
    for (int i = 0; i < 100; i++) {
        clock_fake_advance(&bench->world->clock, 60 * 1000);
        assert_int_equal(loop_run_once(bench->world->loop, 0, &err), 0);
    }
    assert_int_equal(bench->world->count, count);
    end();
}

static void a_store_can_be_freed_at_any_time(void **state)
{
    const struct module_source *source = NULL;
    const json_t *objects = NULL;
    struct error err = {0};

    (void)state;
    for (int turns = 0; turns < 6; turns++) {
        begin(objects_text);
        assert_int_equal(module_store_source(bench->store, COMPONENT, "1.0.0", &source, &err),
                         MODULE_ANSWER_WAIT);
        assert_int_equal(module_store_objects(bench->store, COMPONENT, bench->objects_digest, true,
                                              &objects, &err),
                         MODULE_ANSWER_WAIT);
        for (int i = 0; i < turns; i++)
            assert_int_equal(loop_run_once(bench->world->loop, 1, &err), 0);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_fetched_once),
        cmocka_unit_test(failures_are_retried),
        cmocka_unit_test(what_nobody_asks_for_is_not_tried_again),
        cmocka_unit_test(wrong_content_is_final),
        cmocka_unit_test(a_store_can_be_freed_at_any_time),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
