/* SPDX-License-Identifier: Apache-2.0 */
/* Uses a temporary volume and a fake /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "scratch.h"
#include "wait/activity.h"

#define TCP_HEADER                                                                                 \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "  \
    "inode\n"
#define TCP_LINE(inode_)                                                                           \
    "   0: 0100007F:A2B4 0100007F:192B 01 00000000:00000000 00:00000000 00000000  1000        "    \
    "0 " inode_ " 1 0000000000000000 20 4 30 10 -1\n"
#define UNIX_HEADER "Num       RefCount Protocol Flags    Type St Inode Path\n"
#define UNIX_LINE(inode_) "0000000000000000: 00000002 00000000 00010000 0001 01 " inode_ " /tmp/s\n"

static const struct {
    const char *name, *table;
    size_t column;
    bool is_foreign;
} lists[] = {
    {"nothing at all", "", 9, false},
    {"only the header", TCP_HEADER, 9, false},
    {"our own", TCP_HEADER TCP_LINE("77") TCP_LINE("88"), 9, false},
    {"foreign TCP socket", TCP_HEADER TCP_LINE("77") TCP_LINE("99"), 9, true},
    {"waiting to be forgotten", TCP_HEADER TCP_LINE("0"), 9, false},
    {"foreign unix socket", UNIX_HEADER UNIX_LINE("99"), 6, true},
    {"a line cut off", TCP_HEADER "   0: 0100007F:A2B4\n", 9, true},
    {"an empty line", TCP_HEADER "\n", 9, true},
    {"no number where one is expected", TCP_HEADER TCP_LINE("?"), 9, true},
    {"our own inode followed by other characters", TCP_HEADER TCP_LINE("77x"), 9, true},
    {"a number with a sign", TCP_HEADER TCP_LINE("-77"), 9, true},
    {"more than a number can be", TCP_HEADER TCP_LINE("18446744073709551616"), 9, true},
    {"no newline at the end", TCP_HEADER "0: a b c d e f g h 99", 9, true},
};

static void foreign_sockets_are_found_in_the_socket_tables(void **state)
{
    static const uint64_t own[] = {77, 88};

    (void)state;
    for (size_t i = 0; i < array_length(lists); i++) {
        print_message("%s\n", lists[i].name);
        assert_int_equal(
            activity_has_foreign_socket(lists[i].table, lists[i].column, own, array_length(own)),
            lists[i].is_foreign);
    }
}

static const struct {
    const char *target;
    uint64_t inode;
} links[] = {
    {"socket:[77]", 77},
    {"socket:[18446744073709551615]", UINT64_MAX},
    {"socket:[18446744073709551616]", 0},
    {"socket:[77", 0},
    {"socket:[77]x", 0},
    {"socket:[ 77]", 0},
    {"socket:[]", 0},
    {"socket:[", 0},
    {"pipe:[77]", 0},
    {"/dev/null", 0},
    {"", 0},
};

static void the_inode_of_a_socket_is_read_from_its_link(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(links); i++)
        assert_int_equal(activity_socket_inode(links[i].target), links[i].inode);
}

struct fixture {
    struct scratch *scratch;
    struct volume volume;
    struct activity *activity;
};

static int set_up(void **state)
{
    static const char *const directories[] = {"shared", "shared/state", "shared/exports",
                                              "proc",   "proc/net",     "proc/fd"};
    struct fixture *fixture = xcalloc(1, sizeof(*fixture));
    cleanup_free char *state_path = NULL;
    cleanup_free char *exports_path = NULL;
    cleanup_free char *process_dir = NULL;
    struct error err = {0};
    void *scratch = NULL;

    if (scratch_set_up(&scratch) < 0)
        return -1;
    fixture->scratch = scratch;
    for (size_t i = 0; i < array_length(directories); i++) {
        if (mkdirat(fixture->scratch->fd, directories[i], 0700) < 0)
            return -1;
    }
    state_path = xasprintf("%s/shared/state", fixture->scratch->path);
    exports_path = xasprintf("%s/shared/exports/values", fixture->scratch->path);
    process_dir = xasprintf("%s/proc", fixture->scratch->path);
    scratch_write(fixture->scratch, "proc/net/tcp", TCP_HEADER TCP_LINE("77"),
                  strlen(TCP_HEADER TCP_LINE("77")));
    scratch_write(fixture->scratch, "proc/net/unix", UNIX_HEADER, strlen(UNIX_HEADER));
    scratch_write(fixture->scratch, "shared/state/f", "1", 1);
    if (symlinkat("socket:[77]", fixture->scratch->fd, "proc/fd/5") < 0 ||
        symlinkat("/dev/null", fixture->scratch->fd, "proc/fd/1") < 0)
        return -1;
    fixture->volume = (struct volume)VOLUME_INIT;
    *state = fixture;
    return volume_open(state_path, exports_path, &fixture->volume, &err) < 0
               ? -1
               : activity_new(&fixture->volume, process_dir, &fixture->activity, &err);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    void *scratch = fixture->scratch;

    activity_free(fixture->activity);
    volume_done(&fixture->volume);
    (void)scratch_tear_down(&scratch);
    free(fixture);
    return 0;
}

static void main_is_idle_if_nothing_changed_between_two_checks(void **state)
{
    struct fixture *fixture = *state;

    assert_false(activity_is_idle(fixture->activity)); /* nothing to compare with */
    assert_true(activity_is_idle(fixture->activity));
    assert_true(activity_is_idle(fixture->activity));
}

static void change_file(struct scratch *scratch)
{
    scratch_write(scratch, "shared/state/f", "22", 2);
}

static void add_file(struct scratch *scratch)
{
    scratch_write(scratch, "shared/exports/values", "a: 1", 4);
}

static void add_directory(struct scratch *scratch)
{
    assert_int_equal(mkdirat(scratch->fd, "shared/state/d", 0700), 0);
}

static void add_deep_link(struct scratch *scratch)
{
    assert_int_equal(symlinkat("x", scratch->fd, "shared/state/d/l"), 0);
}

static void remove_file(struct scratch *scratch)
{
    assert_int_equal(unlinkat(scratch->fd, "shared/state/f", 0), 0);
}

static void change_mode(struct scratch *scratch)
{
    assert_int_equal(fchmodat(scratch->fd, "shared/state/d", 0750, 0), 0);
}

static void any_change_on_the_volume_is_activity(void **state)
{
    static void (*const changes[])(struct scratch *) = {change_file,   add_file,    add_directory,
                                                        add_deep_link, change_mode, remove_file};
    struct fixture *fixture = *state;

    (void)activity_is_idle(fixture->activity);
    for (size_t i = 0; i < array_length(changes); i++) {
        assert_true(activity_is_idle(fixture->activity));
        changes[i](fixture->scratch);
        assert_false(activity_is_idle(fixture->activity));
    }
    assert_true(activity_is_idle(fixture->activity));
}

static void the_fingerprint_changes_with_the_state_and_with_nothing_else(void **state)
{
    struct fixture *fixture = *state;
    uint64_t before = activity_state_fingerprint(&fixture->volume);

    assert_true(before != 0);
    assert_int_equal(activity_state_fingerprint(&fixture->volume), before);
    add_file(fixture->scratch); /* the export */
    assert_int_equal(activity_state_fingerprint(&fixture->volume), before);
    change_file(fixture->scratch);
    assert_true(activity_state_fingerprint(&fixture->volume) != before);
    remove_file(fixture->scratch);
    assert_int_equal(unlinkat(fixture->scratch->fd, "shared/state", AT_REMOVEDIR), 0);
    assert_int_equal(activity_state_fingerprint(&fixture->volume), 0);
}

static void the_sizes_of_all_files_are_added(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(activity_state_bytes(&fixture->volume), 1);
    assert_int_equal(mkdirat(fixture->scratch->fd, "shared/state/d", 0700), 0);
    scratch_write(fixture->scratch, "shared/state/d/g", "12345", 5);
    assert_int_equal(symlinkat("f", fixture->scratch->fd, "shared/state/link"), 0);
    assert_int_equal(activity_state_bytes(&fixture->volume), 6);
}

static void an_open_socket_is_activity(void **state)
{
    static const char busy[] = TCP_HEADER TCP_LINE("77") TCP_LINE("99");
    static const char calm[] = TCP_HEADER TCP_LINE("77");
    struct fixture *fixture = *state;

    (void)activity_is_idle(fixture->activity);
    assert_true(activity_is_idle(fixture->activity));
    scratch_write(fixture->scratch, "proc/net/tcp", busy, sizeof(busy) - 1);
    assert_false(activity_is_idle(fixture->activity));
    scratch_write(fixture->scratch, "proc/net/tcp", calm, sizeof(calm) - 1);
    assert_true(activity_is_idle(fixture->activity));
}

static void the_real_socket_tables_can_be_read(void **state)
{
    struct fixture *fixture = *state;
    struct activity *activity = NULL;
    struct error err = {0};

    assert_int_equal(activity_new(&fixture->volume, "/proc/self", &activity, &err), 0);
    (void)activity_is_idle(activity);
    activity_free(activity);
    activity = NULL;
    assert_int_equal(activity_new(&fixture->volume, "/nowhere", &activity, &err), -1);
    assert_null(activity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_sockets_are_found_in_the_socket_tables),
        cmocka_unit_test(the_inode_of_a_socket_is_read_from_its_link),
        cmocka_unit_test_setup_teardown(main_is_idle_if_nothing_changed_between_two_checks, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(any_change_on_the_volume_is_activity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            the_fingerprint_changes_with_the_state_and_with_nothing_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_sizes_of_all_files_are_added, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_open_socket_is_activity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_real_socket_tables_can_be_read, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
