/* SPDX-License-Identifier: Apache-2.0 */
/* A killed run leaves its directory behind; the next one adopts complete generations from it. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/base/tests/fault.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/state/restore.h"
#include "common/state/save.h"
#include "deployer/run/workspace.h"

struct place {
    char path[32];
    int fd;
};

static int set_up(void **state)
{
    struct place *place = xcalloc(1, sizeof(*place));

    (void)snprintf(place->path, sizeof(place->path), "/tmp/workspace-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    place->fd = beneath_open_directory(AT_FDCWD, ".", &(struct error){0});
    *state = place;
    return 0;
}

static int take_down(void **state)
{
    struct place *place = *state;
    cleanup_free char *command = xasprintf("%s", place->path);
    struct error err = {0};
    cleanup_close int parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(beneath_remove_tree(parent, command + strlen("/tmp/"), &err), 0);
    if (place->fd >= 0)
        (void)close(place->fd);
    free(place);
    return 0;
}

static struct workspace *open_workspace(const struct place *place)
{
    struct workspace *workspace = NULL;
    struct error err = {0};

    if (workspace_open(place->path, "ns", "name", &workspace, &err) < 0)
        fail_msg("%s", err.text);
    return workspace;
}

/* Writes what wait delivers: a generation of count chunks, of which only `present` exist. */
static void deliver(const struct workspace *workspace, int64_t sequence, int64_t count,
                    int64_t present)
{
    struct state_summary summary = {.chunk_count = count, .packed_bytes = (uint64_t)count};
    struct error err = {0};
    cleanup_close int run = open(workspace_run_path(workspace), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_free char *uuid = xasprintf("uuid-%lld", (long long)sequence);

    memset(summary.sha256, 'a', 64);
    for (int64_t number = 0; number < present; number++) {
        cleanup_free char *directory =
            xasprintf("sink/state/%lld-%s/%lld", (long long)sequence, uuid, (long long)number);
        cleanup_free char *config = xasprintf("%s/config", directory);
        cleanup_free char *file = xasprintf("%s/metadata.json", directory);
        cleanup_json json_t *metadata =
            json_pack("{s:o, s:s}", "annotations",
                      state_chunk_annotations(&summary, number, uuid, sequence, "job", "pod"),
                      "creationTimestamp", "2026-01-01T00:00:00Z");
        cleanup_free char *text = doc_dump(metadata);

        assert_int_equal(beneath_write_file(run, config, "x", 1, 0600, &err), 0);
        assert_int_equal(beneath_write_file(run, file, text, strlen(text), 0600, &err), 0);
    }
}

static int64_t newest_sequence(const struct workspace *workspace)
{
    struct state_set set = {0};
    struct error err = {0};
    int64_t sequence = 0;

    assert_int_equal(state_set_add_directory(&set, workspace_state_fd(workspace), &err), 0);
    state_set_arrange(&set);
    if (state_set_newest(&set))
        sequence = state_set_newest(&set)->sequence;
    state_set_done(&set);
    return sequence;
}

static void adopts_the_state_that_a_killed_run_had_delivered(void **state)
{
    const struct place *place = *state;
    struct workspace *workspace = open_workspace(place);
    struct error err = {0};

    assert_int_equal(workspace_begin(workspace, &err), 0);
    deliver(workspace, 1, 3, 3);
    workspace_close(workspace, true); /* as if killed: run/ stays */
    workspace = open_workspace(place);
    assert_int_equal(newest_sequence(workspace), 1);
    workspace_close(workspace, false);
}

static void ignores_incomplete_generations(void **state)
{
    const struct place *place = *state;
    struct workspace *workspace = open_workspace(place);
    struct error err = {0};

    assert_int_equal(workspace_begin(workspace, &err), 0);
    deliver(workspace, 1, 2, 2);
    assert_int_equal(workspace_adopt(workspace, 2, &err), 0);
    deliver(workspace, 2, 3, 2);
    assert_int_equal(workspace_adopt(workspace, 2, &err), 0);
    assert_int_equal(newest_sequence(workspace), 1);
    workspace_close(workspace, false);
}

static char *previous_origin(struct workspace *workspace, const char *path)
{
    char *previous = NULL;

    workspace_remember_origin(workspace, path, &previous);
    return previous;
}

static void knows_that_another_file_has_used_the_state(void **state)
{
    const struct place *place = *state;
    struct workspace *workspace = open_workspace(place);
    cleanup_free char *previous = NULL;
    struct error err = {0};

    assert_null(previous_origin(workspace, "/a/item.yaml"));
    assert_null(previous_origin(workspace, "/b/item.yaml")); /* there is no state to share */
    assert_int_equal(workspace_begin(workspace, &err), 0);
    deliver(workspace, 1, 1, 1);
    workspace_close(workspace, true);
    workspace = open_workspace(place);
    assert_null(previous_origin(workspace, "/b/item.yaml"));
    previous = previous_origin(workspace, "/a/item.yaml");
    assert_string_equal(previous, "/b/item.yaml");
    assert_null(previous_origin(workspace, "/a/item.yaml"));
    workspace_close(workspace, false);
}

static void keeps_two_generations(void **state)
{
    const struct place *place = *state;
    struct workspace *workspace = open_workspace(place);
    struct state_set set = {0};
    struct error err = {0};

    assert_int_equal(workspace_begin(workspace, &err), 0);
    for (int64_t sequence = 1; sequence <= 4; sequence++) {
        deliver(workspace, sequence, 2, 2);
        assert_int_equal(workspace_adopt(workspace, 2, &err), 0);
    }
    assert_int_equal(state_set_add_directory(&set, workspace_state_fd(workspace), &err), 0);
    state_set_arrange(&set);
    assert_int_equal(set.generation_count, 2);
    assert_int_equal(set.generations[0].sequence, 4);
    state_set_done(&set);
    assert_int_equal(workspace_forget(workspace, &err), 0);
    assert_int_equal(newest_sequence(workspace), 0);
    workspace_close(workspace, false);
}

/* ---- Faults. ---- */

struct adoption {
    const struct place *place;
    struct workspace *workspace;
};

static void prepare_adoption(void *data)
{
    struct adoption *adoption = data;
    struct error err = {0};

    adoption->workspace = open_workspace(adoption->place);
    assert_int_equal(workspace_forget(adoption->workspace, &err), 0);
    assert_int_equal(workspace_begin(adoption->workspace, &err), 0);
    deliver(adoption->workspace, 1, 3, 3);
}

static int adopt(void *data, struct error *err)
{
    const struct adoption *adoption = data;

    return workspace_adopt(adoption->workspace, 2, err);
}

/* The next run finds what a failed adoption left in run/. */
static void check_adoption(void *data, int result)
{
    struct adoption *adoption = data;

    if (result < 0) {
        workspace_close(adoption->workspace, true);
        adoption->workspace = open_workspace(adoption->place);
    }
    assert_int_equal(newest_sequence(adoption->workspace), 1);
    workspace_close(adoption->workspace, false);
}

static void no_fault_loses_the_state_that_wait_delivered(void **state)
{
    struct adoption adoption = {.place = *state};
    const struct fault_scenario scenario = {.name = "adopt",
                                            .prepare = prepare_adoption,
                                            .run = adopt,
                                            .check = check_adoption,
                                            .data = &adoption};

    assert_true(fault_sweep(&scenario) >= 20);
}

static void refuses_a_second_run(void **state)
{
    const struct place *place = *state;
    struct workspace *workspace = open_workspace(place);
    struct workspace *second = NULL;
    struct error err = {0};

    assert_int_equal(workspace_open(place->path, "ns", "name", &second, &err), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_null(second);
    workspace_close(workspace, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(adopts_the_state_that_a_killed_run_had_delivered, set_up,
                                        take_down),
        cmocka_unit_test_setup_teardown(ignores_incomplete_generations, set_up, take_down),
        cmocka_unit_test_setup_teardown(knows_that_another_file_has_used_the_state, set_up,
                                        take_down),
        cmocka_unit_test_setup_teardown(keeps_two_generations, set_up, take_down),
        cmocka_unit_test_setup_teardown(no_fault_loses_the_state_that_wait_delivered, set_up,
                                        take_down),
        cmocka_unit_test_setup_teardown(refuses_a_second_run, set_up, take_down),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
