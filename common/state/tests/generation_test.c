/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/state/tests/chunks.h"

enum { CHUNKS_MAX = 8 };
#define T(seconds_) "2026-01-01T00:00:" seconds_ "Z"
/* Generations of one chunk, written by us and by Go. */
#define OURS(object_, uuid_, created_, sequence_)                                                  \
    {                                                                                              \
        object_, uuid_, "0", created_, "1", SHA_A, sequence_                                       \
    }
#define GO(object_, uuid_, created_)                                                               \
    {                                                                                              \
        object_, uuid_, "0", created_, NULL, NULL, NULL                                            \
    }

static const struct {
    const char *name;
    struct chunk_spec chunks[CHUNKS_MAX];
    const char *order;   /* uuids, best first; incomplete ones in brackets */
    int64_t sequence;    /* the last */
    const char *garbage; /* keep = 2, not idle */
    const char *idle;    /* keep = 1, idle */
} sets[] = {
    {"nothing", {{0}}, "", 0, "", ""},
    {"one of Go's", {GO("s1", "u", T("01"))}, "u", 0, "", ""},
    {"one of ours", {OURS("s1", "u", T("01"), "7")}, "u", 7, "", ""},
    {"Go's by time",
     {GO("s1", "a", T("01")), GO("s2", "b", T("03")), GO("s3", "c", T("02"))},
     "b c a",
     0,
     "s1",
     "s3 s1"},
    {"Go's of one second: the first by name, as Go lists them",
     {GO("s2", "a", T("01")), GO("s1", "b", T("01"))},
     "b a",
     0,
     "",
     "s2"},
    {"the newest chunk is the age of a generation",
     {{"s1", "a", "0", T("01"), 0, 0, 0},
      {"s2", "b", "0", T("02"), 0, 0, 0},
      {"s3", "a", "1", T("03"), 0, 0, 0}},
     "a b",
     0,
     "",
     "s2"},
    {"ours are ordered by sequence, not by time",
     {OURS("s1", "a", T("09"), "1"), OURS("s2", "b", T("01"), "3"), OURS("s3", "c", T("05"), "2")},
     "b c a",
     3,
     "s1",
     "s3 s1"},
    {"ours with the same sequence: the first one is kept",
     {OURS("s1", "late", T("09"), "5"), OURS("s2", "early", T("02"), "5")},
     "early late",
     5,
     "",
     "s1"},
    {"Go ran after us",
     {OURS("s1", "ours", T("01"), "5"), GO("s2", "go", T("02"))},
     "go ours",
     5,
     "",
     "s1"},
    {"we ran after Go",
     {OURS("s1", "ours", T("03"), "5"), GO("s2", "go", T("02"))},
     "ours go",
     5,
     "",
     "s2"},
    {"Go in the same second as we: ours",
     {GO("s1", "go", T("02")), OURS("s2", "ours", T("02"), "5")},
     "ours go",
     5,
     "",
     "s1"},
    {"Go ran between two of ours",
     {OURS("s1", "o1", T("01"), "1"), GO("s2", "go", T("02")), OURS("s3", "o2", T("03"), "2")},
     "o2 go o1",
     2,
     "s1",
     "s2 s1"},
    {"upload of ours interrupted after the last complete one",
     {OURS("s1", "a", T("01"), "1"), {"s2", "b", "1", T("02"), "2", SHA_B, "2"}},
     "a [b]",
     2,
     "",
     "s2"},
    {"upload of ours interrupted before the last complete one",
     {OURS("s1", "a", T("03"), "3"), {"s2", "b", "1", T("02"), "2", SHA_B, "2"}},
     "a [b]",
     3,
     "s2",
     "s2"},
    {"stale pod interrupted, with the sequence of the last complete one",
     {OURS("s1", "a", T("01"), "3"), {"s2", "b", "1", T("09"), "2", SHA_B, "3"}},
     "a [b]",
     3,
     "s2",
     "s2"},
    {"only an interrupted upload",
     {{"s2", "b", "1", T("02"), "2", SHA_B, "2"}},
     "[b]",
     2,
     "",
     "s2"},
    {"only a damaged one: it is all that is left",
     {{"s1", "b", "0", T("02"), "2", SHA_B, "2"}},
     "[b]",
     2,
     "",
     ""},
    {"Go's with a gap",
     {{"s1", "a", "0", T("01"), 0, 0, 0}, {"s2", "a", "2", T("01"), 0, 0, 0}},
     "[a]",
     0,
     "",
     ""},
    {"Go's without the first", {{"s1", "a", "1", T("01"), 0, 0, 0}}, "[a]", 0, "", ""},
    {"Go's with a gap, newer than a complete one",
     {GO("s1", "a", T("01")), {"s2", "b", "1", T("02"), 0, 0, 0}},
     "a [b]",
     0,
     "",
     "s2"},
    {"Go's with a gap, older than a complete one",
     {GO("s1", "a", T("03")), {"s2", "b", "1", T("02"), 0, 0, 0}},
     "a [b]",
     0,
     "s2",
     "s2"},
    {"chunks in any order of names, ten before nine",
     {{"s1", "a", "1", T("01"), "2", SHA_A, "1"}, {"s2", "a", "0", T("01"), "2", SHA_A, "1"}},
     "a",
     1,
     "",
     ""},
    {"a chunk twice",
     {{"s1", "a", "0", T("01"), "2", SHA_A, "1"},
      {"s2", "a", "1", T("01"), "2", SHA_A, "1"},
      {"s3", "a", "1", T("01"), "2", SHA_A, "1"}},
     "[a]",
     1,
     "",
     ""},
    {"one chunk too few, none missing in between",
     {{"s1", "a", "0", T("01"), "3", SHA_A, "1"}, {"s2", "a", "1", T("01"), "3", SHA_A, "1"}},
     "[a]",
     1,
     "",
     ""},
    {"chunks that say different sha256",
     {{"s1", "a", "0", T("01"), "2", SHA_A, "1"}, {"s2", "a", "1", T("01"), "2", SHA_B, "1"}},
     "[a]",
     1,
     "",
     ""},
    {"chunks that say different sequences",
     {{"s1", "a", "0", T("01"), "2", SHA_A, "1"}, {"s2", "a", "1", T("01"), "2", SHA_A, "2"}},
     "[a]",
     2,
     "",
     ""},
    {"chunks that say different counts",
     {{"s1", "a", "0", T("01"), "2", SHA_A, "1"}, {"s2", "a", "1", T("01"), "1", SHA_A, "1"}},
     "[a]",
     1,
     "",
     ""},
    {"a chunk of Go's with the uuid of ours",
     {{"s1", "a", "0", T("01"), "2", SHA_A, "1"}, {"s2", "a", "1", T("01"), 0, 0, 0}},
     "[a]",
     1,
     "",
     ""},
    {"no uuid at all is a generation too", {GO("s1", NULL, T("01"))}, "", 0, "", ""},
    {"no number is 0", {{"s1", "a", NULL, T("01"), 0, 0, 0}}, "a", 0, "", ""},
    {"a number that is none is 0", {{"s1", "a", "1x", T("01"), 0, 0, 0}}, "a", 0, "", ""},
    {"a number with a sign",
     {{"s1", "a", "+0", T("01"), 0, 0, 0}, {"s2", "a", "+1", T("01"), 0, 0, 0}},
     "a",
     0,
     "",
     ""},
    {"a negative number",
     {{"s1", "a", "-1", T("01"), 0, 0, 0}, {"s2", "a", "0", T("01"), 0, 0, 0}},
     "[a]",
     0,
     "",
     ""},
    {"a number past 64 bits is 0",
     {{"s1", "a", "9223372036854775808", T("01"), 0, 0, 0}},
     "a",
     0,
     "",
     ""},
    {"the largest number",
     {{"s1", "a", "9223372036854775807", T("01"), 0, 0, 0}},
     "[a]",
     0,
     "",
     ""},
    {"a count that is none", {{"s1", "a", "0", T("01"), "many", SHA_A, "1"}}, "[a]", 1, "", ""},
    {"a count of 0", {{"s1", "a", "0", T("01"), "0", SHA_A, "1"}}, "[a]", 1, "", ""},
    {"no count", {{"s1", "a", "0", T("01"), NULL, SHA_A, "1"}}, "[a]", 1, "", ""},
    {"no sha256", {{"s1", "a", "0", T("01"), "1", NULL, "1"}}, "[a]", 1, "", ""},
    {"a sha256 that is none", {{"s1", "a", "0", T("01"), "1", "abc", "1"}}, "[a]", 1, "", ""},
    {"no sequence", {{"s1", "a", "0", T("01"), "1", SHA_A, NULL}}, "[a]", 0, "", ""},
    {"a sequence that leaves no room for the next",
     {OURS("s1", "a", T("01"), "9223372036854775807"), OURS("s2", "b", T("01"), "4")},
     "b [a]",
     4,
     "s1",
     "s1"},
    {"no time is the oldest", {GO("s1", "a", NULL), GO("s2", "b", T("01"))}, "b a", 0, "", "s1"},
};

static void add_chunks(struct state_set *set, size_t i, bool is_backwards)
{
    size_t count = 0;

    while (count < CHUNKS_MAX && sets[i].chunks[count].object)
        count++;
    for (size_t j = 0; j < count; j++)
        chunk_add(set, &sets[i].chunks[is_backwards ? count - 1 - j : j]);
    state_set_arrange(set);
}

static char *order_of(const struct state_set *set)
{
    char *text = xstrdup("");

    for (size_t i = 0; i < set->generation_count; i++) {
        const struct state_generation *generation = &set->generations[i];
        char *longer = xasprintf(generation->is_complete ? "%s%s%s" : "%s%s[%s]", text,
                                 i ? " " : "", generation->uuid);

        free(text);
        text = longer;
    }
    return text;
}

static char *garbage_of(const struct state_set *set, size_t keep, bool is_idle)
{
    cleanup_free const char **names = NULL;
    size_t count = state_set_garbage(set, keep, is_idle, &names);
    char *text = xstrdup("");

    for (size_t i = 0; i < count; i++) {
        char *longer = xasprintf("%s%s%s", text, i ? " " : "", names[i]);

        free(text);
        text = longer;
    }
    return text;
}

static void check_set(size_t i, bool is_backwards)
{
    cleanup_free char *order = NULL, *garbage = NULL, *idle = NULL;
    const struct state_generation *newest = NULL;
    struct state_set set = {0};

    add_chunks(&set, i, is_backwards);
    order = order_of(&set);
    garbage = garbage_of(&set, 2, false);
    idle = garbage_of(&set, 1, true);
    newest = state_set_newest(&set);
    if (strcmp(order, sets[i].order) != 0 || strcmp(garbage, sets[i].garbage) != 0 ||
        strcmp(idle, sets[i].idle) != 0 || state_set_last_sequence(&set) != sets[i].sequence)
        fail_msg("%s: order '%s', garbage '%s', idle '%s', last %lld", sets[i].name, order, garbage,
                 idle, (long long)state_set_last_sequence(&set));
    assert_int_equal(newest != NULL, set.generation_count && sets[i].order[0] != '[');
    if (newest)
        assert_ptr_equal(newest, set.generations);
    state_set_done(&set);
}

static void orders_generations_and_finds_garbage(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(sets); i++) {
        check_set(i, false);
        check_set(i, true); /* the order of input does not matter */
    }
}

static void chunks_are_sorted_by_number_not_by_name(void **state)
{
    static const char *const numbers[] = {"10", "9", "2", "0", "1", "3", "8", "7", "6", "5", "4"};
    struct state_set set = {0};

    (void)state;
    for (size_t i = 0; i < array_length(numbers); i++) {
        char object[16];

        (void)snprintf(object, sizeof(object), "s%zu", i);
        chunk_add(&set, &(struct chunk_spec){object, "a", numbers[i], T("01"), "11", SHA_A, "1"});
    }
    state_set_arrange(&set);
    assert_int_equal(set.generation_count, 1);
    assert_true(set.generations[0].is_complete);
    assert_true(set.generations[0].is_ours);
    for (size_t i = 0; i < array_length(numbers); i++)
        assert_int_equal(set.generations[0].chunks[i]->number, i);
    state_set_done(&set);
}

static void malformed_objects_are_handled(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "null",
        "{\"metadata\": 1}",
        "{\"metadata\": {\"name\": 1, \"annotations\": []}}",
        "{\"metadata\": {\"annotations\": {\"" ANNOTATION_STATE_UUID
        "\": 1, \"" ANNOTATION_STATE_CHUNKS "\": {}}}}",
    };
    struct state_set set = {0};

    (void)state;
    for (size_t i = 0; i < array_length(texts); i++) {
        cleanup_json json_t *secret = json_loads(texts[i], JSON_DECODE_ANY, NULL);

        assert_non_null(secret);
        state_set_add_secret(&set, secret);
    }
    state_set_arrange(&set);
    assert_int_equal(set.generation_count, 1); /* all without a uuid */
    assert_null(state_set_newest(&set));
    state_set_done(&set);
}

static void a_chunk_of_another_item_is_recognized_by_its_hash(void **state)
{
    static const struct {
        const char *secret;
        bool is_ours;
    } cases[] = {
        {"{}", true},
        {"{\"metadata\": {\"labels\": {\"x\": \"y\"}}}", true},
        {"{\"metadata\": {\"labels\": {\"" LABEL_ITEM_HASH "\": \"1234\"}}}", true},
        {"{\"metadata\": {\"labels\": {\"" LABEL_ITEM_HASH "\": \"12345\"}}}", false},
        {"{\"metadata\": {\"labels\": {\"" LABEL_ITEM_HASH "\": \"\"}}}", false},
        {"{\"metadata\": {\"labels\": {\"" LABEL_ITEM_HASH "\": 1234}}}", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *secret = json_loads(cases[i].secret, 0, NULL);

        assert_non_null(secret);
        assert_int_equal(state_secret_is_of_item(secret, "1234"), cases[i].is_ours);
    }
}

static void the_next_sequence_leaves_room_for_snapshots(void **state)
{
    static const struct {
        const char *last;
        int64_t unix_seconds, next;
    } cases[] = {
        {NULL, 0, 3}, {NULL, 1700000000, 1700000000}, {"7", 9, 10}, {"7", 10, 10}, {"7", 11, 11},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct chunk_spec spec = OURS("s", "u", T("01"), cases[i].last);
        struct state_set set = {0};

        if (cases[i].last)
            chunk_add(&set, &spec);
        state_set_arrange(&set);
        assert_int_equal(state_set_next_sequence(&set, cases[i].unix_seconds), cases[i].next);
        state_set_done(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_generations_and_finds_garbage),
        cmocka_unit_test(chunks_are_sorted_by_number_not_by_name),
        cmocka_unit_test(a_chunk_of_another_item_is_recognized_by_its_hash),
        cmocka_unit_test(malformed_objects_are_handled),
        cmocka_unit_test(the_next_sequence_leaves_room_for_snapshots),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
