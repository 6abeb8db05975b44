/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/archive/tests/scratch.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/state/tests/store.h"

#define cleanup_store __attribute__((cleanup(store_done)))
enum { NOISE = 1300000 }; /* two chunks */

struct skips {
    int count;
    char last[1000];
};

static void note_skip(void *data, const struct state_generation *generation,
                      const struct error *err)
{
    struct skips *skips = data;

    assert_non_null(generation->uuid);
    skips->count++;
    (void)snprintf(skips->last, sizeof(skips->last), "%s", err->text);
}

/* Saves a state of two chunks with the file "which", which has the uuid. */
static void save_state(struct store *store, const char *which, int64_t sequence)
{
    cleanup_scratch struct scratch scratch;
    struct error err = {0};

    scratch_init(&scratch);
    scratch_write_noise(scratch.root_fd, "noise", NOISE, 42 + (uint64_t)sequence);
    scratch_write(scratch.root_fd, "which", which);
    (void)!store_save(store, scratch.root_fd, which, sequence, &err);
}

/* Restores into root/state and returns the content of "which"; NULL: failed, "": no state. */
static char *restore(struct store *store, struct scratch *scratch, struct skips *skips,
                     struct error *err)
{
    struct state_set set = store_set(store);
    struct state_source source = store_source(store);
    struct state_restored restored = {0};
    cleanup_free char *tree = NULL;
    char *which = NULL;

    if (state_restore(&set, &source, scratch->root_fd, "state", note_skip, skips, &restored, err) ==
        0) {
        which = restored.generation ? scratch_read(scratch->root_fd, "state/which") : xstrdup("");
        assert_non_null(which);
        if (restored.generation)
            assert_string_equal(which, restored.generation->uuid);
    }
    tree = scratch_describe(scratch->root_fd, false);
    assert_null(strstr(tree, ".longshore-"));
    state_set_done(&set);
    return which;
}

static void the_newest_state_replaces_the_directory(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_store struct store store;
    struct skips skips = {0};

    (void)state;
    scratch_init(&scratch);
    store_init(&store);
    save_state(&store, "one", 1);
    save_state(&store, "two", 2);
    for (int i = 0; i < 2; i++) { /* first without, then with an existing directory */
        cleanup_free char *which = NULL, *tree = NULL;
        struct error err = {0};

        which = restore(&store, &scratch, &skips, &err);
        assert_string_equal(which, "two");
        tree = scratch_describe(scratch.root_fd, false);
        assert_null(strstr(tree, "state/old"));
        scratch_write(scratch.root_fd, "state/old", "1");
    }
    assert_int_equal(skips.count, 0);
}

static void without_state_the_directory_is_not_touched(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_store struct store store;
    cleanup_free char *which = NULL, *tree = NULL;
    struct skips skips = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    store_init(&store);
    assert_int_equal(mkdirat(scratch.root_fd, "state", 0777), 0);
    which = restore(&store, &scratch, &skips, &err);
    assert_string_equal(which, "");
    tree = scratch_describe(scratch.root_fd, false);
    assert_string_equal(tree, "state 40000\n");
}

/* The second upload is interrupted at every chunk: the first state is restored, and a third upload
 * succeeds. */
static void an_interrupted_upload_leaves_the_previous_state(void **state)
{
    (void)state;
    for (int stored = 0; stored < 2; stored++) {
        cleanup_scratch struct scratch scratch;
        cleanup_store struct store store;
        cleanup_free char *before = NULL, *after = NULL;
        struct skips skips = {0};
        struct error err = {0};

        scratch_init(&scratch);
        store_init(&store);
        save_state(&store, "one", 1);
        store.fails_after = stored;
        save_state(&store, "two", 2);
        before = restore(&store, &scratch, &skips, &err);
        assert_string_equal(before, "one");
        store.fails_after = -1;
        save_state(&store, "three", 3);
        after = restore(&store, &scratch, &skips, &err);
        assert_string_equal(after, "three");
    }
}

static void an_interrupted_first_upload_is_no_state(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_store struct store store;
    cleanup_free char *which = NULL;
    struct skips skips = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    store_init(&store);
    store.fails_after = 1;
    save_state(&store, "one", 1);
    assert_int_equal(store.count, 1);
    which = restore(&store, &scratch, &skips, &err);
    assert_string_equal(which, "");
    assert_int_equal(skips.count, 1);
}

static void any_flipped_bit_falls_back_to_the_previous_state(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_store struct store store;

    (void)state;
    scratch_init(&scratch);
    store_init(&store);
    save_state(&store, "one", 1);
    save_state(&store, "two", 2);
    for (size_t chunk = 2; chunk < 4; chunk++) {
        struct buffer *bytes = &store.chunks[chunk].bytes;
        /* Headers, trailers and places in between. */
        const size_t places[] = {0,
                                 3,
                                 4,
                                 9,
                                 10,
                                 100,
                                 bytes->size / 2,
                                 bytes->size - 9,
                                 bytes->size - 8,
                                 bytes->size - 4,
                                 bytes->size - 1};

        for (size_t i = 0; i < array_length(places); i++) {
            cleanup_free char *which = NULL;
            struct skips skips = {0};
            struct error err = {0};

            bytes->data[places[i]] ^= 0x01;
            which = restore(&store, &scratch, &skips, &err);
            assert_string_equal(which, "one");
            assert_int_equal(skips.count, 1);
            bytes->data[places[i]] ^= 0x01;
        }
    }
}

static void a_chunk_of_another_size_falls_back_to_the_previous_state(void **state)
{
    static const int changes[] = {-1, 1};

    (void)state;
    for (size_t i = 0; i < array_length(changes); i++) {
        cleanup_scratch struct scratch scratch;
        cleanup_store struct store store;
        cleanup_free char *which = NULL;
        struct skips skips = {0};
        struct error err = {0};

        scratch_init(&scratch);
        store_init(&store);
        save_state(&store, "one", 1);
        save_state(&store, "two", 2);
        store.chunks[2].bytes.size += (size_t)changes[i];
        which = restore(&store, &scratch, &skips, &err);
        store.chunks[2].bytes.size -= (size_t)changes[i];
        assert_string_equal(which, "one");
    }
}

static void if_no_state_can_be_restored_the_directory_is_not_touched(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_store struct store store;
    cleanup_free char *text = NULL;
    struct skips skips = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    store_init(&store);
    assert_int_equal(mkdirat(scratch.root_fd, "state", 0777), 0);
    scratch_write(scratch.root_fd, "state/mine", "1");
    save_state(&store, "one", 1);
    store.chunks[0].bytes.data[500] ^= 1;
    assert_null(restore(&store, &scratch, &skips, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(skips.count, 1);
    text = scratch_read(scratch.root_fd, "state/mine");
    assert_string_equal(text, "1");
}

static void only_damage_falls_back_to_the_previous_state_not_a_failing_source(void **state)
{
    static const struct {
        enum error_kind kind;
        const char *which;
    } cases[] = {
        /* The source is at fault: an older state would be the wrong one. */
        {ERROR_TEMPORARY, NULL},
        {ERROR_DENIED, NULL},
        {ERROR_CANCELLED, NULL},
        {ERROR_INTERNAL, NULL},
        {ERROR_CONFLICT, NULL},
        {ERROR_GONE, NULL},
        {ERROR_EXISTS, NULL},
        /* The generation is at fault. */
        {ERROR_NOT_FOUND, "one"},
        {ERROR_TOO_LARGE, "one"},
        {ERROR_INVALID, "one"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_scratch struct scratch scratch;
        cleanup_store struct store store;
        cleanup_free char *which = NULL;
        struct skips skips = {0};
        struct error err = {0};

        scratch_init(&scratch);
        store_init(&store);
        save_state(&store, "one", 1);
        save_state(&store, "two", 2);
        store.unreadable_from = 2;
        store.unreadable_kind = cases[i].kind;
        which = restore(&store, &scratch, &skips, &err);
        if (cases[i].which) {
            assert_string_equal(which, cases[i].which);
        } else {
            assert_null(which);
            assert_int_equal(err.kind, cases[i].kind);
        }
    }
}

/* Converts our state to the format of the Go deployer: zero bytes stripped from both ends of every
 * chunk, the last one of several padded with stale bytes. */
static void make_go_s(struct store *store, const char *uuid, bool is_damaged)
{
    struct store go;
    char *buffer = xcalloc(1, STATE_CHUNK_BYTES);

    store_init(&go);
    for (size_t i = 0; i < store->count; i++) {
        /* ours are stored as 1, ..., 0 */
        const struct buffer *bytes = &store->chunks[i ? i - 1 : store->count - 1].bytes;
        size_t from = 0, to = STATE_CHUNK_BYTES;

        memcpy(buffer, bytes->data, bytes->size);
        if (is_damaged && i == 0)
            buffer[200000] ^= 0x20;
        while (from < to && !buffer[from])
            from++;
        while (to > from && !buffer[to - 1])
            to--;
        store_add_go(&go, uuid, (int)i, buffer + from, to - from);
    }
    free(buffer);
    store_done(store);
    *store = go;
}

static void state_of_the_go_deployer_is_restored(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_store struct store store;
    cleanup_free char *which = NULL;
    struct skips skips = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    store_init(&store);
    save_state(&store, "go", 1);
    make_go_s(&store, "go", false);
    assert_int_equal(store.chunks[1].bytes.size, STATE_CHUNK_BYTES); /* padded with stale bytes */
    which = restore(&store, &scratch, &skips, &err);
    assert_string_equal(which, "go");
}

static void damaged_state_of_the_go_deployer_is_not_restored(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_store struct store store;
    struct skips skips = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    store_init(&store);
    save_state(&store, "go", 1);
    make_go_s(&store, "go", true);
    assert_null(restore(&store, &scratch, &skips, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
}

/* Like a volume of the kubelet: symlinks into a hidden directory. */
static void mount_chunks(const struct store *store, int directory_fd)
{
    assert_int_equal(mkdirat(directory_fd, "..2026", 0777), 0);
    assert_int_equal(symlinkat("..2026", directory_fd, "..data"), 0);
    for (size_t i = 0; i < store->count; i++) {
        cleanup_free char *name = xasprintf("chunk-%zu", i);
        cleanup_free char *target = xasprintf("..data/%s", name);
        cleanup_free char *metadata = xasprintf("..data/%s/%s", name, FILE_STATE_METADATA);
        cleanup_free char *config = xasprintf("..data/%s/%s", name, SECRET_KEY_CONFIG);
        cleanup_free char *text = doc_dump(doc_get(store->chunks[i].secret, "metadata"));
        int fd = -1;

        assert_int_equal(symlinkat(target, directory_fd, name), 0);
        assert_int_equal(mkdirat(directory_fd, target, 0777), 0);
        scratch_write(directory_fd, metadata, text);
        fd = openat(directory_fd, config, O_CREAT | O_WRONLY, 0600);
        assert_int_equal(write(fd, store->chunks[i].bytes.data, store->chunks[i].bytes.size),
                         store->chunks[i].bytes.size);
        (void)close(fd);
    }
}

static void chunks_are_read_from_a_mounted_directory(void **state)
{
    cleanup_scratch struct scratch scratch, mount;
    cleanup_store struct store store;
    cleanup_free char *which = NULL;
    struct state_set set = {0};
    struct state_source source = {0};
    struct state_restored restored = {0};
    struct skips skips = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    scratch_init(&mount);
    source = state_source_directory(&mount.root_fd);
    store_init(&store);
    save_state(&store, "one", 1);
    save_state(&store, "two", 2);
    mount_chunks(&store, mount.root_fd);
    assert_int_equal(mkdirat(mount.root_fd, "unfinished", 0777), 0);
    assert_int_equal(mkdirat(mount.root_fd, "empty", 0777), 0);
    scratch_write(mount.root_fd, "empty/" FILE_STATE_METADATA, "");
    scratch_write(mount.root_fd, "stray", "file");
    assert_int_equal(state_set_add_directory(&set, mount.root_fd, &err), 0);
    state_set_arrange(&set);
    assert_int_equal(set.chunk_count, 5);
    assert_int_equal(
        state_restore(&set, &source, scratch.root_fd, "state", note_skip, &skips, &restored, &err),
        0);
    which = scratch_read(scratch.root_fd, "state/which");
    assert_string_equal(which, "two");
    assert_int_equal(restored.entries, 2);
    assert_int_equal(restored.bytes, NOISE + 3);
    state_set_done(&set);
}

static void add_must_fail(const struct scratch *mount, enum error_kind kind, const char *message)
{
    struct state_set set = {0};
    struct error err = {0};

    assert_int_equal(state_set_add_directory(&set, mount->root_fd, &err), -1);
    assert_int_equal(err.kind, kind);
    if (!strstr(err.text, message))
        fail_msg("'%s' does not contain '%s'", err.text, message);
    state_set_done(&set);
}

static void invalid_metadata_is_an_error_that_names_the_file(void **state)
{
    cleanup_scratch struct scratch mount;
    cleanup_free char *much = xcalloc(1, 256 * 1024 + 2);

    (void)state;
    scratch_init(&mount);
    assert_int_equal(mkdirat(mount.root_fd, "one", 0777), 0);
    assert_int_equal(mkdirat(mount.root_fd, "one/" FILE_STATE_METADATA, 0777), 0);
    add_must_fail(&mount, ERROR_INVALID, "\"one/" FILE_STATE_METADATA "\" is not a regular file");
    assert_int_equal(unlinkat(mount.root_fd, "one/" FILE_STATE_METADATA, AT_REMOVEDIR), 0);
    memset(much, 'x', 256 * 1024 + 1);
    scratch_write(mount.root_fd, "one/" FILE_STATE_METADATA, much);
    add_must_fail(&mount, ERROR_TOO_LARGE, "read \"one/" FILE_STATE_METADATA "\": more than");
}

static void the_number_of_chunks_is_limited(void **state)
{
    cleanup_scratch struct scratch mount;
    struct state_set set = {.chunk_count = 100000}; /* only the count is read */
    struct error err = {0};

    (void)state;
    scratch_init(&mount);
    assert_int_equal(mkdirat(mount.root_fd, "one", 0777), 0);
    scratch_write(mount.root_fd, "one/" FILE_STATE_METADATA, "{}");
    assert_int_equal(state_set_add_directory(&set, mount.root_fd, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_string_equal(err.text, "more than 100000 state chunks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_state_replaces_the_directory),
        cmocka_unit_test(without_state_the_directory_is_not_touched),
        cmocka_unit_test(an_interrupted_upload_leaves_the_previous_state),
        cmocka_unit_test(an_interrupted_first_upload_is_no_state),
        cmocka_unit_test(any_flipped_bit_falls_back_to_the_previous_state),
        cmocka_unit_test(a_chunk_of_another_size_falls_back_to_the_previous_state),
        cmocka_unit_test(if_no_state_can_be_restored_the_directory_is_not_touched),
        cmocka_unit_test(only_damage_falls_back_to_the_previous_state_not_a_failing_source),
        cmocka_unit_test(state_of_the_go_deployer_is_restored),
        cmocka_unit_test(damaged_state_of_the_go_deployer_is_not_restored),
        cmocka_unit_test(chunks_are_read_from_a_mounted_directory),
        cmocka_unit_test(invalid_metadata_is_an_error_that_names_the_file),
        cmocka_unit_test(the_number_of_chunks_is_limited),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
