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
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "common/state/tests/store.h"

#define cleanup_store __attribute__((cleanup(store_done)))

/* Bytes that can't be compressed. */
static void write_noise(int root_fd, const char *name, size_t size)
{
    cleanup_close int fd = openat(root_fd, name, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    cleanup_free unsigned char *bytes = xmalloc(size);
    uint64_t random = 88172645463325252;

    for (size_t i = 0; i < size; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        bytes[i] = (unsigned char)(random >> 32);
    }
    assert_int_equal(write(fd, bytes, size), size);
}

static const struct {
    size_t noise;
    const char *order;
} sizes[] = {
    {0, "0 "}, {1, "0 "}, {900000, "0 "}, {1100000, "1 0 "}, {2500000, "1 2 0 "},
};

static void chunks_have_the_exact_size_and_the_first_is_written_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(sizes); i++) {
        cleanup_scratch struct scratch scratch;
        cleanup_store struct store store;
        cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);
        char hex[DIGEST_HEX_MAX];
        struct state_summary summary = {0};
        struct error err = {0};
        uint64_t total = 0;

        scratch_init(&scratch);
        store_init(&store);
        write_noise(scratch.root_fd, "noise", sizes[i].noise);
        assert_int_equal(state_summarize(scratch.root_fd, NULL, &summary, &err), 0);
        assert_int_equal(store_save(&store, scratch.root_fd, "u", 1, &err), 0);
        assert_string_equal(store.order, sizes[i].order);
        assert_int_equal(store.count, summary.chunk_count);
        for (size_t j = 0; j < store.count; j++) {
            /* stored as 1, 2, ..., 0 */
            const struct buffer *bytes = &store.chunks[j ? j - 1 : store.count - 1].bytes;

            digest_update(digest, bytes->data, bytes->size);
            total += bytes->size;
            if (j + 1 < store.count)
                assert_int_equal(bytes->size, STATE_CHUNK_BYTES);
        }
        digest_hex(digest, hex);
        assert_string_equal(hex, summary.sha256);
        assert_int_equal(total, summary.packed_bytes);
        assert_true(total < sizes[i].noise + sizes[i].noise / 1000 + 1024);
    }
}

/* The archive is exactly as large as its chunks. */
static void an_archive_that_fills_its_chunks_has_no_empty_one(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_store struct store store;
    struct state_summary summary = {0};
    struct error err = {0};
    size_t noise = STATE_CHUNK_BYTES - 2000;

    (void)state;
    scratch_init(&scratch);
    store_init(&store);
    /* The length of the name changes the size of the archive until it fits exactly. */
    for (size_t i = 0; i < 60 && summary.packed_bytes != STATE_CHUNK_BYTES; i++) {
        const struct timespec times[2] = {{0}, {.tv_sec = 1}};
        char name[64] = "n";

        memcpy(name + 1, "q7Zk2vX9pLw4Rt8Yb1Nc6Md3Hs5Jg0FqWzEuTiOpAlSkDjVxCyBmQeRtYuI", i);
        write_noise(scratch.root_fd, name, noise);
        assert_int_equal(utimensat(scratch.root_fd, name, times, 0), 0);
        assert_int_equal(state_summarize(scratch.root_fd, NULL, &summary, &err), 0);
        noise = (size_t)((int64_t)noise + STATE_CHUNK_BYTES - (int64_t)summary.packed_bytes);
        if (summary.packed_bytes != STATE_CHUNK_BYTES)
            assert_int_equal(unlinkat(scratch.root_fd, name, 0), 0);
    }
    assert_int_equal(summary.packed_bytes, STATE_CHUNK_BYTES);
    assert_int_equal(summary.chunk_count, 1);
    assert_int_equal(store_save(&store, scratch.root_fd, "u", 1, &err), 0);
    assert_int_equal(store.count, 1);
    assert_int_equal(store.chunks[0].bytes.size, STATE_CHUNK_BYTES);
}

static void the_sha256_depends_only_on_the_tree(void **state)
{
    cleanup_scratch struct scratch scratch;
    struct state_summary once = {0}, twice = {0}, other = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    scratch_write(scratch.root_fd, "a", "1");
    assert_int_equal(state_summarize(scratch.root_fd, NULL, &once, &err), 0);
    assert_int_equal(state_summarize(scratch.root_fd, NULL, &twice, &err), 0);
    assert_string_equal(once.sha256, twice.sha256);
    assert_int_equal(once.files, 1);
    assert_int_equal(once.bytes, 1);
    assert_int_equal(fchmodat(scratch.root_fd, "a", 0600, 0), 0);
    assert_int_equal(state_summarize(scratch.root_fd, NULL, &other, &err), 0);
    assert_string_not_equal(once.sha256, other.sha256);
}

static void after_a_failure_the_first_chunk_is_not_written(void **state)
{
    (void)state;
    for (int stored = 0; stored < 2; stored++) {
        cleanup_scratch struct scratch scratch;
        cleanup_store struct store store;
        struct error err = {0};

        scratch_init(&scratch);
        store_init(&store);
        write_noise(scratch.root_fd, "noise", 2500000);
        store.fails_after = stored;
        assert_int_equal(store_save(&store, scratch.root_fd, "u", 1, &err), -1);
        assert_int_equal(err.kind, ERROR_TEMPORARY);
        assert_int_equal(store.count, stored);
        assert_null(strchr(store.order, '0'));
    }
}

struct meddler {
    struct store *store;
    int root_fd;
    const char *name;
    size_t noise;
};

static int write_and_meddle(void *data, int64_t number, const void *bytes, size_t size,
                            struct error *err)
{
    struct meddler *meddler = data;

    write_noise(meddler->root_fd, meddler->name, meddler->noise);
    return store_write(meddler->store, number, bytes, size, err);
}

static void a_tree_that_changes_while_it_is_packed_is_a_conflict(void **state)
{
    static const struct {
        const char *name;
        size_t noise;
    } cases[] = {
        {"a", 3},       /* already packed: only its directory differs */
        {"noise", 9},   /* being packed */
        {"z", 3},       /* not packed yet */
        {"z", 3000000}, /* more chunks than before */
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_scratch struct scratch scratch;
        cleanup_store struct store store;
        struct meddler meddler = {.store = &store, .name = cases[i].name, .noise = cases[i].noise};
        struct state_summary summary = {0};
        struct error err = {0};

        scratch_init(&scratch);
        store_init(&store);
        write_noise(scratch.root_fd, "noise", 2200000);
        assert_int_equal(state_summarize(scratch.root_fd, NULL, &summary, &err), 0);
        store.summary = &summary;
        store.uuid = "u";
        meddler.root_fd = scratch.root_fd;
        assert_int_equal(
            state_write_chunks(scratch.root_fd, &summary, NULL, write_and_meddle, &meddler, &err),
            -1);
        assert_int_equal(err.kind, ERROR_CONFLICT);
        assert_null(strchr(store.order, '0'));
    }
}

static void a_tree_that_changed_between_the_passes_is_a_conflict(void **state)
{
    static const size_t noises[] = {5, 500000, 3000000, 3500000};

    (void)state;
    for (size_t i = 0; i < array_length(noises); i++) {
        cleanup_scratch struct scratch scratch;
        cleanup_store struct store store;
        struct state_summary summary = {0};
        struct error err = {0};

        scratch_init(&scratch);
        store_init(&store);
        write_noise(scratch.root_fd, "noise", 1500000);
        assert_int_equal(state_summarize(scratch.root_fd, NULL, &summary, &err), 0);
        store.summary = &summary;
        store.uuid = "u";
        write_noise(scratch.root_fd, "noise", noises[i]);
        assert_int_equal(
            state_write_chunks(scratch.root_fd, &summary, NULL, store_write, &store, &err), -1);
        assert_int_equal(err.kind, ERROR_CONFLICT);
        assert_null(strchr(store.order, '0'));
    }
}

static void annotations_are_those_of_go_and_ours(void **state)
{
    const struct state_summary summary = {.sha256 = "abc", .packed_bytes = 99, .chunk_count = 3};
    cleanup_json json_t *full = state_chunk_annotations(&summary, 2, "uuid", 7, "job", "pod");
    cleanup_json json_t *bare = state_chunk_annotations(&summary, 0, "uuid", 7, NULL, NULL);
    cleanup_json json_t *expected =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", ANNOTATION_STATE_UUID, "uuid",
                  ANNOTATION_STATE_NUMBER, "2", ANNOTATION_STATE_CHUNKS, "3",
                  ANNOTATION_STATE_SHA256, "abc", ANNOTATION_STATE_SEQUENCE, "7",
                  ANNOTATION_STATE_BYTES, "99", ANNOTATION_JOB, "job", ANNOTATION_POD_UID, "pod");

    (void)state;
    assert_true(json_equal(full, expected));
    assert_null(json_object_get(bare, ANNOTATION_JOB));
    assert_null(json_object_get(bare, ANNOTATION_POD_UID));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_have_the_exact_size_and_the_first_is_written_last),
        cmocka_unit_test(an_archive_that_fills_its_chunks_has_no_empty_one),
        cmocka_unit_test(the_sha256_depends_only_on_the_tree),
        cmocka_unit_test(after_a_failure_the_first_chunk_is_not_written),
        cmocka_unit_test(a_tree_that_changes_while_it_is_packed_is_a_conflict),
        cmocka_unit_test(a_tree_that_changed_between_the_passes_is_a_conflict),
        cmocka_unit_test(annotations_are_those_of_go_and_ours),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
