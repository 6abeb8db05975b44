/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

static json_t *parse(const char *text)
{
    struct error err = {0};
    json_t *doc = NULL;

    if (doc_parse_json(text, strlen(text), 10000, &doc, &err) < 0)
        fail_msg("%s", err.text);
    return doc;
}

static const char item[] =
    "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x.y/z\":\"1\"},\"nil\":null},"
    "\"spec\":{\"n\":3,\"r\":3.0,\"h\":3.5,\"big\":1e300,\"on\":true,"
    "\"list\":[1],\"off\":false}}";

static void looks_up_by_path(void **state)
{
    cleanup_json json_t *doc = parse(item);

    (void)state;
    assert_string_equal(doc_text(doc, "metadata.name"), "a");
    assert_ptr_equal(doc_get(doc, ""), doc);
    assert_null(doc_get(doc, "metadata.none"));
    assert_null(doc_get(doc, "metadata.name.x"));
    assert_null(doc_get(doc, "spec.list.x"));
    assert_null(doc_get(doc, "metadat"));
    assert_null(doc_get(doc, "metadatas"));
    assert_null(doc_get(NULL, "a"));
    assert_null(doc_text(doc, "spec.n"));
    assert_null(doc_get(doc, "metadata.labels.x.y/z"));
    assert_string_equal(doc_text(doc_member(doc_get(doc, "metadata.labels"), "x.y/z"), ""), "1");
    assert_string_equal(doc_text_or(doc, "spec.n", "fallback"), "fallback");
    assert_string_equal(doc_text_or(doc, "metadata.name", "fallback"), "a");
    assert_int_equal(doc_integer_or(doc, "spec.n", 7), 3);
    assert_int_equal(doc_integer_or(doc, "spec.r", 7), 3);
    assert_int_equal(doc_integer_or(doc, "spec.h", 7), 7);
    assert_int_equal(doc_integer_or(doc, "spec.big", 7), 7);
    assert_int_equal(doc_integer_or(doc, "spec.on", 7), 7);
    assert_true(doc_bool_or(doc, "spec.on", false));
    assert_false(doc_bool_or(doc, "spec.off", true));
    assert_true(doc_bool_or(doc, "spec.none", true));
}

enum want { WANT_TEXT, WANT_REQUIRED, WANT_INTEGER, WANT_OBJECT, WANT_ARRAY };

static int want(enum want type, const json_t *doc, const char *path, struct error *err)
{
    const json_t *value = NULL;
    const char *text = NULL;
    int64_t number = 0;

    switch (type) {
    case WANT_TEXT:
        return doc_want_text(doc, path, &text, err);
    case WANT_REQUIRED:
        return doc_want_text_required(doc, path, &text, err);
    case WANT_INTEGER:
        return doc_want_integer(doc, path, &number, err);
    case WANT_OBJECT:
        return doc_want_object(doc, path, &value, err);
    case WANT_ARRAY:
        return doc_want_array(doc, path, &value, err);
    }
    return 0;
}

static const struct {
    enum want type;
    const char *path;
    const char *text; /* NULL: fine */
} wants[] = {
    {WANT_TEXT, "metadata.name", NULL},
    {WANT_TEXT, "metadata.none", NULL},
    {WANT_TEXT, "none.none", NULL},
    {WANT_TEXT, "metadata.nil", NULL},
    {WANT_TEXT, "metadata.nil.deeper", NULL},
    {WANT_TEXT, "spec.n", "spec.n: expected a string, got a number"},
    {WANT_TEXT, "spec", "spec: expected a string, got an object"},
    {WANT_TEXT, "spec.list", "spec.list: expected a string, got a list"},
    {WANT_TEXT, "spec.on", "spec.on: expected a string, got a boolean"},
    {WANT_TEXT, "metadata.name.first", "metadata.name: expected an object, got a string"},
    {WANT_TEXT, "spec.list.0.x", "spec.list: expected an object, got a list"},
    {WANT_REQUIRED, "metadata.name", NULL},
    {WANT_REQUIRED, "metadata.none", "metadata.none: expected a string, but it is missing"},
    {WANT_REQUIRED, "metadata.nil", "metadata.nil: expected a string, but it is missing"},
    {WANT_REQUIRED, "spec.n", "spec.n: expected a string, got a number"},
    {WANT_INTEGER, "spec.n.x", "spec.n: expected an object, got a number"},
    {WANT_OBJECT, "spec.n.x", "spec.n: expected an object, got a number"},
    {WANT_ARRAY, "spec.n.x", "spec.n: expected an object, got a number"},
    {WANT_INTEGER, "spec.n", NULL},
    {WANT_INTEGER, "spec.r", NULL},
    {WANT_INTEGER, "spec.h", "spec.h: expected a whole number, got a number"},
    {WANT_INTEGER, "metadata.name", "metadata.name: expected a whole number, got a string"},
    {WANT_OBJECT, "spec", NULL},
    {WANT_OBJECT, "spec.list", "spec.list: expected an object, got a list"},
    {WANT_ARRAY, "spec.list", NULL},
    {WANT_ARRAY, "spec", "spec: expected a list, got an object"},
};

static void wanted_values_are_checked_and_the_path_is_named(void **state)
{
    cleanup_json json_t *doc = parse(item);

    (void)state;
    for (size_t i = 0; i < array_length(wants); i++) {
        struct error err = {0};
        int result = want(wants[i].type, doc, wants[i].path, &err);

        if (!wants[i].text) {
            if (result != 0)
                fail_msg("%s", err.text);
            continue;
        }
        assert_int_equal(result, -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_string_equal(err.text, wants[i].text);
    }
}

static void a_missing_value_leaves_the_output(void **state)
{
    cleanup_json json_t *doc = parse(item);
    const char *text = "before";
    int64_t number = 7;
    const json_t *value = doc;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_want_text(doc, "x", &text, &err), 0);
    assert_int_equal(doc_want_integer(doc, "x", &number, &err), 0);
    assert_int_equal(doc_want_object(doc, "x", &value, &err), 0);
    assert_int_equal(doc_want_array(doc, "x", &value, &err), 0);
    assert_string_equal(text, "before");
    assert_int_equal(number, 7);
    assert_ptr_equal(value, doc);
    assert_int_equal(doc_want_text(doc, "metadata.name", &text, &err), 0);
    assert_string_equal(text, "a");
    assert_int_equal(doc_want_array(doc, "spec.list", &value, &err), 0);
    assert_int_equal(json_array_size(value), 1);
}

static void a_root_of_the_wrong_type_is_reported(void **state)
{
    cleanup_json json_t *doc = parse("[1]");
    const char *text = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_want_text(doc, "a.b", &text, &err), -1);
    assert_string_equal(err.text, "document: expected an object, got a list");
}

static void setting_creates_the_objects_on_the_way(void **state)
{
    cleanup_json json_t *doc = json_object();
    cleanup_free char *text = NULL;

    (void)state;
    doc_set_text(doc, "a.b.c", "x");
    doc_set_new(doc, "a.b.d", json_integer(1));
    doc_set_new(doc, "e", json_true());
    doc_set_text(doc, "e.f", "replaced");
    doc_set_text(doc, "a.b.c", "y");
    text = doc_dump(doc);
    assert_string_equal(text, "{\"a\":{\"b\":{\"c\":\"y\",\"d\":1}},\"e\":{\"f\":\"replaced\"}}");
}

/* The log of a container may contain any bytes. */
static void invalid_utf8_is_repaired(void **state)
{
    cleanup_json json_t *doc = json_object();

    (void)state;
    doc_set_text(doc, "a", "x\xff\xc3y\xc3\xa4");
    assert_string_equal(doc_text(doc, "a"), "x\xef\xbf\xbd\xef\xbf\xbdy\xc3\xa4");
    doc_set_text(doc, "b", "");
    assert_string_equal(doc_text(doc, "b"), "");
}

static void write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

struct place {
    char folder[40];
    char file[80];
    char link[80];
    char fifo[80];
};

static int make_place(void **state)
{
    struct place *place = xcalloc(1, sizeof(*place));

    (void)snprintf(place->folder, sizeof(place->folder), "/tmp/longshore-doc-XXXXXX");
    if (!mkdtemp(place->folder))
        return -1;
    (void)snprintf(place->file, sizeof(place->file), "%s/file", place->folder);
    (void)snprintf(place->link, sizeof(place->link), "%s/link", place->folder);
    (void)snprintf(place->fifo, sizeof(place->fifo), "%s/fifo", place->folder);
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;

    (void)unlink(place->file);
    (void)unlink(place->link);
    (void)unlink(place->fifo);
    (void)rmdir(place->folder);
    free(place);
    return 0;
}

static void reads_a_file_whole_up_to_the_limit(void **state)
{
    const struct place *place = *state;
    cleanup_buffer struct buffer data = {0};
    struct error err = {0};

    write_file(place->file, "a\0bcd", 5);
    assert_int_equal(doc_read_file(place->file, 5, &data, &err), 0);
    assert_int_equal(data.size, 5);
    assert_memory_equal(data.data, "a\0bcd", 6);
    assert_int_equal(doc_read_file(place->file, 4, &data, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_int_equal(data.size, 5);
    write_file(place->file, "", 0);
    assert_int_equal(doc_read_file(place->file, 4, &data, &err), 0);
    assert_int_equal(data.size, 0);
    assert_string_equal(data.data, "");
}

static void reads_more_than_one_piece(void **state)
{
    const struct place *place = *state;
    cleanup_buffer struct buffer data = {0};
    cleanup_free char *big = xmalloc(200000);
    struct error err = {0};

    memset(big, 'x', 200000);
    write_file(place->file, big, 200000);
    assert_int_equal(doc_read_file(place->file, 200000, &data, &err), 0);
    assert_int_equal(data.size, 200000);
    assert_memory_equal(data.data, big, 200000);
    assert_int_equal(doc_read_file(place->file, 199999, &data, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

static void follows_links_as_secret_volumes_need_it(void **state)
{
    const struct place *place = *state;
    cleanup_buffer struct buffer data = {0};
    struct error err = {0};

    write_file(place->file, "abc", 3);
    assert_int_equal(symlink("file", place->link), 0);
    assert_int_equal(doc_read_file(place->link, 10, &data, &err), 0);
    assert_string_equal(data.data, "abc");
}

static void refuses_what_is_no_regular_file_without_waiting(void **state)
{
    const struct place *place = *state;
    cleanup_buffer struct buffer data = {0};
    struct error err = {0};

    assert_int_equal(mkfifo(place->fifo, 0600), 0);
    assert_int_equal(doc_read_file(place->fifo, 10, &data, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "is not a regular file"));
    assert_int_equal(doc_read_file(place->folder, 10, &data, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(doc_read_file("/dev/zero", 10, &data, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void a_missing_file_is_not_found_and_named(void **state)
{
    const struct place *place = *state;
    cleanup_buffer struct buffer data = {0};
    struct error err = {0};

    assert_int_equal(doc_read_file(place->file, 10, &data, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, place->file));
    assert_null(data.data);
}

#define file_case(test_) cmocka_unit_test_setup_teardown(test_, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_up_by_path),
        cmocka_unit_test(wanted_values_are_checked_and_the_path_is_named),
        cmocka_unit_test(a_missing_value_leaves_the_output),
        cmocka_unit_test(a_root_of_the_wrong_type_is_reported),
        cmocka_unit_test(setting_creates_the_objects_on_the_way),
        cmocka_unit_test(invalid_utf8_is_repaired),
        file_case(reads_a_file_whole_up_to_the_limit),
        file_case(reads_more_than_one_piece),
        file_case(follows_links_as_secret_volumes_need_it),
        file_case(refuses_what_is_no_regular_file_without_waiting),
        file_case(a_missing_file_is_not_found_and_named),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
