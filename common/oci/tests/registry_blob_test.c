/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching blobs: verified, resumed, bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "world.h"

static void assert_blob(const struct world *world)
{
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_int_equal(world->bytes.size, sizeof(world->blob));
    assert_memory_equal(world->bytes.data, world->blob, sizeof(world->blob));
}

static bool has_ranges;

/* Breaks off after 1000 bytes, until there is nothing more to send. */
static void answer_cut(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    static char range[128];
    struct world *world = data;
    size_t start = 0;

    if (has_ranges && strncmp(request->range, "bytes=", 6) == 0) {
        start = (size_t)strtoul(request->range + 6, NULL, 10);
        (void)snprintf(range, sizeof(range), "Content-Range: bytes %zu-%zu/%zu\r\n", start,
                       sizeof(world->blob) - 1, sizeof(world->blob));
        answer->headers = range;
        answer->status = 206;
    }
    answer->body = world->blob + start;
    answer->size = sizeof(world->blob) - start;
    answer->is_cut = answer->size > 1000 && world->count < 6;
    answer->cut = 1000;
}

static void a_broken_blob_goes_on_where_it_broke(void **state)
{
    struct world *world = world_new(answer_cut);

    (void)state;
    has_ranges = true;
    world_get_blob(world, (int64_t)sizeof(world->blob), 1 << 20, true);
    assert_blob(world);
    assert_int_equal(world->restarts, 0);
    assert_int_equal(world->count, 5);
    assert_string_equal(world->requests[1].range, "bytes=1000-");
    assert_string_equal(world->requests[4].range, "bytes=4000-");
    world_end(world);
}

static void without_ranges_it_starts_over_or_skips(void **state)
{
    for (int can_restart = 0; can_restart <= 1; can_restart++) {
        struct world *world = world_new(answer_cut);

        (void)state;
        has_ranges = false;
        world_get_blob(world, -1, 1 << 20, can_restart);
        assert_blob(world);
        assert_int_equal(world->restarts, can_restart ? 5 : 0);
        world_end(world);
    }
}

/* Answers any range with the wrong part. */
static void answer_wrong_range(void *data, const struct fake_request *request,
                               struct fake_answer *answer)
{
    struct world *world = data;

    answer_cut(data, request, answer);
    answer->is_cut = world->count == 1;
    if (answer->status == 206)
        answer->headers = "Content-Range: bytes 7-4095/4096\r\n";
}

static void another_range_than_asked_for_is_not_mixed_in(void **state)
{
    struct world *world = world_new(answer_wrong_range);

    (void)state;
    has_ranges = true;
    world_get_blob(world, -1, 1 << 20, true);
    assert_blob(world);
    assert_int_equal(world->restarts, 1);
    assert_string_equal(world->requests[2].range, "");
    world_end(world);
}

/* Begins with a page that is none of the blob's: a gateway's. */
static void answer_page_first(void *data, const struct fake_request *request,
                              struct fake_answer *answer)
{
    static const char page[] = "<html>Please log in</html>";
    struct world *world = data;

    answer_cut(data, request, answer);
    answer->is_cut = false;
    if (world->count == 1) {
        answer->body = page;
        answer->size = strlen(page);
    }
}

/* And what comes then is the last word. */
static void pieces_that_do_not_make_the_blob_are_given_up_for_the_whole(void **state)
{
    (void)state;
    has_ranges = true;
    for (int is_wrong = 0; is_wrong <= 1; is_wrong++) {
        struct world *world = world_new(answer_page_first);

        if (is_wrong)
            world->blob[0] = (char)~world->blob[0];
        world_get_blob(world, (int64_t)sizeof(world->blob), 1 << 20, true);
        assert_int_equal(world->err.kind, is_wrong ? ERROR_INVALID : ERROR_NONE);
        assert_int_equal(world->restarts, 1);
        assert_int_equal(world->count, 3);
        assert_string_not_equal(world->requests[1].range, "");
        assert_string_equal(world->requests[2].range, "");
        world_end(world);
    }
}

static void answer_whole(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    struct world *world = data;

    (void)request;
    answer->body = world->blob;
    answer->size = sizeof(world->blob);
}

static void sizes_and_limits_hold_to_the_byte(void **state)
{
    static const struct {
        int64_t size;
        uint64_t max;
        enum error_kind kind;
    } cases[] = {
        {4096, 4096, ERROR_NONE},    {-1, 4096, ERROR_NONE},      {-1, 4095, ERROR_TOO_LARGE},
        {4095, 8192, ERROR_INVALID}, {4097, 8192, ERROR_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct world *world = world_new(answer_whole);

        world_get_blob(world, cases[i].size, cases[i].max, true);
        assert_int_equal(world->err.kind, cases[i].kind);
        assert_int_equal(world->count, 1);
        world_end(world);
    }
}

static void blobs_that_cant_be_right_are_not_asked_for(void **state)
{
    struct world *world = world_new(answer_whole);
    const struct registry_place place = {
        .host = world->host, .repository = "some/repo", .is_plain_http = true};
    const struct registry_blob wrong = {.digest = "sha256:short", .size = 1, .max_bytes = 1};
    const struct registry_blob large = {.digest = world->blob_digest, .size = 11, .max_bytes = 10};
    struct error err = {0};

    (void)state;
    assert_int_equal(registry_get_blob(world->registry, &place, &wrong, NULL, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(registry_get_blob(world->registry, &place, &large, NULL, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_non_null(strstr(err.text, "has 11 bytes, the limit is 10"));
    assert_int_equal(world->count, 0);
    world_end(world);
}

/* A gateway's page, which is longer than the blob. */
static void answer_long_page_first(void *data, const struct fake_request *request,
                                   struct fake_answer *answer)
{
    static const char page[8192] = "<html>Please log in</html>";
    struct world *world = data;

    answer_whole(data, request, answer);
    if (world->count == 1) {
        answer->headers = "Content-Type: text/html; charset=utf-8\r\n";
        answer->body = page;
        answer->size = sizeof(page);
    }
}

static void a_web_page_that_is_too_long_for_the_blob_is_not_the_registry_s(void **state)
{
    struct world *world = world_new(answer_long_page_first);

    (void)state;
    world_get_blob(world, (int64_t)sizeof(world->blob), 1 << 20, true);
    assert_blob(world);
    world_end(world);
}

static void answer_late(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    struct world *world = data;

    answer_whole(data, request, answer);
    clock_fake_advance(&world->clock, 15000);
}

static void a_registry_that_sends_too_slowly_is_given_up(void **state)
{
    struct world *world = world_new(answer_late);

    (void)state;
    world_get_blob(world, sizeof(world->blob), sizeof(world->blob), true);
    assert_int_equal(world->err.kind, ERROR_TEMPORARY);
    assert_non_null(strstr(world->err.text, "the registry sends too slowly"));
    world_end(world);
}

static void answer_altered(void *data, const struct fake_request *request,
                           struct fake_answer *answer)
{
    static char altered[sizeof(((struct world *)0)->blob)];
    struct world *world = data;

    answer_whole(data, request, answer);
    memcpy(altered, world->blob, sizeof(altered));
    altered[2000] ^= 1;
    answer->body = altered;
}

static void one_altered_bit_is_found(void **state)
{
    struct world *world = world_new(answer_altered);

    (void)state;
    world_get_blob(world, 4096, 4096, true);
    assert_int_equal(world->err.kind, ERROR_INVALID);
    assert_non_null(strstr(world->err.text, "digest"));
    world_end(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_blob_goes_on_where_it_broke),
        cmocka_unit_test(without_ranges_it_starts_over_or_skips),
        cmocka_unit_test(another_range_than_asked_for_is_not_mixed_in),
        cmocka_unit_test(pieces_that_do_not_make_the_blob_are_given_up_for_the_whole),
        cmocka_unit_test(sizes_and_limits_hold_to_the_byte),
        cmocka_unit_test(blobs_that_cant_be_right_are_not_asked_for),
        cmocka_unit_test(a_web_page_that_is_too_long_for_the_blob_is_not_the_registry_s),
        cmocka_unit_test(a_registry_that_sends_too_slowly_is_given_up),
        cmocka_unit_test(one_altered_bit_is_found),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
