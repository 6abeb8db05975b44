/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of the state, and the final save after it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store_fixture.h"

/* Makes a state of one file, which is that of the last generation. */
static void store_last(struct fixture *fixture)
{
    struct state_outcome outcome = {0};

    scratch_write(fixture->scratch, "state/file", "x", 1);
    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    memcpy(fixture->last.sha256, outcome.sha256, sizeof(fixture->last.sha256));
}

static void take_snapshot(struct fixture *fixture, struct snapshot *ret_snapshot)
{
    struct origin origin = fixture->origin;
    struct store store = fixture->store;

    fixture->last.sequence = 6;
    origin.sequence = store_snapshot_sequence(8, 6);
    store.origin = &origin;
    *ret_snapshot = (struct snapshot){0};
    store_snapshot(&store, &ret_snapshot->outcome);
    fixture->store.snapshot = ret_snapshot;
    fixture->sink.order[0] = '\0';
    fixture->sink.finished = 0;
}

static void a_state_that_equals_the_snapshot_is_not_written_again(void **state)
{
    struct fixture *fixture = *state;
    struct snapshot snapshot = {0};
    struct state_outcome outcome = {0};

    scratch_write(fixture->scratch, "state/file", "x", 1);
    take_snapshot(fixture, &snapshot);
    assert_int_equal(snapshot.outcome.delivery, DELIVERY_STORED);
    assert_int_equal(snapshot.outcome.sequence, 7);
    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    assert_int_equal(outcome.sequence, 7);
    assert_int_equal(outcome.bytes, 1);
    assert_string_equal(fixture->sink.order, "");
}

static void a_state_that_has_changed_since_the_snapshot_replaces_it(void **state)
{
    struct fixture *fixture = *state;
    struct snapshot snapshot = {0};
    struct state_outcome outcome = {0};

    scratch_write(fixture->scratch, "state/file", "x", 1);
    take_snapshot(fixture, &snapshot);
    snapshot.ended_at_ms = loop_now_ms(fixture->loop);
    scratch_write(fixture->scratch, "state/file", "yz", 2);
    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    assert_int_equal(outcome.sequence, 8);
    assert_int_equal(outcome.bytes, 2);
    assert_string_equal(fixture->sink.order, "0");
    assert_int_equal(fixture->sink.uuids, 2);
    /* The two differ in their creation times, which have seconds. */
    assert_true(loop_now_ms(fixture->loop) > snapshot.ended_at_ms + 1000);
}

static void a_state_that_is_what_it_was_before_the_snapshot_replaces_the_snapshot(void **state)
{
    struct fixture *fixture = *state;
    struct snapshot snapshot = {0};
    struct state_outcome outcome = {0};

    store_last(fixture);
    scratch_write(fixture->scratch, "state/temporary", "x", 1);
    take_snapshot(fixture, &snapshot);
    assert_int_equal(snapshot.outcome.delivery, DELIVERY_STORED);
    assert_int_equal(unlinkat(fixture->scratch->fd, "state/temporary", 0), 0);
    store_state(&fixture->store, &outcome);
    assert_string_equal(outcome.sha256, fixture->last.sha256);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    assert_int_equal(outcome.sequence, 8);
    assert_string_equal(fixture->sink.order, "0");
}

static void a_snapshot_of_an_unchanged_state_is_not_written(void **state)
{
    struct fixture *fixture = *state;
    struct snapshot snapshot = {0};
    struct state_outcome outcome = {0};

    store_last(fixture);
    take_snapshot(fixture, &snapshot);
    assert_int_equal(snapshot.outcome.delivery, DELIVERY_UNCHANGED);
    assert_int_equal(fixture->sink.uuids, 1);
    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_UNCHANGED);
    assert_int_equal(outcome.sequence, 6);
}

/* The answer to the first request may have been lost, and the second one may be refused. */
static void after_a_snapshot_that_may_be_complete_the_state_is_always_stored(void **state)
{
    static const struct {
        size_t size;
        bool may_be_complete;
    } cases[] = {{100, true}, {2500000, false}};
    struct fixture *fixture = *state;
    struct state_outcome outcome = {0};

    store_last(fixture);
    for (size_t i = 0; i < array_length(cases); i++) {
        struct snapshot snapshot = {0};

        write_noise(fixture->scratch, "state/temporary", cases[i].size);
        fixture->sink.chunk_failure = ERROR_DENIED;
        take_snapshot(fixture, &snapshot);
        assert_int_equal(snapshot.outcome.delivery, DELIVERY_FAILED);
        assert_int_equal(snapshot.outcome.may_be_complete, cases[i].may_be_complete);
        fixture->sink.chunk_failure = ERROR_NONE;
        assert_int_equal(unlinkat(fixture->scratch->fd, "state/temporary", 0), 0);
        store_state(&fixture->store, &outcome);
        assert_string_equal(outcome.sha256, fixture->last.sha256);
        assert_int_equal(outcome.delivery,
                         cases[i].may_be_complete ? DELIVERY_STORED : DELIVERY_UNCHANGED);
        assert_int_equal(outcome.sequence, cases[i].may_be_complete ? 8 : 6);
    }
}

static void add_later_file(struct scratch *scratch)
{
    scratch_write(scratch, "state/zz-new", "x", 1);
}

/* Not noticed by packing, which has not come to this directory: only the digest is different. */
static void change_later_file(struct scratch *scratch)
{
    scratch_write(scratch, "state/zz/file", "y", 1);
}

static void a_snapshot_of_a_state_that_changes_meanwhile_stays_incomplete(void **state)
{
    static void (*const changes[])(struct scratch *) = {append, add_later_file, change_later_file};
    struct fixture *fixture = *state;

    assert_int_equal(mkdirat(fixture->scratch->fd, "state/zz", 0700), 0);
    scratch_write(fixture->scratch, "state/zz/file", "x", 1);
    for (size_t i = 0; i < array_length(changes); i++) {
        struct state_outcome outcome = {0};

        write_noise(fixture->scratch, "state/noise", 3500000);
        fixture->sink.order[0] = '\0';
        fixture->sink.on_chunk = changes[i];
        store_snapshot(&fixture->store, &outcome);
        assert_int_equal(outcome.delivery, DELIVERY_FAILED);
        assert_int_equal(outcome.err.kind, ERROR_CONFLICT);
        assert_int_equal(outcome.chunks, 4); /* the controller needs to know how large it is */
        assert_null(strchr(fixture->sink.order, '0'));
        assert_int_equal(fixture->sink.finished, 0);
        assert_int_equal(fixture->sink.uuids, i + 1); /* one attempt */
    }
}

static bool is_third_question(void *data)
{
    struct memory_sink *sink = data;

    return ++sink->asked == 3;
}

static void an_obsolete_snapshot_is_abandoned(void **state)
{
    struct fixture *fixture = *state;
    struct state_outcome outcome = {0};

    write_noise(fixture->scratch, "state/noise", 2500000);
    fixture->store.is_obsolete = is_third_question;
    fixture->store.data = &fixture->sink;
    store_snapshot(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_FAILED);
    assert_int_equal(outcome.err.kind, ERROR_CANCELLED);
    assert_string_equal(fixture->sink.order, "12");
    assert_int_equal(fixture->sink.finished, 0);
}

struct progress {
    char text[64]; /* without repetitions */
    int64_t stored, chunks;
    int calls;
};

static void note_progress(void *data, int64_t stored, int64_t chunks)
{
    struct progress *progress = data;
    size_t used = strlen(progress->text);

    progress->calls++;
    if (used > 0 && stored == progress->stored && chunks == progress->chunks)
        return;
    progress->stored = stored;
    progress->chunks = chunks;
    (void)snprintf(progress->text + used, sizeof(progress->text) - used, "%lld/%lld ",
                   (long long)stored, (long long)chunks);
}

static void the_progress_is_reported_while_packing_and_before_each_chunk(void **state)
{
    struct fixture *fixture = *state;
    struct state_outcome outcome = {0};
    struct progress progress = {0};

    write_noise(fixture->scratch, "state/noise", 2500000);
    fixture->store.on_progress = note_progress;
    fixture->store.data = &progress;
    store_snapshot(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    assert_string_equal(progress.text, "0/0 0/3 1/3 2/3 ");
}

/* A state can be large and give a single chunk. The controller would take wait for dead. */
static void the_progress_is_reported_without_any_chunk(void **state)
{
    enum { SIZE = 8 << 20, PIECES_MIN = SIZE >> 20 };
    struct fixture *fixture = *state;
    struct state_outcome outcome = {0};
    struct progress progress = {0};

    write_zeros(fixture->scratch, "state/zeros", SIZE);
    fixture->store.on_progress = note_progress;
    fixture->store.data = &progress;
    store_snapshot(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_STORED);
    assert_string_equal(progress.text, "0/0 0/1 ");
    assert_true(progress.calls > 2 * PIECES_MIN); /* in both passes */
    progress = (struct progress){0};
    fixture->sink.chunk_failure = ERROR_DENIED;
    memcpy(fixture->last.sha256, outcome.sha256, sizeof(fixture->last.sha256));
    store_snapshot(&fixture->store, &outcome); /* unchanged: there is no second pass */
    assert_int_equal(outcome.delivery, DELIVERY_UNCHANGED);
    assert_string_equal(progress.text, "0/0 ");
    assert_true(progress.calls > PIECES_MIN);
}

static void a_failure_after_a_snapshot_names_the_snapshot(void **state)
{
    struct fixture *fixture = *state;
    struct snapshot snapshot = {0};
    struct state_outcome outcome = {0};

    scratch_write(fixture->scratch, "state/file", "x", 1);
    take_snapshot(fixture, &snapshot);
    scratch_write(fixture->scratch, "state/file", "yz", 2);
    fixture->sink.chunk_failure = ERROR_DENIED;
    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.delivery, DELIVERY_FAILED);
    assert_int_equal(outcome.snapshot_sequence, 7);
    fixture->store.snapshot = NULL;
    store_state(&fixture->store, &outcome);
    assert_int_equal(outcome.snapshot_sequence, 0);
}

static void a_snapshot_is_between_the_last_generation_and_that_of_the_run(void **state)
{
    (void)state;
    assert_int_equal(store_snapshot_sequence(8, 6), 7);
    assert_int_equal(store_snapshot_sequence(1700000000, 0), 1699999999);
    /* No room. */
    assert_int_equal(store_snapshot_sequence(8, 7), 0);
    assert_int_equal(store_snapshot_sequence(8, 8), 0);
    assert_int_equal(store_snapshot_sequence(1, 0), 0);
    /* The controller gives none (Go). */
    assert_int_equal(store_snapshot_sequence(0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_state_that_equals_the_snapshot_is_not_written_again,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_state_that_has_changed_since_the_snapshot_replaces_it,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_state_that_is_what_it_was_before_the_snapshot_replaces_the_snapshot, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(a_snapshot_of_an_unchanged_state_is_not_written, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            after_a_snapshot_that_may_be_complete_the_state_is_always_stored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_snapshot_of_a_state_that_changes_meanwhile_stays_incomplete, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_obsolete_snapshot_is_abandoned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            the_progress_is_reported_while_packing_and_before_each_chunk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_progress_is_reported_without_any_chunk, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_failure_after_a_snapshot_names_the_snapshot, set_up,
                                        tear_down),
        cmocka_unit_test(a_snapshot_is_between_the_last_generation_and_that_of_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
