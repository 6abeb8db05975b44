/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "init/chart_index.h"

#define ENTRY(version_) "  - version: " version_ "\n    urls:\n    - charts/app-" version_ ".tgz\n"

static const char index_text[] =
    "apiVersion: v1\n"
    "# entries:\n"
    "entries:\n"
    "  application:\n" ENTRY("9.9.9") "  app:\n" ENTRY("1.2.0")
        ENTRY("v1.1.0") "    # comment\n"
                        "  \"apps\":\n" ENTRY("3.0.0") "generated: \"2026-01-01T00:00:00Z\"\n";

static int find(const char *text, size_t step, const char *name, const char *version,
                json_t **ret_entry, struct error *err)
{
    cleanup_chart_index struct chart_index *index = chart_index_new(name);
    size_t size = strlen(text);

    for (size_t i = 0; i < size; i += step) {
        if (chart_index_add(index, text + i, size - i < step ? size - i : step, err) < 0)
            return -1;
    }
    return chart_index_find(index, version, ret_entry, err);
}

static const struct {
    const char *name, *version, *url;
} found[] = {
    {"app", "1.2.0", "charts/app-1.2.0.tgz"},  {"app", "1.1.0", "charts/app-v1.1.0.tgz"},
    {"app", "v1.2.0", "charts/app-1.2.0.tgz"}, {"application", "9.9.9", "charts/app-9.9.9.tgz"},
    {"apps", "3.0.0", "charts/app-3.0.0.tgz"},
};

static void a_version_is_found_however_the_file_is_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(found); i++) {
        for (size_t step = 1; step < 64; step += 9) {
            cleanup_json json_t *entry = NULL;
            struct error err = {0};

            assert_int_equal(find(index_text, step, found[i].name, found[i].version, &entry, &err),
                             0);
            assert_string_equal(
                json_string_value(json_array_get(json_object_get(entry, "urls"), 0)), found[i].url);
        }
    }
}

static void json_and_lists_without_indentation_are_read(void **state)
{
    static const char *const texts[] = {
        "{\"entries\": {\"app\": [{\"version\": \"1.0.0\",\n \"urls\": [\"u\"]}]}}\n",
        "entries:\n  app:\n  - version: 1.0.0\n    urls: [u]\n  other:\n  - version: 1.0.0\n",
        "---\nentries:\n  other: []\n  'app':\n    - version: 1.0.0\n      urls: [u]",
    };

    (void)state;
    for (size_t i = 0; i < array_length(texts); i++) {
        cleanup_json json_t *entry = NULL;
        struct error err = {0};

        if (find(texts[i], 7, "app", "1.0.0", &entry, &err) < 0)
            fail_msg("%zu: %s", i, err.text);
    }
}

static const struct {
    const char *text, *name, *version, *message;
    enum error_kind kind;
} missing[] = {
    {index_text, "other", "1", "has no chart \"other\"", ERROR_NOT_FOUND},
    {index_text, "app", "1.0.0", "no version \"1.0.0\" of chart \"app\", but 1.2.0, v1.1.0",
     ERROR_NOT_FOUND},
    {"<html>\n", "app", "1", "is this a chart repository", ERROR_INVALID},
    {"", "app", "1", "is this a chart repository", ERROR_INVALID},
    {"entries:\n  app:\n  - version: '1'\n", "app", "1", "has no URL", ERROR_INVALID},
    {"entries:\n  app: {\n", "app", "1", "entries of chart", ERROR_INVALID},
};

static void what_is_missing_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(missing); i++) {
        cleanup_json json_t *entry = NULL;
        struct error err = {0};

        assert_int_equal(
            find(missing[i].text, 100, missing[i].name, missing[i].version, &entry, &err), -1);
        assert_int_equal(err.kind, missing[i].kind);
        if (!strstr(err.text, missing[i].message))
            fail_msg("%zu: %s", i, err.text);
    }
}

/* Other charts do not count, however many there are; those of the chart itself are bounded. */
static void memory_does_not_grow_with_the_index(void **state)
{
    cleanup_chart_index struct chart_index *index = chart_index_new("app");
    cleanup_json json_t *entry = NULL;
    struct error err = {0};
    char line[4096];

    (void)state;
    memset(line, 'x', sizeof(line));
    memcpy(line, "    - description: ", 19);
    line[sizeof(line) - 1] = '\n';
    assert_int_equal(chart_index_add(index, "entries:\n  big:\n", 16, &err), 0);
    for (int i = 0; i < 4 * CHART_INDEX_ENTRIES_MAX / 4096; i++)
        assert_int_equal(chart_index_add(index, line, sizeof(line), &err), 0);
    assert_int_equal(chart_index_add(index, "  app:\n  - {version: '1', urls: [u]}\n", 36, &err),
                     0);
    assert_int_equal(chart_index_find(index, "1", &entry, &err), 0);
    for (int i = 0; i < CHART_INDEX_ENTRIES_MAX / 4096 + 1; i++) {
        if (chart_index_add(index, line, sizeof(line), &err) < 0)
            break;
    }
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_is_found_however_the_file_is_cut),
        cmocka_unit_test(json_and_lists_without_indentation_are_read),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(memory_does_not_grow_with_the_index),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
