/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "store_fixture.h"

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
