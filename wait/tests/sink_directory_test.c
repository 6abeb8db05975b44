/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/state/restore.h"
#include "scratch.h"
#include "wait/sink.h"

#define UUID "123e4567-e89b-42d3-a456-426614174000"
#define SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct origin origin = {
    .item_name = "item", .item_namespace = "ns", .job = "job-1", .pod_uid = "", .sequence = 12};

static struct sink *open_sink(const struct scratch *scratch)
{
    struct sink *sink = NULL;
    struct error err = {0};

    assert_int_equal(sink_directory_new(scratch->path, clock_system(), &sink, &err), 0);
    return sink;
}

static struct generation write_both(struct sink *sink, const struct state_summary *summary)
{
    struct generation generation = {.origin = &origin, .summary = summary, .uuid = UUID};
    struct error err = {0};

    assert_int_equal(sink->operations->write_chunk(sink, &generation, 1, "later", 5, &err), 0);
    assert_int_equal(sink->operations->write_chunk(sink, &generation, 0, "first", 5, &err), 0);
    return generation;
}

static void a_generation_gets_its_name_when_it_is_complete(void **state)
{
    const struct scratch *scratch = *state;
    cleanup_sink struct sink *sink = open_sink(scratch);
    const struct state_summary summary = {.sha256 = SHA256, .chunk_count = 2};
    struct generation generation = write_both(sink, &summary);
    struct error err = {0};
    cleanup_free char *bytes = NULL;
    cleanup_free char *metadata = NULL;
    cleanup_json json_t *doc = NULL;

    assert_int_equal(faccessat(scratch->fd, "state/12-" UUID, F_OK, 0), -1);
    assert_int_equal(sink->operations->finish_generation(sink, &generation, &err), 0);
    bytes = scratch_read(scratch, "state/12-" UUID "/0/config");
    metadata = scratch_read(scratch, "state/12-" UUID "/1/metadata.json");
    assert_string_equal(bytes, "first");
    assert_non_null(metadata);
    doc = json_loads(metadata, 0, NULL);
    assert_string_equal(
        json_string_value(doc_member(doc_get(doc, "annotations"), ANNOTATION_STATE_NUMBER)), "1");
    assert_non_null(doc_text(doc, "creationTimestamp"));
}

static void restore_reads_what_was_written(void **state)
{
    const struct scratch *scratch = *state;
    cleanup_sink struct sink *sink = open_sink(scratch);
    const struct state_summary summary = {.sha256 = SHA256, .chunk_count = 2};
    struct generation generation = write_both(sink, &summary);
    struct state_set set = {0};
    const struct state_generation *newest = NULL;
    struct error err = {0};
    int fd = -1;

    assert_int_equal(sink->operations->finish_generation(sink, &generation, &err), 0);
    fd = openat(scratch->fd, "state/12-" UUID, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(state_set_add_directory(&set, fd, &err), 0);
    state_set_arrange(&set);
    newest = state_set_newest(&set);
    assert_non_null(newest);
    assert_int_equal(newest->sequence, 12);
    assert_int_equal(newest->chunk_count, 2);
    assert_string_equal(newest->uuid, UUID);
    state_set_done(&set);
    (void)close(fd);
}

static void the_last_sequence_is_the_highest_of_complete_generations(void **state)
{
    const struct scratch *scratch = *state;
    cleanup_sink struct sink *sink = open_sink(scratch);
    struct last_generation last = {.sequence = 99};
    struct error err = {0};

    assert_int_equal(sink->operations->read_last(sink, &last, &err), 0);
    assert_int_equal(last.sequence, 0);
    assert_int_equal(mkdirat(scratch->fd, "state/9-a", 0700), 0);
    assert_int_equal(mkdirat(scratch->fd, "state/10-b", 0700), 0);
    assert_int_equal(mkdirat(scratch->fd, "state/.new-11-c", 0700), 0);
    /* Files of a user, and a sequence that is too high to have a successor. */
    assert_int_equal(mkdirat(scratch->fd, "state/12", 0700), 0);
    assert_int_equal(mkdirat(scratch->fd, "state/13-", 0700), 0);
    assert_int_equal(mkdirat(scratch->fd, "state/14.bak", 0700), 0);
    assert_int_equal(mkdirat(scratch->fd, "state/ 15-a", 0700), 0);
    assert_int_equal(mkdirat(scratch->fd, "state/9223372036854775807-a", 0700), 0);
    assert_int_equal(mkdirat(scratch->fd, "state/99999999999999999999-a", 0700), 0);
    assert_int_equal(sink->operations->read_last(sink, &last, &err), 0);
    assert_int_equal(last.sequence, 10);
    assert_string_equal(last.sha256, "");
}

static void exports_are_replaced_atomically_or_removed(void **state)
{
    const struct scratch *scratch = *state;
    cleanup_sink struct sink *sink = open_sink(scratch);
    struct error err = {0};

    for (int i = 0; i < 2; i++) {
        const char *text = i ? "{\"b\": 2}" : "{\"a\": 1, \"longer\": true}";
        cleanup_free char *stored = NULL;

        assert_int_equal(sink->operations->put_exports(sink, &origin, text, strlen(text), &err), 0);
        stored = scratch_read(scratch, "exports");
        assert_string_equal(stored, text);
    }
    assert_int_equal(sink->operations->clear_exports(sink, &origin, &err), 0);
    assert_null(scratch_read(scratch, "exports"));
    assert_int_equal(sink->operations->clear_exports(sink, &origin, &err), 0);
}

static const struct {
    struct observed observed;
    struct state_outcome state;
    struct export_outcome exports;
    const char *json;
} reports[] = {
    {{.end = {.kind = MAIN_ENDED, .exit_code = 3, .reason = "Error"}},
     {.delivery = DELIVERY_STORED,
      .sequence = 4,
      .files = 2,
      .bytes = 30,
      .packed_bytes = 20,
      .sha256 = "ff"},
     {.delivery = DELIVERY_SKIPPED},
     "{\"exitCode\":3,\"reason\":\"Error\",\"state\":{\"stored\":true,\"unchanged\":false,"
     "\"bytes\":30,\"packedBytes\":20,\"files\":2,\"sequence\":4,\"sha256\":\"ff\"},"
     "\"exports\":\"skipped\"}"},
    {{.end = {.kind = MAIN_ENDED}},
     {.delivery = DELIVERY_UNCHANGED, .sequence = 3},
     {.delivery = DELIVERY_STORED},
     "{\"exitCode\":0,\"reason\":\"\",\"state\":{\"stored\":true,\"unchanged\":true,\"bytes\":0,"
     "\"packedBytes\":0,\"files\":0,\"sequence\":3,\"sha256\":\"\"},\"exports\":\"stored\"}"},
    {{.end = {.kind = MAIN_LOST}},
     {.delivery = DELIVERY_FAILED, .err = {.text = "no"}},
     {.delivery = DELIVERY_FAILED, .err = {.text = "bad"}},
     "{\"exitCode\":null,\"reason\":\"\",\"state\":{\"stored\":false,\"unchanged\":false,"
     "\"bytes\":0,\"packedBytes\":0,\"files\":0,\"sequence\":0,\"sha256\":\"\",\"error\":\"no\"},"
     "\"exports\":\"failed: bad\"}"},
    {{.end = {.kind = MAIN_ENDED}},
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_NONE},
     "{\"exitCode\":0,\"reason\":\"\",\"state\":{\"stored\":true,\"unchanged\":true,\"bytes\":0,"
     "\"packedBytes\":0,\"files\":0,\"sequence\":0,\"sha256\":\"\"},\"exports\":\"none\"}"},
};

static void the_result_has_exit_code_state_and_exports(void **state)
{
    const struct scratch *scratch = *state;
    cleanup_sink struct sink *sink = open_sink(scratch);

    for (size_t i = 0; i < array_length(reports); i++) {
        cleanup_free char *text = NULL;
        struct error err = {0};

        assert_int_equal(sink->operations->report(sink, &reports[i].observed, &reports[i].state,
                                                  &reports[i].exports, &err),
                         0);
        text = scratch_read(scratch, "result.json");
        assert_string_equal(text, reports[i].json);
    }
}

static void a_directory_that_cant_be_created_is_an_error_that_names_it(void **state)
{
    struct sink *sink = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(sink_directory_new("/nowhere/at/all", clock_system(), &sink, &err), -1);
    assert_non_null(strstr(err.text, "\"/nowhere/at/all\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_generation_gets_its_name_when_it_is_complete,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(restore_reads_what_was_written, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(the_last_sequence_is_the_highest_of_complete_generations,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(exports_are_replaced_atomically_or_removed, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(the_result_has_exit_code_state_and_exports, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test(a_directory_that_cant_be_created_is_an_error_that_names_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
