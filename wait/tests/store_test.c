/* SPDX-License-Identifier: Apache-2.0 */
/* A real volume in a temporary directory, and a sink that records what it gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/base/memory.h"
#include "scratch.h"
#include "wait/store.h"

struct memory_sink {
    struct sink sink;
    char order[64]; /* chunk numbers as they came, "e" for exports, "c" for cleared */
    char uuid[UUID_TEXT_SIZE];
    char exports[64];
    size_t bytes;
    int finished, uuids;
    enum error_kind chunk_failure, export_failure; /* ERROR_NONE: none */
    void (*on_chunk)(struct scratch *scratch);     /* changes made by main in the meantime */
    struct scratch *scratch;
};

static int write_chunk(struct sink *sink, const struct generation *generation, int64_t number,
                       const void *bytes, size_t size, struct error *err)
{
    struct memory_sink *self = (struct memory_sink *)sink;
    size_t used = strlen(self->order);

    (void)bytes;
    if (self->chunk_failure != ERROR_NONE)
        return error_set(err, self->chunk_failure, "the sink is full");
    (void)snprintf(self->order + used, sizeof(self->order) - used, "%lld", (long long)number);
    self->bytes += size;
    if (strcmp(self->uuid, generation->uuid) != 0)
        self->uuids++;
    memcpy(self->uuid, generation->uuid, sizeof(self->uuid));
    if (self->on_chunk) {
        void (*on_chunk)(struct scratch *) = self->on_chunk;

        self->on_chunk = NULL;
        on_chunk(self->scratch);
    }
    return 0;
}

static int finish_generation(struct sink *sink, const struct generation *generation,
                             struct error *err)
{
    (void)generation;
    (void)err;
    ((struct memory_sink *)sink)->finished++;
    return 0;
}

static int put_exports(struct sink *sink, const struct origin *origin, const void *bytes,
                       size_t size, struct error *err)
{
    struct memory_sink *self = (struct memory_sink *)sink;
    size_t used = strlen(self->order);

    (void)origin;
    if (self->export_failure != ERROR_NONE)
        return error_set(err, self->export_failure, "no exports today");
    (void)snprintf(self->order + used, sizeof(self->order) - used, "e");
    (void)snprintf(self->exports, sizeof(self->exports), "%.*s", (int)size, (const char *)bytes);
    return 0;
}

static int clear_exports(struct sink *sink, const struct origin *origin, struct error *err)
{
    struct memory_sink *self = (struct memory_sink *)sink;
    size_t used = strlen(self->order);

    (void)origin;
    (void)err;
    (void)snprintf(self->order + used, sizeof(self->order) - used, "c");
    return 0;
}

static const struct sink_operations operations = {
    .write_chunk = write_chunk,
    .finish_generation = finish_generation,
    .put_exports = put_exports,
    .clear_exports = clear_exports,
};

struct fixture {
    struct scratch *scratch;
    struct memory_sink sink;
    struct volume volume;
    struct loop *loop;
    struct observed observed;
    struct deadline deadline;
    struct origin origin;
    struct last_generation last;
    struct store store;
};

static int set_up(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof(*fixture));
    void *scratch = NULL;
    struct error err = {0};
    cleanup_free char *state_path = NULL;
    cleanup_free char *exports_path = NULL;

    if (scratch_set_up(&scratch) < 0)
        return -1;
    fixture->scratch = scratch;
    if (mkdirat(fixture->scratch->fd, "state", 0700) < 0 ||
        mkdirat(fixture->scratch->fd, "exports", 0700) < 0)
        return -1;
    state_path = xasprintf("%s/state", fixture->scratch->path);
    exports_path = xasprintf("%s/exports/values", fixture->scratch->path);
    fixture->volume = (struct volume)VOLUME_INIT;
    if (volume_open(state_path, exports_path, &fixture->volume, &err) < 0 ||
        loop_new(clock_system(), &fixture->loop, &err) < 0)
        return -1;
    fixture->sink.sink.operations = &operations;
    fixture->sink.scratch = fixture->scratch;
    fixture->observed = (struct observed){.end = {.kind = MAIN_ENDED}, .grace_ms = 300000};
    fixture->deadline = (struct deadline){.loop = fixture->loop, .observed = &fixture->observed};
    fixture->origin = (struct origin){
        .item_name = "i", .item_namespace = "n", .job = "", .pod_uid = "", .sequence = 8};
    fixture->last.sequence = 7;
    fixture->store = (struct store){.sink = &fixture->sink.sink,
                                    .volume = &fixture->volume,
                                    .deadline = &fixture->deadline,
                                    .origin = &fixture->origin,
                                    .last = &fixture->last};
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    void *scratch = fixture->scratch;

    volume_done(&fixture->volume);
    loop_free(fixture->loop);
    (void)scratch_tear_down(&scratch);
    free(fixture);
    return 0;
}

static void write_noise(struct scratch *scratch, const char *path, size_t size)
{
    cleanup_free unsigned char *noise = xmalloc(size);
    uint32_t seed = 1;

    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        noise[i] = (unsigned char)(seed >> 24);
    }
    scratch_write(scratch, path, noise, size);
}

static void a_large_state_is_stored_in_chunks_the_first_one_last(void **state)
{
    struct fixture *fixture = *state;
    struct state_outcome outcome = {0};

    write_noise(fixture->scratch, "state/noise", 2500000);
    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    assert_string_equal(fixture->sink.order, "120");
    assert_int_equal(outcome.chunks, 3);
    assert_int_equal(outcome.sequence, 8);
    assert_int_equal(outcome.files, 1);
    assert_int_equal(outcome.bytes, 2500000);
    assert_int_equal(outcome.packed_bytes, fixture->sink.bytes); /* no padding */
    assert_int_equal(fixture->sink.finished, 1);
}

static void an_empty_state_is_stored_too(void **state)
{
    struct fixture *fixture = *state;
    struct state_outcome outcome = {0};

    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    assert_string_equal(fixture->sink.order, "0");
    assert_int_equal(outcome.files, 0);
    assert_true(fixture->sink.bytes < 200);
}

static void an_unchanged_state_is_not_written(void **state)
{
    struct fixture *fixture = *state;
    struct state_outcome outcome = {0};

    scratch_write(fixture->scratch, "state/file", "x", 1);
    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    memcpy(fixture->last.sha256, outcome.sha256, sizeof(fixture->last.sha256));
    fixture->last.sequence = 8;
    fixture->sink.order[0] = '\0';
    fixture->sink.finished = 0;
    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_UNCHANGED);
    assert_int_equal(outcome.sequence, 8);
    assert_string_equal(fixture->sink.order, "");
    assert_int_equal(fixture->sink.finished, 0);
}

static void append(struct scratch *scratch)
{
    int fd = openat(scratch->fd, "state/noise", O_WRONLY | O_APPEND | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "more", 4), 4);
    (void)close(fd);
}

static void a_state_that_changes_while_it_is_stored_is_stored_again_with_a_new_uuid(void **state)
{
    struct fixture *fixture = *state;
    struct state_outcome outcome = {0};

    write_noise(fixture->scratch, "state/noise", 2500000);
    fixture->sink.on_chunk = append;
    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    assert_int_equal(outcome.bytes, 2500004);
    assert_int_equal(fixture->sink.uuids, 2);
    assert_int_equal(fixture->sink.finished, 1);
    /* Chunk 0 of the incomplete generation was not written. */
    assert_int_equal(strcspn(fixture->sink.order, "0"), strlen(fixture->sink.order) - 1);
}

static void sockets_and_fifos_are_not_stored_and_never_block(void **state)
{
    struct fixture *fixture = *state;
    struct state_outcome outcome = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/state/socket",
                   fixture->scratch->path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(mkfifoat(fixture->scratch->fd, "state/fifo", 0600), 0);
    assert_int_equal(symlinkat("/etc/shadow", fixture->scratch->fd, "state/link"), 0);
    scratch_write(fixture->scratch, "state/file", "x", 1);
    store_state(&fixture->store, &outcome);
    (void)close(fd);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    assert_int_equal(outcome.bytes, 1);
}

static void a_state_directory_that_is_missing_or_a_symlink_is_an_error(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(unlinkat(fixture->scratch->fd, "state", AT_REMOVEDIR), 0);
    for (int i = 0; i < 2; i++) {
        struct state_outcome outcome = {0};

        if (i)
            assert_int_equal(symlinkat("/etc", fixture->scratch->fd, "state"), 0);
        store_state(&fixture->store, &outcome);
        assert_int_equal(outcome.delivery, DELIVERY_FAILED);
        assert_non_null(strstr(outcome.err.text, "$STATE_PATH: "));
        assert_string_equal(fixture->sink.order, "");
    }
}

static void exports_are_stored_even_if_the_state_fails(void **state)
{
    struct fixture *fixture = *state;
    struct state_outcome state_outcome = {0};
    struct export_outcome export_outcome = {0};

    fixture->sink.chunk_failure = ERROR_DENIED;
    scratch_write(fixture->scratch, "exports/values", "a: 1\n", 5);
    store_state(&fixture->store, &state_outcome);
    store_exports(&fixture->store, &export_outcome);
    assert_int_equal(state_outcome.delivery, DELIVERY_FAILED);
    assert_int_equal(state_outcome.err.kind, ERROR_DENIED);
    assert_int_equal(export_outcome.delivery, DELIVERY_STORED);
    assert_string_equal(fixture->sink.exports, "a: 1\n");
    assert_string_equal(fixture->sink.order, "e");
}

static void without_an_export_file_the_export_of_an_earlier_run_is_cleared(void **state)
{
    struct fixture *fixture = *state;
    struct export_outcome outcome = {0};

    store_exports(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_NONE);
    assert_string_equal(fixture->sink.order, "c");
}

static void an_invalid_export_file_is_not_stored(void **state)
{
    struct fixture *fixture = *state;
    struct export_outcome outcome = {0};

    scratch_write(fixture->scratch, "exports/values", "- 1\n", 4);
    store_exports(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_FAILED);
    assert_string_equal(fixture->sink.order, "");
    fixture->sink.export_failure = ERROR_DENIED;
    scratch_write(fixture->scratch, "exports/values", "a: 1\n", 5);
    store_exports(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_FAILED);
    assert_string_equal(outcome.err.text, "no exports today");
}

static const struct {
    int64_t given, last, created, sequence;
} sequences[] = {
    {12, 5, 1700000000, 12},                 /* given by the controller */
    {0, 5, 0, 6},                            /* no pod seen */
    {0, 5, 1700000000, 1700000000},          /* Go controller */
    {0, 1700000000, 1700000000, 1700000001}, /* saved twice in a second */
    {0, 1800000000, 1700000000, 1800000001}, /* the clock was set back */
    {0, 0, 0, 1},
};

static void a_pod_created_later_has_a_higher_sequence(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(sequences); i++)
        assert_int_equal(
            store_sequence(sequences[i].given, sequences[i].last, sequences[i].created),
            sequences[i].sequence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_large_state_is_stored_in_chunks_the_first_one_last,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_state_is_stored_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unchanged_state_is_not_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_state_that_changes_while_it_is_stored_is_stored_again_with_a_new_uuid, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(sockets_and_fifos_are_not_stored_and_never_block, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_state_directory_that_is_missing_or_a_symlink_is_an_error,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(exports_are_stored_even_if_the_state_fails, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            without_an_export_file_the_export_of_an_earlier_run_is_cleared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_invalid_export_file_is_not_stored, set_up, tear_down),
        cmocka_unit_test(a_pod_created_later_has_a_higher_sequence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
