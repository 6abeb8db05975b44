/* SPDX-License-Identifier: Apache-2.0 */
/* Each system call of saving and restoring fails once. Invariants: the saved state is either the
 * old or the new one, and a disk error never restores an older state. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/archive/tests/scratch.h"
#include "common/base/memory.h"
#include "common/base/tests/fault.h"
#include "common/data/doc.h"
#include "common/state/restore.h"
#include "common/state/tests/store.h"

static const char OLD[] = "11111111-1111-4111-8111-111111111111";
static const char NEW[] = "22222222-2222-4222-8222-222222222222";

struct world {
    struct scratch scratch; /* root/state is the state, root/source the mounted chunks */
    struct store store;
    struct state_set set; /* result of state_set_add_directory() */
};

static void write_state(const struct world *world, const char *text)
{
    scratch_write(world->scratch.root_fd, "state/file", text);
    scratch_write(world->scratch.root_fd, "state/folder/file", text);
}

static int save(const struct world *world, struct store *store, const char *uuid, int64_t sequence,
                struct error *err)
{
    cleanup_close int fd =
        openat(world->scratch.root_fd, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, errno, "open the state");
    return store_save(store, fd, uuid, sequence, err);
}

static int setup(void **state)
{
    struct world *world = xcalloc(1, sizeof(*world));
    struct error err = {0};

    doc_setup();
    scratch_init(&world->scratch);
    store_init(&world->store);
    assert_int_equal(mkdirat(world->scratch.root_fd, "state", 0755), 0);
    assert_int_equal(mkdirat(world->scratch.root_fd, "state/folder", 0755), 0);
    write_state(world, "old");
    assert_int_equal(save(world, &world->store, OLD, 1, &err), 0);
    write_state(world, "new");
    assert_int_equal(save(world, &world->store, NEW, 2, &err), 0);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    (void)fault_disarm();
    state_set_done(&world->set);
    store_done(&world->store);
    scratch_done(&world->scratch);
    free(world);
    return 0;
}

/* ---- saving ---- */

static void forget_third(void *data)
{
    struct world *world = data;

    while (world->store.count > 2) {
        struct stored *last = &world->store.chunks[--world->store.count];

        json_decref(last->secret);
        buffer_done(&last->bytes);
    }
}

static int save_third(void *data, struct error *err)
{
    struct world *world = data;

    return save(world, &world->store, "33333333-3333-4333-8333-333333333333", 3, err);
}

static void check_saved(void *data, int result)
{
    struct world *world = data;
    struct state_set set = store_set(&world->store);
    const struct state_generation *newest = state_set_newest(&set);

    assert_non_null(newest);
    assert_int_equal(newest->sequence, result == 0 ? 3 : 2);
    state_set_done(&set);
}

static void a_failed_save_leaves_the_previous_generation_the_newest(void **state)
{
    const struct fault_scenario scenario = {.name = "save",
                                            .prepare = forget_third,
                                            .run = save_third,
                                            .check = check_saved,
                                            .data = *state};

    assert_true(fault_sweep(&scenario) >= 20);
}

/* ---- restoring ---- */

/* Removes leftovers of a failed run; in a pod init runs only once, on a new volume. */
static void remove_temporary(const struct world *world)
{
    DIR *directory = fdopendir(openat(world->scratch.root_fd, ".", O_RDONLY | O_DIRECTORY));
    const struct dirent *entry = NULL;
    struct error err = {0};

    assert_non_null(directory);
    while ((entry = readdir(directory))) {
        if (strncmp(entry->d_name, ".longshore", 10) == 0)
            assert_int_equal(beneath_remove_tree(world->scratch.root_fd, entry->d_name, &err), 0);
    }
    (void)closedir(directory);
}

static void prepare_other_state(void *data)
{
    struct world *world = data;

    remove_temporary(world);
    write_state(world, "what was there");
}

static int restore(void *data, struct error *err)
{
    struct world *world = data;
    struct state_set set = store_set(&world->store);
    const struct state_source source = store_source(&world->store);
    struct state_restored restored = {0};
    int result =
        state_restore(&set, &source, world->scratch.root_fd, "state", NULL, NULL, &restored, err);

    state_set_done(&set);
    return result;
}

/* ELOOP and EXDEV look like a symlink or a mount in the archive, so they count as damage of the
 * generation; disk errors have other codes. */
static bool is_disk_error(void)
{
    return fault_error() != ELOOP && fault_error() != EXDEV;
}

static void check_restored(void *data, int result)
{
    struct world *world = data;
    cleanup_free char *file = scratch_read(world->scratch.root_fd, "state/file");
    cleanup_free char *other = scratch_read(world->scratch.root_fd, "state/folder/file");
    cleanup_free char *all = scratch_describe(world->scratch.root_fd, false);
    struct error err = {0};

    if (result == 0) {
        assert_non_null(file);
        assert_string_equal(file, other);
        if (is_disk_error()) {
            assert_string_equal(file, "new");
            assert_null(strstr(all, ".longshore"));
        }
    } else if (file && other) {
        assert_string_equal(file, other); /* both of the same generation */
    }
    /* The next attempt succeeds and leaves nothing of this one. */
    assert_int_equal(restore(world, &err), 0);
}

static void a_disk_error_never_restores_an_older_state(void **state)
{
    const struct fault_scenario scenario = {.name = "restore",
                                            .prepare = prepare_other_state,
                                            .run = restore,
                                            .check = check_restored,
                                            .data = *state};

    assert_true(fault_sweep(&scenario) >= 40);
}

static void forget_state(void *data)
{
    struct world *world = data;
    struct error err = {0};

    remove_temporary(world);
    assert_int_equal(beneath_remove_tree(world->scratch.root_fd, "state", &err), 0);
}

static void a_first_restore_is_complete_or_an_error(void **state)
{
    const struct fault_scenario scenario = {.name = "first restore",
                                            .prepare = forget_state,
                                            .run = restore,
                                            .check = check_restored,
                                            .data = *state};

    assert_true(fault_sweep(&scenario) >= 40);
}

static void a_file_that_cant_be_replaced_is_kept_and_reported(void **state)
{
    struct world *world = *state;
    cleanup_free char *text = NULL;
    struct error err = {0};

    prepare_other_state(world);
    fault_arm("renameat2", 1, EINVAL);
    fault_then("unlinkat", 1, EROFS);
    assert_int_equal(restore(world, &err), -1);
    assert_true(fault_disarm());
    assert_non_null(strstr(err.text, "remove \"state\": Read-only file system"));
    text = scratch_read(world->scratch.root_fd, "state/file");
    assert_string_equal(text, "what was there");
}

/* The old directory may be removed first only if the file system does not support exchanging. */
static void a_failed_rename_leaves_the_old_directory(void **state)
{
    struct world *world = *state;
    cleanup_free char *text = NULL;
    struct error err = {0};

    prepare_other_state(world);
    fault_arm("renameat2", 1, EIO);
    fault_then("renameat", 1, EIO);
    assert_int_equal(restore(world, &err), -1);
    (void)fault_disarm();
    assert_non_null(strstr(err.text, "rename the restored state to \"state\": Input/output error"));
    text = scratch_read(world->scratch.root_fd, "state/file");
    assert_non_null(text);
    assert_string_equal(text, "what was there");
}

/* ---- chunks in a directory ---- */

static void mount_chunks(const struct world *world)
{
    assert_int_equal(mkdirat(world->scratch.root_fd, "source", 0755), 0);
    for (size_t i = 0; i < world->store.count; i++) {
        const struct stored *stored = &world->store.chunks[i];
        cleanup_free char *folder = xasprintf("source/%zu", i);
        cleanup_free char *config = xasprintf("%s/config", folder);
        cleanup_free char *metadata = xasprintf("%s/metadata.json", folder);
        cleanup_free char *text = doc_dump(json_object_get(stored->secret, "metadata"));
        cleanup_close int fd = -1;

        assert_int_equal(mkdirat(world->scratch.root_fd, folder, 0755), 0);
        scratch_write(world->scratch.root_fd, metadata, text);
        fd = openat(world->scratch.root_fd, config, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_int_equal(write(fd, stored->bytes.data, stored->bytes.size),
                         (ssize_t)stored->bytes.size);
    }
}

static int restore_mounted(void *data, struct error *err)
{
    struct world *world = data;
    cleanup_close int fd =
        openat(world->scratch.root_fd, "source", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct state_source source = state_source_directory(&fd);
    struct state_restored restored = {0};
    struct state_set set = {0};
    int result = -1;

    if (fd < 0)
        return error_set_errno(err, errno, "open the source");
    result = state_set_add_directory(&set, fd, err);
    state_set_arrange(&set);
    if (result == 0)
        result = state_restore(&set, &source, world->scratch.root_fd, "state", NULL, NULL,
                               &restored, err);
    state_set_done(&set);
    return result;
}

static void unreadable_chunks_never_restore_an_older_state(void **state)
{
    struct world *world = *state;
    const struct fault_scenario scenario = {.name = "restore from a directory",
                                            .prepare = prepare_other_state,
                                            .run = restore_mounted,
                                            .check = check_restored,
                                            .data = world};

    mount_chunks(world);
    assert_true(fault_sweep(&scenario) >= 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_failed_save_leaves_the_previous_generation_the_newest,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_disk_error_never_restores_an_older_state, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_first_restore_is_complete_or_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_cant_be_replaced_is_kept_and_reported, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_failed_rename_leaves_the_old_directory, setup, teardown),
        cmocka_unit_test_setup_teardown(unreadable_chunks_never_restore_an_older_state, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
