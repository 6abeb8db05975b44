/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching manifests: verification, retries, limits, and invalid names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "world.h"

/* ---- manifests ---- */

#define DIGEST_OF_EMPTY_OBJECT                                                                     \
    "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

static void a_manifest_comes_with_type_and_digest(void **state)
{
    struct world *world = world_new(world_answer_manifest);

    (void)state;
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_string_equal(world->requests[0].path, "/v2/some/repo/manifests/1.0");
    assert_string_equal(world->digest, DIGEST_OF_EMPTY_OBJECT);
    assert_string_equal(world->media_type, "some/type");
    assert_non_null(strstr(world->requests[0].accept, "vnd.oci.image.manifest.v1+json"));
    assert_non_null(strstr(world->requests[0].accept, "vnd.oci.image.index.v1+json"));
    assert_non_null(strstr(world->requests[0].accept, "distribution.manifest.v2+json"));
    assert_non_null(strstr(world->requests[0].accept, "manifest.list.v2+json"));
    world_get_manifest(world, DIGEST_OF_EMPTY_OBJECT);
    assert_int_equal(world->err.kind, ERROR_NONE);
    world_end(world);
}

static void a_manifest_with_another_digest_is_refused(void **state)
{
    struct world *world = world_new(world_answer_manifest);

    (void)state;
    world_get_manifest(world,
                       "sha256:0000000000000000000000000000000000000000000000000000000000000000");
    assert_int_equal(world->err.kind, ERROR_INVALID);
    assert_int_equal(world->count, 1);
    world_end(world);
}

static void answer_lie(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    world_answer_manifest(data, request, answer);
    answer->headers = "Docker-Content-Digest: "
                      "sha256:1111111111111111111111111111111111111111111111111111111111111111\r\n";
}

static void a_wrong_docker_content_digest_is_refused(void **state)
{
    struct world *world = world_new(answer_lie);

    (void)state;
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_INVALID);
    world_end(world);
}

static const struct {
    int status;
    enum error_kind kind;
} final_answers[] = {{400, ERROR_INVALID},   {401, ERROR_DENIED},  {403, ERROR_DENIED},
                     {404, ERROR_NOT_FOUND}, {416, ERROR_INVALID}, {302, ERROR_INVALID}};

static void final_responses_are_not_retried(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(final_answers); i++) {
        struct world *world = world_new(world_answer_status);

        world->status = final_answers[i].status;
        print_message("%d\n", world->status);
        world_get_manifest(world, "1.0");
        assert_int_equal(world->err.kind, final_answers[i].kind);
        assert_int_equal(world->count, 1);
        assert_null(strstr(world->err.text, "SECRET"));
        assert_non_null(strstr(world->err.text, "some/repo"));
        world_end(world);
    }
}

static void answer_page_first(void *data, const struct fake_request *request,
                              struct fake_answer *answer)
{
    struct world *world = data;

    world_answer_manifest(data, request, answer);
    if (world->count == 1)
        answer->headers = "Content-Type: text/html; charset=utf-8\r\n";
}

static void a_web_page_instead_of_a_manifest_is_retried(void **state)
{
    struct world *world = world_new(answer_page_first);

    (void)state;
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_string_equal(world->media_type, "some/type");
    assert_int_equal(world->count, 2);
    world_end(world);
}

/* ---- failures that will not resolve themselves ---- */

enum { LONG_DEADLINE_MS = 120 * 1000, FINAL_WITHIN_MS = 15 * 1000 };

static struct world *ask_for_long(fake_fn *answer, const char *host, bool is_plain_http)
{
    const struct registry_options options = {.deadline_ms = LONG_DEADLINE_MS};
    struct world *world = xcalloc(1, sizeof(*world));
    struct registry_place place = {.host = host, .repository = "a", .is_plain_http = is_plain_http};
    struct error err = {0};

    world_begin(world, answer, &options);
    if (!host)
        place.host = world->host;
    assert_int_equal(
        registry_get_manifest(world->registry, &place, "1", world_on_manifest, world, NULL, &err),
        0);
    /* The resolver's thread needs real time, so the fake clock must not run ahead of it. */
    for (int i = 0; i < TURNS_MAX && !world->done; i++) {
        assert_int_equal(loop_run_once(world->loop, 1, &err), 0);
        (void)usleep(1000);
        clock_fake_advance(&world->clock, STEP_MS);
    }
    assert_int_equal(world->done, 1);
    return world;
}

static void assert_final(const struct world *world, const char *text)
{
    if (world->err.kind != ERROR_INVALID)
        fail_msg("%s", world->err.text);
    assert_true(world->clock.monotonic_now_ms < FINAL_WITHIN_MS);
    if (!strstr(world->err.text, text))
        fail_msg("'%s' does not contain '%s'", world->err.text, text);
}

static void answer_page(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    world_answer_manifest(data, request, answer);
    answer->headers = "Content-Type: text/html; charset=utf-8\r\n";
}

static void a_third_web_page_in_a_row_is_final(void **state)
{
    struct world *world = ask_for_long(answer_page, NULL, true);

    (void)state;
    assert_final(world, "not a registry, or a login page or proxy in front of it");
    assert_int_equal(world->count, 3);
    assert_int_equal(world->retries, 2);
    world_end(world);
}

/* Two pages, 503, two pages, the manifest. */
static void answer_pages_with_a_break(void *data, const struct fake_request *request,
                                      struct fake_answer *answer)
{
    const struct world *world = data;

    world_answer_manifest(data, request, answer);
    if (world->count == 3)
        answer->status = 503;
    else if (world->count < 6)
        answer_page(data, request, answer);
}

static void web_pages_that_are_not_in_a_row_are_retried(void **state)
{
    struct world *world = ask_for_long(answer_pages_with_a_break, NULL, true);

    (void)state;
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_int_equal(world->count, 6);
    world_end(world);
}

static void plain_http_on_a_tls_connection_is_final(void **state)
{
    struct world *world = ask_for_long(world_answer_manifest, NULL, false);

    (void)state;
    assert_final(world, "the registry does not speak TLS");
    assert_int_equal(world->count, 0);
    assert_int_equal(world->retries, 2);
    world_end(world);
}

/* A label of 64 bytes is invalid, so the resolver fails without sending a query. */
#define UNKNOWN_HOST "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example"

static void an_unknown_host_is_final_after_ten_seconds(void **state)
{
    struct world *world = ask_for_long(world_answer_manifest, UNKNOWN_HOST, false);

    (void)state;
    assert_final(world, "unknown host");
    assert_non_null(strstr(world->err.text, UNKNOWN_HOST));
    assert_true(world->clock.monotonic_now_ms >= 10000);
    world_end(world);
}

/* The first three requests fail: 503, 429, connection closed. */
static void answer_third(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    struct world *world = data;

    world_answer_manifest(data, request, answer);
    if (world->count == 1)
        answer->status = 503;
    if (world->count == 2) {
        answer->status = 429;
        answer->headers = "Retry-After: 3\r\n";
    }
    if (world->count == 3)
        answer->is_dropped = true;
}

static void temporary_failures_are_retried_and_retry_after_is_honored(void **state)
{
    struct world *world = world_new(answer_third);
    uint64_t began = world->clock.monotonic_now_ms;

    (void)state;
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_int_equal(world->count, 4);
    assert_true(world->clock.monotonic_now_ms - began >= 3000);
    world_end(world);
}

static void retries_end_at_the_deadline(void **state)
{
    struct world *world = world_new(world_answer_status);
    uint64_t began = world->clock.monotonic_now_ms;

    (void)state;
    world->status = 500;
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_TEMPORARY);
    assert_true(world->count > 3);
    assert_true(world->clock.monotonic_now_ms - began <= 20000);
    assert_non_null(strstr(world->err.text, "given up after"));
    assert_int_equal(world->retries, world->count - 1);
    world_end(world);
}

static void answer_nonsense(void *data, const struct fake_request *request,
                            struct fake_answer *answer)
{
    world_answer_manifest(data, request, answer);
    answer->headers = "Docker-Content-Digest: nonsense\r\n";
}

static void an_invalid_docker_content_digest_is_refused(void **state)
{
    struct world *world = world_new(answer_nonsense);

    (void)state;
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_INVALID);
    assert_non_null(strstr(world->err.text, "\"nonsense\""));
    world_end(world);
}

/* ---- before anything is sent ---- */

static void names_that_could_change_the_path_are_refused(void **state)
{
    static const struct {
        const char *host, *repository, *object;
    } cases[] = {
        {"h", "../x", "1"}, {"h", "a//b", "1"}, {"h", "A", "1"},   {"h", "", "1"},
        {"h", "a/", "1"},   {"h", "a..b", "1"}, {"h", "a?b", "1"}, {"h", "a", ""},
        {"h", "a", "../x"}, {"h", "a", "1/2"},  {"h", "a", ".x"},  {"h", "a", "sha256:12"},
        {"h", "a", "1+2"},  {"h/x", "a", "1"},  {"h@i", "a", "1"}, {"", "a", "1"},
        {"h x", "a", "1"},  {"h", "a%2e", "1"}, {"h", "-a", "1"},  {"h", "a_-b", "1"},
    };
    struct world *world = world_new(world_answer_manifest);

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        const struct registry_place place = {
            .host = cases[i].host, .repository = cases[i].repository, .is_plain_http = true};
        struct error err = {0};

        print_message("%s %s %s\n", cases[i].host, cases[i].repository, cases[i].object);
        assert_int_equal(registry_get_manifest(world->registry, &place, cases[i].object,
                                               world_on_manifest, world, NULL, &err),
                         -1);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    assert_int_equal(world->count, 0);
    world_end(world);
}

/* Requests a manifest without a scheme. */
static struct world *ask_by_either_scheme(fake_fn *answer, bool is_plain_http_allowed)
{
    const struct registry_options options = {.is_plain_http_allowed = is_plain_http_allowed};
    struct world *world = xcalloc(1, sizeof(*world));
    struct registry_place place = {.repository = "a"};
    struct error err = {0};

    world_begin(world, answer, &options);
    place.host = world->host;
    assert_int_equal(
        registry_get_manifest(world->registry, &place, "1", world_on_manifest, world, NULL, &err),
        0);
    world_run_until(world, 1);
    return world;
}

static void plain_http_is_tried_only_where_it_is_allowed(void **state)
{
    (void)state;
    for (int is_allowed = 0; is_allowed <= 1; is_allowed++) {
        struct world *world = ask_by_either_scheme(world_answer_manifest, is_allowed);

        assert_int_equal(world->err.kind, is_allowed ? ERROR_NONE : ERROR_INVALID);
        assert_int_equal(world_count_paths(world, "/v2/a/manifests/1"), is_allowed);
        world_end(world);
    }
}

/* As a server with TLS responds to plain HTTP. */
static void answer_400_first(void *data, const struct fake_request *request,
                             struct fake_answer *answer)
{
    struct world *world = data;

    world_answer_manifest(data, request, answer);
    if (world->count == 1)
        answer->status = 400;
}

static void a_400_to_plain_http_does_not_settle_the_scheme(void **state)
{
    struct world *world = ask_by_either_scheme(answer_400_first, true);

    (void)state;
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_int_equal(world->count, 2);
    world_end(world);
}

static void a_cancelled_call_has_no_callback(void **state)
{
    struct world *world = world_new(world_answer_manifest);
    const struct registry_place place = {
        .host = world->host, .repository = "a", .is_plain_http = true};
    struct registry_call *call = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(
        registry_get_manifest(world->registry, &place, "1", world_on_manifest, world, &call, &err),
        0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(loop_run_once(world->loop, 1, &err), 0);
    registry_cancel(call);
    world_get_manifest(world, "2");
    assert_int_equal(world->done, 1);
    world_end(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_comes_with_type_and_digest),
        cmocka_unit_test(a_manifest_with_another_digest_is_refused),
        cmocka_unit_test(a_wrong_docker_content_digest_is_refused),
        cmocka_unit_test(final_responses_are_not_retried),
        cmocka_unit_test(a_web_page_instead_of_a_manifest_is_retried),
        cmocka_unit_test(a_third_web_page_in_a_row_is_final),
        cmocka_unit_test(web_pages_that_are_not_in_a_row_are_retried),
        cmocka_unit_test(plain_http_on_a_tls_connection_is_final),
        cmocka_unit_test(an_unknown_host_is_final_after_ten_seconds),
        cmocka_unit_test(temporary_failures_are_retried_and_retry_after_is_honored),
        cmocka_unit_test(retries_end_at_the_deadline),
        cmocka_unit_test(an_invalid_docker_content_digest_is_refused),
        cmocka_unit_test(names_that_could_change_the_path_are_refused),
        cmocka_unit_test(plain_http_is_tried_only_where_it_is_allowed),
        cmocka_unit_test(a_400_to_plain_http_does_not_settle_the_scheme),
        cmocka_unit_test(a_cancelled_call_has_no_callback),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
