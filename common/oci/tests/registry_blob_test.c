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

/* Closes the connection after 1000 bytes. */
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

static void an_interrupted_blob_is_resumed(void **state)
{
    struct world *world = world_new(answer_cut);

    (void)state;
    has_ranges = true;
    world_get_blob(world, (int64_t)sizeof(world->blob), 1 << 20);
    assert_blob(world);
    assert_int_equal(world->restarts, 0);
    assert_int_equal(world->count, 5);
    assert_string_equal(world->requests[1].range, "bytes=1000-");
    assert_string_equal(world->requests[4].range, "bytes=4000-");
    world_end(world);
}

static void without_ranges_it_starts_over(void **state)
{
    struct world *world = world_new(answer_cut);

    (void)state;
    has_ranges = false;
    world_get_blob(world, -1, 1 << 20);
    assert_blob(world);
    assert_int_equal(world->restarts, 5);
    world_end(world);
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

static void a_wrong_range_is_discarded(void **state)
{
    struct world *world = world_new(answer_wrong_range);

    (void)state;
    has_ranges = true;
    world_get_blob(world, -1, 1 << 20);
    assert_blob(world);
    assert_int_equal(world->restarts, 1);
    assert_string_equal(world->requests[2].range, "");
    world_end(world);
}

/* The first response is the page of a gateway. */
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

static void a_resumed_blob_with_a_wrong_digest_is_fetched_again_in_one_piece(void **state)
{
    (void)state;
    has_ranges = true;
    for (int is_wrong = 0; is_wrong <= 1; is_wrong++) {
        struct world *world = world_new(answer_page_first);

        if (is_wrong)
            world->blob[0] = (char)~world->blob[0];
        world_get_blob(world, (int64_t)sizeof(world->blob), 1 << 20);
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

static void sizes_and_limits_are_exact(void **state)
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

        world_get_blob(world, cases[i].size, cases[i].max);
        assert_int_equal(world->err.kind, cases[i].kind);
        assert_int_equal(world->count, 1);
        world_end(world);
    }
}

static void blobs_with_invalid_digest_or_size_are_not_requested(void **state)
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

/* The page of a gateway that is longer than the blob. */
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

static void a_web_page_longer_than_the_blob_is_retried(void **state)
{
    struct world *world = world_new(answer_long_page_first);

    (void)state;
    world_get_blob(world, (int64_t)sizeof(world->blob), 1 << 20);
    assert_blob(world);
    world_end(world);
}

static void answer_late(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    struct world *world = data;

    answer_whole(data, request, answer);
    clock_fake_advance(&world->clock, 15000);
}

static void a_download_that_is_too_slow_is_given_up(void **state)
{
    struct world *world = world_new(answer_late);

    (void)state;
    world_get_blob(world, sizeof(world->blob), sizeof(world->blob));
    assert_int_equal(world->err.kind, ERROR_TEMPORARY);
    assert_non_null(strstr(world->err.text, "the download is too slow"));
    world_end(world);
}

/* ---- a server without Range and a blob that takes longer than the deadline ---- */

enum { LARGE_SIZE = 2 * 1024 * 1024, LARGE_CUT = 1536 * 1024 };

struct large {
    struct world *world;
    char *bytes, digest[DIGEST_TEXT_MAX];
    bool is_always_cut;
    size_t chunks_since_restart;
    uint64_t received;
};

static struct large large;

static void answer_large(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    const struct world *world = data;

    (void)request;
    answer->body = large.bytes;
    answer->size = LARGE_SIZE;
    answer->is_cut = large.is_always_cut || world->count == 1;
    answer->cut = LARGE_CUT;
}

/* Each attempt takes longer than the deadline of 10 s, at more than 1 KiB/s. */
static int on_large_bytes(void *data, const char *bytes, size_t size, struct error *err)
{
    (void)data;
    (void)bytes;
    (void)err;
    large.received += size;
    if (++large.chunks_since_restart == 4)
        clock_fake_advance(&large.world->clock, 11000);
    return 0;
}

static void on_large_restart(void *data)
{
    (void)data;
    large.chunks_since_restart = 0;
    large.received = 0;
}

static void on_large_done(void *data, const struct error *err)
{
    struct world *world = data;

    world->done++;
    world->err = *err;
}

static struct world *get_large_blob(bool is_always_cut)
{
    struct world *world = world_new(answer_large);
    const struct registry_place place = {
        .host = world->host, .repository = "some/repo", .is_plain_http = true};
    struct registry_blob blob = {.size = LARGE_SIZE,
                                 .max_bytes = LARGE_SIZE,
                                 .on_bytes = on_large_bytes,
                                 .on_restart = on_large_restart,
                                 .on_done = on_large_done,
                                 .data = world};
    struct error err = {0};
    char hex[DIGEST_HEX_MAX];

    large = (struct large){.world = world, .is_always_cut = is_always_cut};
    large.bytes = xcalloc(1, LARGE_SIZE);
    digest_sha256_hex(large.bytes, LARGE_SIZE, hex);
    (void)snprintf(large.digest, sizeof(large.digest), "sha256:%s", hex);
    blob.digest = large.digest;
    assert_int_equal(registry_get_blob(world->registry, &place, &blob, NULL, &err), 0);
    world_run_until(world, 1);
    free(large.bytes);
    return world;
}

/* The rate is measured from the start of the blob once the server has started over. */
static void a_restarted_download_is_not_too_slow(void **state)
{
    struct world *world = get_large_blob(false);

    (void)state;
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_int_equal(large.received, LARGE_SIZE);
    assert_int_equal(world->count, 2);
    world_end(world);
}

/* Receiving the same bytes again does not count as progress and does not extend the deadline. */
static void a_download_that_always_fails_at_the_same_offset_is_given_up(void **state)
{
    struct world *world = get_large_blob(true);

    (void)state;
    assert_int_equal(world->err.kind, ERROR_TEMPORARY);
    assert_in_range(world->count, 2, 3);
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

static void one_changed_bit_is_detected(void **state)
{
    struct world *world = world_new(answer_altered);

    (void)state;
    world_get_blob(world, 4096, 4096);
    assert_int_equal(world->err.kind, ERROR_INVALID);
    assert_non_null(strstr(world->err.text, "digest"));
    world_end(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupted_blob_is_resumed),
        cmocka_unit_test(without_ranges_it_starts_over),
        cmocka_unit_test(a_wrong_range_is_discarded),
        cmocka_unit_test(a_resumed_blob_with_a_wrong_digest_is_fetched_again_in_one_piece),
        cmocka_unit_test(sizes_and_limits_are_exact),
        cmocka_unit_test(blobs_with_invalid_digest_or_size_are_not_requested),
        cmocka_unit_test(a_web_page_longer_than_the_blob_is_retried),
        cmocka_unit_test(a_download_that_is_too_slow_is_given_up),
        cmocka_unit_test(one_changed_bit_is_detected),
        cmocka_unit_test(a_restarted_download_is_not_too_slow),
        cmocka_unit_test(a_download_that_always_fails_at_the_same_offset_is_given_up),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
