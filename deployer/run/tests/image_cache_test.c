/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/base/tests/fault.h"
#include "deployer/run/image_cache.h"

#define DIGEST "sha256:1111111111111111111111111111111111111111111111111111111111111111"
enum { CACHE_BYTES = 1 << 20 };

struct place {
    char path[32];
    struct image_cache *cache;
};

static int set_up(void **state)
{
    static struct place place;

    place = (struct place){.path = "/tmp/image-cache-XXXXXX"};
    assert_non_null(mkdtemp(place.path));
    *state = &place;
    return 0;
}

static int take_down(void **state)
{
    const struct place *place = *state;
    cleanup_close int parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)fault_disarm();
    return beneath_remove_tree(parent, place->path + strlen("/tmp/"), &(struct error){0});
}

static void keep_blob(struct image_cache *cache)
{
    struct error err = {0};
    char *directory = NULL;
    char file[128] = {0};
    FILE *stream = NULL;

    assert_int_equal(image_cache_make_temporary(cache, &directory, &err), 0);
    (void)snprintf(file, sizeof(file), "%s/blob", directory);
    stream = fopen(file, "we");
    assert_non_null(stream);
    assert_int_equal(fputs("bytes", stream), 1);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(image_cache_keep_blob(cache, DIGEST, file, &err), 0);
    image_cache_discard(cache, directory);
    free(directory);
}

static void open_names_the_system_call_that_failed(void **state)
{
    const struct place *place = *state;
    struct image_cache *cache = NULL;
    struct error err = {0};

    fault_arm("open", 1, EMFILE);
    assert_int_equal(image_cache_open(place->path, CACHE_BYTES, &cache, &err), -1);
    assert_true(fault_disarm());
    assert_null(cache);
    assert_int_equal(err.os, EMFILE);
    assert_non_null(strstr(err.text, place->path));
}

static void prepare_open(void *data)
{
    struct place *place = data;
    struct error err = {0};

    assert_int_equal(image_cache_open(place->path, CACHE_BYTES, &place->cache, &err), 0);
    keep_blob(place->cache);
    image_cache_close(place->cache);
    place->cache = NULL;
}

static int open_store(void *data, struct error *err)
{
    struct place *place = data;
    int result = image_cache_open(place->path, CACHE_BYTES, &place->cache, err);

    image_cache_close(place->cache);
    place->cache = NULL;
    return result;
}

static void check_blob(void *data, int result)
{
    struct place *place = data;
    struct error err = {0};
    int fd = -1;

    (void)result;
    assert_int_equal(image_cache_open(place->path, CACHE_BYTES, &place->cache, &err), 0);
    fd = image_cache_open_blob(place->cache, DIGEST, &err);
    assert_true(fd >= 0);
    (void)close(fd);
    image_cache_close(place->cache);
    place->cache = NULL;
}

/* fault_sweep() itself checks that no descriptor leaks. */
static void a_fault_while_opening_leaks_nothing_and_keeps_the_blobs(void **state)
{
    const struct fault_scenario scenario = {.name = "open the cache",
                                            .prepare = prepare_open,
                                            .run = open_store,
                                            .check = check_blob,
                                            .data = *state};

    assert_true(fault_sweep(&scenario) >= 10);
}

static void prunes_entries_above_the_maximum_size(void **state)
{
    struct place *place = *state;
    struct error err = {0};
    int fd = -1;

    prepare_open(place);
    assert_int_equal(image_cache_open(place->path, 4, &place->cache, &err), 0);
    fd = image_cache_open_blob(place->cache, DIGEST, &err);
    assert_int_equal(fd, -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    image_cache_close(place->cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(open_names_the_system_call_that_failed, set_up, take_down),
        cmocka_unit_test_setup_teardown(a_fault_while_opening_leaks_nothing_and_keeps_the_blobs,
                                        set_up, take_down),
        cmocka_unit_test_setup_teardown(prunes_entries_above_the_maximum_size, set_up, take_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
