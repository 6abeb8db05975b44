/* SPDX-License-Identifier: Apache-2.0 */
/* The blocking call: its result, and each way in which it fails. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/tests/fault.h"
#include "common/data/doc.h"
#include "world.h"

static void answer_all(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    const struct world *world = data;

    world_answer_manifest(data, request, answer);
    answer->status = world->status;
}

static int read_manifest(struct world *world, const char *object, struct error *err)
{
    const struct registry_place place = {
        .host = world->host, .repository = "some/repo", .is_plain_http = true};
    cleanup_json json_t *manifest = NULL;
    cleanup_free char *media_type = NULL;
    cleanup_free char *digest = NULL;
    int result = registry_read_manifest(world->registry, &place, object ? object : "1.0", &manifest,
                                        &media_type, &digest, err);

    assert_int_equal(result == 0, json_is_object(manifest));
    assert_int_equal(result == 0, media_type != NULL);
    assert_int_equal(result == 0, digest != NULL);
    return result;
}

static void a_manifest_is_read(void **state)
{
    struct world *world = world_new(answer_all);
    struct error err = {0};

    (void)state;
    world->status = 200;
    if (read_manifest(world, NULL, &err) < 0)
        fail_msg("%s", err.text);
    world_end(world);
}

static void an_invalid_name_is_not_requested(void **state)
{
    struct world *world = world_new(answer_all);
    struct error err = {0};

    (void)state;
    assert_int_equal(read_manifest(world, "no tag!", &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "\"no tag!\" is neither a tag nor a digest"));
    assert_int_equal(world->count, 0);
    world_end(world);
}

static void an_error_of_the_registry_is_returned(void **state)
{
    struct world *world = world_new(answer_all);
    struct error err = {0};

    (void)state;
    world->status = 404;
    assert_int_equal(read_manifest(world, NULL, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "some/repo"));
    world_end(world);
}

static void a_failing_loop_leaves_no_call_behind(void **state)
{
    struct world *world = world_new(answer_all);
    struct error err = {0};

    (void)state;
    world->status = 200;
    fault_arm("epoll_wait", 1, EBADF);
    assert_int_equal(read_manifest(world, NULL, &err), -1);
    assert_true(fault_disarm());
    assert_string_equal(err.text, "wait for events: Bad file descriptor");
    for (int turn = 0; turn < 20; turn++)
        assert_int_equal(loop_run_once(world->loop, 1, &err), 0);
    assert_int_equal(world->count, 0);
    world_end(world);
}

static void a_failure_of_libcurl_is_returned(void **state)
{
    struct world *world = world_new(answer_all);
    struct error err = {0};

    (void)state;
    fault_arm("curl_easy_setopt", 1, 0);
    assert_int_equal(read_manifest(world, NULL, &err), -1);
    assert_true(fault_disarm());
    assert_int_equal(err.kind, ERROR_INTERNAL);
    assert_non_null(strstr(err.text, "some/repo"));
    assert_int_equal(world->count, 0);
    world_end(world);
}

static void a_client_without_a_loop_is_an_internal_error(void **state)
{
    const struct registry_options options = {0};
    struct registry *registry = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(registry_new(NULL, NULL, &options, &registry, &err), -1);
    assert_int_equal(err.kind, ERROR_INTERNAL);
    assert_null(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_is_read),
        cmocka_unit_test(an_invalid_name_is_not_requested),
        cmocka_unit_test(an_error_of_the_registry_is_returned),
        cmocka_unit_test(a_failing_loop_leaves_no_call_behind),
        cmocka_unit_test(a_failure_of_libcurl_is_returned),
        cmocka_unit_test(a_client_without_a_loop_is_an_internal_error),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
