/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/hash_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

#include "common/base/cleanup.h"

struct number {
    struct hash_entry entry;
    unsigned value;
};

static struct number *find(const struct hash_table *table, uint32_t hash, unsigned value)
{
    struct number *found = NULL;

    for (struct hash_entry *entry = hash_table_find(table, hash); entry;
         entry = hash_entry_next(entry)) {
        struct number *number = (struct number *)entry;

        assert_int_equal(entry->hash, hash);
        if (number->value == value)
            found = number;
    }
    return found;
}

static void entries_are_found_until_they_are_removed(void **state)
{
    /* How many entries share a hash. */
    static const unsigned shares[] = {1, 3, 1000};
    struct number numbers[1000];

    (void)state;
    for (size_t i = 0; i < array_length(shares); i++) {
        struct hash_table table = {0};

        assert_null(hash_table_any(&table));
        assert_null(find(&table, 0, 0));
        for (unsigned j = 0; j < array_length(numbers); j++) {
            numbers[j] = (struct number){.value = j};
            hash_table_add(&table, &numbers[j].entry, j / shares[i] * 2654435761u);
        }
        assert_int_equal(table.count, array_length(numbers));
        for (unsigned j = 0; j < array_length(numbers); j += 2)
            hash_table_remove(&table, &numbers[j].entry);
        for (unsigned j = 0; j < array_length(numbers); j++)
            assert_ptr_equal(find(&table, j / shares[i] * 2654435761u, j),
                             j % 2 ? &numbers[j] : NULL);
        while (hash_table_any(&table))
            hash_table_remove(&table, hash_table_any(&table));
        assert_int_equal(table.count, 0);
        hash_table_done(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_found_until_they_are_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
