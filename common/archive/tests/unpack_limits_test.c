/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of an archive (bytes, entries, depth, ratio, header bytes, links), and the memory that
 * unpacking needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <zlib.h>

#include <cmocka.h>

#include "common/archive/tests/memory_source.h"
#include "common/archive/tests/scratch.h"
#include "common/archive/tests/tar_builder.h"
#include "common/archive/unpack.h"
#include "common/base/memory.h"

static const struct archive_limits small = {
    .bytes_max = 100, .file_max = 60, .entries_max = 4, .depth_max = 3, .ratio_max = 0};

static char sixty_one[62], sixty[61], fifty[51];

static const struct {
    const char *name;
    struct tar_spec specs[6];
    bool is_fine;
} limited[] = {
    {"one file at its limit", {{.name = "a", .data = sixty}}, true},
    {"one file over its limit", {{.name = "a", .data = sixty_one}}, false},
    {"all files at their limit",
     {{.name = "a", .data = fifty}, {.name = "b", .data = fifty}},
     true},
    {"all files over their limit",
     {{.name = "a", .data = fifty}, {.name = "b", .data = fifty}, {.name = "c", .data = "1"}},
     false},
    {"as many entries as allowed",
     {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}},
     true},
    {"one entry more",
     {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}, {.name = "e"}},
     false},
    {"the same entry again counts",
     {{.name = "a"}, {.name = "a"}, {.name = "a"}, {.name = "a"}, {.name = "a"}},
     false},
    {"as deep as allowed", {{.name = "a/b/c"}}, true},
    {"one deeper", {{.name = "a/b/c/d"}}, false},
    {"copies of links count as bytes",
     {{.name = "a", .data = sixty}, {.name = "b", .type = '2', .target = "a"}},
     false},
};

static int unpack_bytes(const struct scratch *scratch, enum unpack_policy policy,
                        const struct archive_limits *limits, const struct buffer *packed,
                        struct error *err)
{
    const struct unpack_options options = {.policy = policy, .limits = limits};
    struct memory_source source = {.bytes = packed->data, .size = packed->size, .piece = 65536};
    struct unpack_counts counts = {0};

    return unpack_stream(scratch->root_fd, &options, memory_source_read, &source, &counts, err);
}

static void limits_are_enforced_exactly(void **state)
{
    (void)state;
    memset(sixty_one, '1', sizeof(sixty_one) - 1);
    memset(sixty, '1', sizeof(sixty) - 1);
    memset(fifty, '1', sizeof(fifty) - 1);
    for (size_t i = 0; i < array_length(limited); i++) {
        cleanup_buffer struct buffer tar = {0};
        cleanup_scratch struct scratch scratch;
        struct error err = {0};
        int result = 0;

        scratch_init(&scratch);
        tar_builder_init(&tar);
        for (size_t j = 0; j < array_length(limited[i].specs) && limited[i].specs[j].name; j++)
            tar_builder_add(&tar, &limited[i].specs[j]);
        tar_builder_end(&tar);
        result = unpack_bytes(&scratch, UNPACK_BLUEPRINT, &small, &tar, &err);
        if ((result == 0) != limited[i].is_fine || (result < 0 && err.kind != ERROR_TOO_LARGE))
            fail_msg("%s: %s", limited[i].name, err.text);
    }
}

/* A tar with one file of count zeros. */
static void add_zeros(struct buffer *tar, size_t count)
{
    cleanup_free char *zeros = xcalloc(count, 1);

    tar_builder_init(tar);
    tar_builder_add(tar, &(struct tar_spec){.name = "zeros", .size = count});
    tar_builder_add_bytes(tar, zeros, count);
    tar_builder_end(tar);
}

static void bombs_are_stopped_by_their_ratio(void **state)
{
    static const enum tar_packing packings[] = {TAR_GZIP, TAR_ZSTD, TAR_XZ, TAR_BZIP2};

    (void)state;
    for (size_t i = 0; i < array_length(packings); i++) {
        cleanup_buffer struct buffer tar = {0}, packed = {0};
        cleanup_scratch struct scratch scratch;
        struct error err = {0};

        scratch_init(&scratch);
        add_zeros(&tar, 8 << 20);
        packed = tar_builder_pack(tar.data, tar.size, packings[i]);
        assert_int_equal(
            unpack_bytes(&scratch, UNPACK_BLUEPRINT, &ARCHIVE_LIMITS_BLUEPRINT, &packed, &err), -1);
        assert_int_equal(err.kind, ERROR_TOO_LARGE);
        assert_int_equal(unpack_bytes(&scratch, UNPACK_STATE, &ARCHIVE_LIMITS_STATE, &packed, &err),
                         0);
    }
}

static void a_sparse_file_counts_for_the_ratio(void **state)
{
    cleanup_buffer struct buffer tar = {0};
    cleanup_scratch struct scratch scratch;
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    tar_builder_init(&tar);
    tar_builder_add(
        &tar, &(struct tar_spec){
                  .name = "s",
                  .pax = "GNU.sparse.size=33554432\nGNU.sparse.numblocks=1\nGNU.sparse.map=0,1\n",
                  .data = "1"});
    tar_builder_end(&tar);
    assert_int_equal(
        unpack_bytes(&scratch, UNPACK_BLUEPRINT, &ARCHIVE_LIMITS_BLUEPRINT, &tar, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

static void a_bomb_after_the_end_of_the_archive_is_stopped(void **state)
{
    cleanup_buffer struct buffer tar = {0}, packed = {0};
    cleanup_free char *zeros = xcalloc(8 << 20, 1);
    cleanup_scratch struct scratch scratch;
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "a", .data = "1"});
    tar_builder_end(&tar);
    tar_builder_add_bytes(&tar, zeros, 8 << 20);
    packed = tar_builder_pack(tar.data, tar.size, TAR_GZIP);
    assert_int_equal(
        unpack_bytes(&scratch, UNPACK_BLUEPRINT, &ARCHIVE_LIMITS_BLUEPRINT, &packed, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

static void bytes_after_the_archive_count_for_its_size(void **state)
{
    const struct archive_limits limits = {
        .bytes_max = 100, .file_max = 100, .entries_max = 1, .depth_max = 1};
    enum { TAIL_SIZE = 17 << 20 };
    cleanup_free char *zeros = xcalloc(1, TAIL_SIZE);
    cleanup_buffer struct buffer tar = {0};
    cleanup_scratch struct scratch scratch;
    const struct unpack_options options = {.policy = UNPACK_STATE, .limits = &limits};
    struct memory_source source = {.piece = 65536};
    struct unpack_counts counts = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "f", .data = "1"});
    tar_builder_end(&tar);
    tar_builder_add_bytes(&tar, zeros, TAIL_SIZE);
    source.bytes = tar.data;
    source.size = tar.size;
    assert_int_equal(
        unpack_stream(scratch.root_fd, &options, memory_source_read, &source, &counts, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_string_equal(err.text, "archive unpacks to more than 16781412 bytes");
}

static void too_many_links_are_refused_before_they_fill_the_memory(void **state)
{
    cleanup_buffer struct buffer tar = {0};
    cleanup_scratch struct scratch scratch;
    struct error err = {0};
    char target[101] = {0};

    (void)state;
    memset(target, 't', 100);
    scratch_init(&scratch);
    tar_builder_init(&tar);
    for (int i = 0; i < 9000; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "%d", i);
        tar_builder_add(&tar, &(struct tar_spec){.name = name, .type = '2', .target = target});
    }
    tar_builder_end(&tar);
    assert_int_equal(
        unpack_bytes(&scratch, UNPACK_BLUEPRINT, &ARCHIVE_LIMITS_BLUEPRINT, &tar, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

/* An archive that is generated while it is read: the same entries repeatedly. */
struct endless {
    z_stream stream;
    unsigned char packed[65536];
    char plain[65536];
    size_t plain_size;
    uint64_t left; /* remaining pieces, including the end blocks */
    bool is_finished;
};

static ssize_t read_endless(void *data, const void **ret_bytes, struct error *err)
{
    struct endless *endless = data;

    (void)err;
    endless->stream.next_out = endless->packed;
    endless->stream.avail_out = sizeof(endless->packed);
    while (endless->stream.avail_out && !endless->is_finished) {
        if (!endless->stream.avail_in && endless->left) {
            if (!--endless->left) /* the end of the archive */
                memset(endless->plain, 0, endless->plain_size = 1024);
            endless->stream.next_in = (Bytef *)endless->plain;
            endless->stream.avail_in = (uInt)endless->plain_size;
        }
        endless->is_finished = deflate(&endless->stream, endless->left || endless->stream.avail_in
                                                             ? Z_NO_FLUSH
                                                             : Z_FINISH) == Z_STREAM_END;
    }
    *ret_bytes = endless->packed;
    return (ssize_t)(sizeof(endless->packed) - endless->stream.avail_out);
}

/* Sanitizers use additional memory. */
#if defined(__SANITIZE_ADDRESS__)
enum { MEMORY_MAX_KIB = 1024 * 1024 };
#else
enum { MEMORY_MAX_KIB = 16 * 1024 };
#endif

/* Unpacks in a child process and returns how much its peak memory grew. */
static long unpack_endless(const struct tar_spec *spec, size_t repeats_a_piece, uint64_t pieces,
                           const struct archive_limits *limits, enum error_kind expected)
{
    cleanup_scratch struct scratch scratch;
    struct rusage usage = {0};
    int status = 0;
    pid_t child = -1;

    scratch_init(&scratch);
    child = fork();
    if (child == 0) {
        const struct unpack_options options = {.policy = UNPACK_STATE, .limits = limits};
        struct endless *endless = xcalloc(1, sizeof(*endless));
        struct unpack_counts counts = {0};
        struct error err = {0};
        struct buffer piece = {0};

        tar_builder_init(&piece);
        for (size_t i = 0; i < repeats_a_piece; i++)
            tar_builder_add(&piece, spec);
        memcpy(endless->plain, piece.data, piece.size);
        endless->plain_size = piece.size;
        endless->left = pieces;
        (void)deflateInit2(&endless->stream, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
        (void)!unpack_stream(scratch.root_fd, &options, read_endless, endless, &counts, &err);
        if (err.kind != expected)
            (void)fprintf(stderr, "%s\n", err.text);
        buffer_done(&piece);
        _exit(err.kind == expected ? 0 : 1);
    }
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    assert_int_equal(status, 0);
    return usage.ru_maxrss;
}

static void a_million_entries_are_refused(void **state)
{
    struct archive_limits limits = ARCHIVE_LIMITS_BLUEPRINT;
    const struct tar_spec directory = {.name = "a", .type = '5', .mode = 0755};

    (void)state;
    limits.ratio_max = 0;
    (void)unpack_endless(&directory, 100, 10000, &limits, ERROR_TOO_LARGE);
}

/* 5000 directories with paths of 4 KB would take 20 MiB in memory. */
static void memory_does_not_grow_with_directories(void **state)
{
    char path[128 * 31 + 1];
    const struct tar_spec directory = {.name = "a", .type = '5', .mode = 0755, .gnu_name = path};

    (void)state;
    memset(path, 'd', sizeof(path) - 1);
    for (size_t i = 30; i < sizeof(path); i += 31)
        path[i] = '/';
    path[sizeof(path) - 1] = '\0';
    assert_in_range(unpack_endless(&directory, 12, 420, &ARCHIVE_LIMITS_STATE, ERROR_NONE), 1,
                    MEMORY_MAX_KIB);
}

static void an_oversized_header_is_refused(void **state)
{
    cleanup_buffer struct buffer tar = {0};
    cleanup_free char *name = xmalloc(900000);
    cleanup_scratch struct scratch scratch;
    struct error err = {0};

    (void)state;
    memset(name, 'n', 900000);
    name[899999] = '\0';
    scratch_init(&scratch);
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "a", .gnu_name = name});
    tar_builder_end(&tar);
    assert_int_equal(unpack_bytes(&scratch, UNPACK_STATE, &ARCHIVE_LIMITS_STATE, &tar, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

/* libarchive keeps a sparse map as a list: one of four million elements would be 128 MiB. */
static void an_oversized_sparse_map_is_refused(void **state)
{
    enum { ELEMENTS = 4000000 };
    cleanup_free char *map = xmalloc(16 + (size_t)ELEMENTS * 4 + 1);
    size_t size = (size_t)snprintf(map, 16, "%d\n", ELEMENTS);
    cleanup_buffer struct buffer tar = {0};
    cleanup_scratch struct scratch scratch;
    struct error err = {0};

    (void)state;
    for (int i = 0; i < ELEMENTS; i++) {
        memcpy(map + size, "0\n0\n", 4);
        size += 4;
    }
    map[size] = '\0';
    scratch_init(&scratch);
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "s",
                                             .pax = "GNU.sparse.major=1\nGNU.sparse.minor=0\n"
                                                    "GNU.sparse.name=s\nGNU.sparse.realsize=1\n",
                                             .data = map});
    tar_builder_end(&tar);
    assert_int_equal(unpack_bytes(&scratch, UNPACK_STATE, &ARCHIVE_LIMITS_STATE, &tar, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_non_null(strstr(err.text, "header"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_enforced_exactly),
        cmocka_unit_test(bombs_are_stopped_by_their_ratio),
        cmocka_unit_test(a_sparse_file_counts_for_the_ratio),
        cmocka_unit_test(a_bomb_after_the_end_of_the_archive_is_stopped),
        cmocka_unit_test(too_many_links_are_refused_before_they_fill_the_memory),
        cmocka_unit_test(a_million_entries_are_refused),
        cmocka_unit_test(memory_does_not_grow_with_directories),
        cmocka_unit_test(an_oversized_header_is_refused),
        cmocka_unit_test(an_oversized_sparse_map_is_refused),
        /* Last, because its own memory would distort the measurements of other tests. */
        cmocka_unit_test(bytes_after_the_archive_count_for_its_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
