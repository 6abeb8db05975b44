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
#include "common/state/tests/store.h"
#include "common/state/texts.h"

#define cleanup_store __attribute__((cleanup(store_done)))
enum { NOISE = 1300000, PLENTY = 1 << 22 }; /* two chunks */

#define LONG_NAME "directory-of-a-long-name-directory-of-a-long-name-directory-of-a-long-name"

static void note(void *data, const char *name __attribute__((unused)), const char *text,
                 size_t size)
{
    struct error err = {0};

    if (text)
        assert_int_equal(strlen(text), size);
    assert_int_equal(buffer_append_text(data, &err, "[%s]", text ? text : "a NUL"), 0);
}

/* State as wait saves it: text files, one of them with a long name, a link, and a binary file. */
static void save(struct store *store)
{
    cleanup_scratch struct scratch scratch;
    struct error err = {0};

    scratch_init(&scratch);
    scratch_write_noise(scratch.root_fd, "noise", NOISE, 42);
    scratch_write(scratch.root_fd, "a", "text of a");
    assert_int_equal(mkdirat(scratch.root_fd, LONG_NAME, 0700), 0);
    assert_int_equal(mkdirat(scratch.root_fd, LONG_NAME "/" LONG_NAME, 0700), 0);
    scratch_write(scratch.root_fd, LONG_NAME "/" LONG_NAME "/" LONG_NAME, "deep text");
    assert_int_equal(symlinkat("a", scratch.root_fd, "link"), 0);
    assert_int_equal(store_save(store, scratch.root_fd, "one", 1, &err), 0);
}

static int find(struct store *store, struct buffer *ret_found, struct error *err)
{
    struct state_set set = store_set(store);
    struct state_source source = store_source(store);
    struct text_budget budget = {.unpacked = PLENTY, .text = PLENTY};
    int result = 0;

    buffer_init(ret_found, PLENTY);
    assert_non_null(state_set_newest(&set));
    result = state_find_texts(state_set_newest(&set), &source, &budget, note, ret_found, err);
    state_set_done(&set);
    return result;
}

static void texts_in_state_saved_by_wait_are_found(void **state)
{
    cleanup_buffer struct buffer found = {0};
    cleanup_store struct store store;
    struct error err = {0};

    (void)state;
    store_init(&store);
    save(&store);
    assert_int_equal(store.count, 2);
    assert_int_equal(find(&store, &found, &err), 0);
    assert_string_equal(found.data, "[text of a][deep text][a NUL]");
}

/* The same bytes as the Go deployer stores them: without the annotation of the sha256, and padded.
 */
static void texts_in_state_of_the_go_deployer_are_found(void **state)
{
    cleanup_buffer struct buffer found = {0}, tail = {0};
    cleanup_store struct store store, go;
    struct error err = {0};

    (void)state;
    store_init(&store);
    store_init(&go);
    save(&store);
    for (size_t i = 0; i < store.count; i++) {
        const struct stored *chunk = &store.chunks[i];
        bool is_first = i == store.count - 1; /* the first chunk is written last */

        buffer_init(&tail, PLENTY);
        assert_int_equal(buffer_append(&tail, chunk->bytes.data, chunk->bytes.size, &err), 0);
        if (!is_first)
            assert_int_equal(buffer_append(&tail, "stale", 5, &err), 0);
        store_add_go(&go, "go", is_first ? 0 : 1, tail.data, tail.size);
        buffer_done(&tail);
    }
    assert_int_equal(find(&go, &found, &err), 0);
    assert_string_equal(found.data, "[text of a][deep text][a NUL]");
}

static void damage_and_source_failures_are_reported(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        cleanup_buffer struct buffer found = {0};
        cleanup_store struct store store;
        struct error err = {0};

        store_init(&store);
        save(&store);
        if (what == 0) /* in the header of gzip, where only the sha256 detects it */
            store.chunks[1].bytes.data[4] ^= 1;
        else if (what == 1)
            store.chunks[0].bytes.size--;
        else
            store.unreadable_from = 0;
        store.unreadable_kind = ERROR_TEMPORARY;
        assert_int_equal(find(&store, &found, &err), -1);
        assert_int_equal(err.kind, what == 2 ? ERROR_TEMPORARY : ERROR_INVALID);
        if (what == 0)
            assert_non_null(strstr(err.text, "sha256"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_in_state_saved_by_wait_are_found),
        cmocka_unit_test(texts_in_state_of_the_go_deployer_are_found),
        cmocka_unit_test(damage_and_source_failures_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
