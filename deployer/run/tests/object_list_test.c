/* SPDX-License-Identifier: Apache-2.0 */
/* The list of applied objects is the only memory of what has to be removed: whatever fails, it is
 * the old or the new one, and complete. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/base/tests/fault.h"
#include "deployer/run/object_list.h"

struct place {
    char path[32];
    int fd;
};

static int set_up(void **state)
{
    struct place *place = xcalloc(1, sizeof(*place));

    (void)snprintf(place->path, sizeof(place->path), "/tmp/objects-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = place;
    return 0;
}

static int take_down(void **state)
{
    struct place *place = *state;
    struct error err = {0};
    cleanup_close int parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(beneath_remove_tree(parent, place->path + strlen("/tmp/"), &err), 0);
    (void)close(place->fd);
    free(place);
    return 0;
}

static struct inventory inventory_of(size_t count)
{
    struct inventory inventory = {0};

    for (size_t i = 0; i < count; i++) {
        struct inventory_entry entry = {.policy = POLICY_KEEP};

        entry.ref.api_version = xstrdup("v1");
        entry.ref.kind = xstrdup("ConfigMap");
        entry.ref.namespace_name = xstrdup("ns");
        entry.ref.name = xasprintf("name-%zu", i);
        entry.ref.uid = i % 2 ? xasprintf("uid-%zu", i) : NULL;
        (void)inventory_add(&inventory, entry);
    }
    return inventory;
}

static size_t read_count(const struct place *place, const char *cluster, bool *ret_is_found)
{
    cleanup_inventory struct inventory inventory = {0};
    struct error err = {0};

    if (object_list_read(place->fd, cluster, &inventory, ret_is_found, &err) < 0)
        fail_msg("%s", err.text);
    return inventory.count;
}

static void write_list(const struct place *place, const char *cluster, size_t count)
{
    cleanup_inventory struct inventory inventory = inventory_of(count);
    struct error err = {0};

    assert_int_equal(object_list_write(place->fd, cluster, &inventory, &err), 0);
}

static void each_cluster_has_a_list_of_its_own(void **state)
{
    const struct place *place = *state;
    cleanup_inventory struct inventory read = {0};
    struct error err = {0};
    bool is_found = true;

    assert_int_equal(read_count(place, "one", &is_found), 0);
    assert_false(is_found);
    write_list(place, "one", 3);
    write_list(place, "two", 0);
    assert_int_equal(object_list_read(place->fd, "one", &read, &is_found, &err), 0);
    assert_true(is_found);
    assert_int_equal(read.count, 3);
    assert_string_equal(read.entries[1].ref.name, "name-1");
    assert_string_equal(read.entries[1].ref.uid, "uid-1");
    assert_null(read.entries[0].ref.uid);
    assert_int_equal(read.entries[2].policy, POLICY_KEEP);
    assert_int_equal(read_count(place, "two", &is_found), 0);
    assert_true(is_found);
    assert_int_equal(object_list_count(place->fd, NULL), 2);
    assert_int_equal(object_list_count(place->fd, "two"), 1);
    assert_int_equal(object_list_remove(place->fd, "one", &err), 0);
    assert_int_equal(object_list_remove(place->fd, "one", &err), 0);
    assert_int_equal(read_count(place, "one", &is_found), 0);
    assert_false(is_found);
}

static void a_damaged_list_is_an_error(void **state)
{
    const struct place *place = *state;
    cleanup_inventory struct inventory read = {0};
    struct error err = {0};
    bool is_found = false;

    assert_int_equal(beneath_write_file(place->fd, "objects-one.json", "{\"kind\":", 8, 0600, &err),
                     0);
    assert_int_equal(object_list_read(place->fd, "one", &read, &is_found, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "objects-one.json"));
}

/* ---- Faults ---- */

static void prepare(void *data)
{
    write_list(data, "one", 2);
}

static int replace(void *data, struct error *err)
{
    const struct place *place = data;
    cleanup_inventory struct inventory inventory = inventory_of(5);

    return object_list_write(place->fd, "one", &inventory, err);
}

static void check(void *data, int result)
{
    bool is_found = false;
    size_t count = read_count(data, "one", &is_found);

    assert_true(is_found);
    if (result == 0)
        assert_int_equal(count, 5);
    else
        assert_true(count == 2 || count == 5);
}

static void a_list_that_cannot_be_replaced_stays_complete(void **state)
{
    const struct fault_scenario scenario = {
        .name = "replace", .prepare = prepare, .run = replace, .check = check, .data = *state};

    assert_true(fault_sweep(&scenario) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_cluster_has_a_list_of_its_own, set_up, take_down),
        cmocka_unit_test_setup_teardown(a_damaged_list_is_an_error, set_up, take_down),
        cmocka_unit_test_setup_teardown(a_list_that_cannot_be_replaced_stays_complete, set_up,
                                        take_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
