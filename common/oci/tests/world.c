/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"

static void on_request(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    struct world *world = data;

    assert_true(world->count < REQUESTS_MAX);
    world->requests[world->count++] = *request;
    world->answer(world, request, answer);
}

static void on_retry(void *data, const struct error *err, uint32_t delay_ms)
{
    struct world *world = data;

    assert_int_equal(err->kind, ERROR_TEMPORARY);
    assert_true(delay_ms > 0);
    world->retries++;
}

void world_begin(struct world *world, fake_fn *answer, const struct registry_options *options)
{
    struct registry_options with = options ? *options : (struct registry_options){0};
    struct error err = {0};
    char hex[DIGEST_HEX_MAX];

    world->answer = answer;
    clock_fake_init(&world->clock, 0);
    assert_int_equal(loop_new(&world->clock.clock, &world->loop, &err), 0);
    assert_int_equal(http_client_new(world->loop, "test", &world->http, &err), 0);
    world->server = fake_registry_new(world->loop, on_request, world);
    (void)snprintf(world->host, sizeof(world->host), "127.0.0.1:%d",
                   fake_registry_port(world->server));
    world->keyring = keyring_new();
    with.keyring = world->keyring;
    if (!with.deadline_ms)
        with.deadline_ms = 10000;
    with.on_retry = on_retry;
    with.on_retry_data = world;
    assert_int_equal(registry_new(world->loop, world->http, &with, &world->registry, &err), 0);
    buffer_init(&world->bytes, 1 << 20);
    for (size_t i = 0; i < sizeof(world->blob); i++)
        world->blob[i] = (char)(i * 7 % 251);
    digest_sha256_hex(world->blob, sizeof(world->blob), hex);
    (void)snprintf(world->blob_digest, sizeof(world->blob_digest), "sha256:%s", hex);
}

void world_end(struct world *world)
{
    registry_free(world->registry);
    http_client_free(world->http);
    fake_registry_free(world->server);
    loop_free(world->loop);
    keyring_free(world->keyring);
    buffer_done(&world->bytes);
    free(world);
}

struct world *world_new(fake_fn *answer)
{
    struct world *world = xcalloc(1, sizeof(*world));

    world_begin(world, answer, NULL);
    return world;
}

void world_add_user(struct world *world)
{
    const struct credential credential = {.username = "user", .password = "SECRET"};
    struct error err = {0};

    assert_int_equal(keyring_add(world->keyring, world->host, &credential, &err), 0);
}

void world_run_until(struct world *world, unsigned done)
{
    struct error err = {0};

    for (int i = 0; i < TURNS_MAX && world->done < done; i++) {
        assert_int_equal(loop_run_once(world->loop, 1, &err), 0);
        clock_fake_advance(&world->clock, STEP_MS);
    }
    assert_int_equal(world->done, done);
}

void world_on_manifest(void *data, const struct buffer *bytes, const char *media_type,
                       const char *digest, const struct error *err)
{
    struct world *world = data;

    world->done++;
    world->err = *err;
    (void)snprintf(world->digest, sizeof(world->digest), "%s", digest);
    (void)snprintf(world->media_type, sizeof(world->media_type), "%s", media_type);
    buffer_clear(&world->bytes);
    if (bytes->size > 0)
        assert_int_equal(buffer_append(&world->bytes, bytes->data, bytes->size, &(struct error){0}),
                         0);
}

void world_start_manifest(struct world *world, const char *repository, const char *object)
{
    const struct registry_place place = {
        .host = world->host, .repository = repository, .is_plain_http = true};
    struct error err = {0};

    assert_int_equal(registry_get_manifest(world->registry, &place, object, world_on_manifest,
                                           world, NULL, &err),
                     0);
}

void world_get_manifest(struct world *world, const char *object)
{
    world_start_manifest(world, "some/repo", object);
    world_run_until(world, world->done + 1);
}

static int on_bytes(void *data, const char *bytes, size_t size, struct error *err)
{
    struct world *world = data;

    return buffer_append(&world->bytes, bytes, size, err);
}

static void on_restart(void *data)
{
    struct world *world = data;

    world->restarts++;
    buffer_clear(&world->bytes);
}

static void on_blob(void *data, const struct error *err)
{
    struct world *world = data;

    world->done++;
    world->err = *err;
}

void world_get_blob(struct world *world, int64_t size, uint64_t max)
{
    const struct registry_place place = {
        .host = world->host, .repository = "some/repo", .is_plain_http = true};
    const struct registry_blob blob = {.digest = world->blob_digest,
                                       .size = size,
                                       .max_bytes = max,
                                       .on_bytes = on_bytes,
                                       .on_restart = on_restart,
                                       .on_done = on_blob,
                                       .data = world};
    struct error err = {0};

    buffer_clear(&world->bytes);
    assert_int_equal(registry_get_blob(world->registry, &place, &blob, NULL, &err), 0);
    world_run_until(world, world->done + 1);
}

void world_answer_manifest(void *data, const struct fake_request *request,
                           struct fake_answer *answer)
{
    (void)data;
    (void)request;
    answer->headers = "Content-Type: some/type\r\n";
    answer->body = "{}";
    answer->size = 2;
}

void world_answer_status(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    const struct world *world = data;

    (void)request;
    answer->status = world->status;
    answer->body = "{\"errors\":[{\"code\":\"DENIED\",\"message\":\"SECRET\"}]}";
    answer->size = strlen(answer->body);
}

size_t world_count_paths(const struct world *world, const char *prefix)
{
    size_t count = 0;

    for (size_t i = 0; i < world->count; i++)
        count += strncmp(world->requests[i].path, prefix, strlen(prefix)) == 0 ? 1 : 0;
    return count;
}
