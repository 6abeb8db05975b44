/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/jsonpath/jsonpath.h"

/* Every string in it contains "secret", so that no message can contain a value unnoticed. */
static const char document[] =
    "{\"metadata\":{\"name\":\"secret-name\",\"generation\":3,"
    "\"labels\":{\"example.com/x\":\"secret-label\",\"back\\\\slash\":\"secret-back\",\"*\":5}},"
    "\"status\":{\"ready\":true,\"none\":null,\"empty\":[],\"nothing\":{},"
    "\"numbers\":[10,11,12,13],\"one\":[7],\"lists\":[[],[1,2],[],[3]],"
    "\"ports\":[{\"name\":\"secret-a\",\"port\":80,\"in\":{\"ips\":[1]}},"
    "{\"name\":\"secret-b\",\"port\":443.5,\"node\":30000,\"tls\":true},"
    "{\"name\":\"secret-c\",\"port\":8080,\"node\":8080,\"tls\":false,\"nil\":null}],"
    "\"mixed\":[1,\"secret\",true,null,{},[]]}}";

static json_t *parse(const char *text)
{
    struct error err = {0};
    json_t *doc = NULL;

    if (doc_parse_json(text, strlen(text), 100000, &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

static int find(const char *text, const char *doc_text, enum jsonpath_missing missing,
                char **ret_values, struct error *err)
{
    cleanup_json json_t *doc = parse(doc_text);
    cleanup_json json_t *values = NULL;
    cleanup_jsonpath struct jsonpath *path = NULL;

    if (jsonpath_parse(text, &path, err) < 0)
        fail_msg("%s: %s", text, err->text);
    if (jsonpath_find(path, doc, missing, &values, err) < 0) {
        assert_null(values);
        return -1;
    }
    *ret_values = doc_dump(values);
    return 0;
}

/* Paths that find something, with the same result in both modes. */
static const struct {
    const char *path;
    const char *values;
} found[] = {
    /* members */
    {".metadata.name", "[\"secret-name\"]"},
    {"metadata.name", "[\"secret-name\"]"},
    {"$.metadata.name", "[\"secret-name\"]"},
    {"@.metadata.name", "[\"secret-name\"]"},
    {"['metadata']['name']", "[\"secret-name\"]"},
    {"['metadata.name']", "[\"secret-name\"]"},
    {"metadata.labels.example\\.com/x", "[\"secret-label\"]"},
    {"metadata.labels['example\\.com/x']", "[\"secret-label\"]"},
    {"metadata.labels.back\\\\slash", "[\"secret-back\"]"},
    {"metadata.labels.\\*", "[5]"},
    {"metadata .generation ", "[3]"},
    {"status.none", "[null]"},
    {"status.empty", "[[]]"},
    {"status.nothing", "[{}]"},
    /* elements */
    {"status.numbers[2]", "[12]"},
    {"status.numbers[]", "[10]"},
    {"status.numbers[-1]", "[13]"},
    {"status.numbers[-4]", "[10]"},
    {"status.numbers[1:3]", "[11,12]"},
    {"status.numbers[:2]", "[10,11]"},
    {"status.numbers[2:]", "[12,13]"},
    {"status.numbers[-2:]", "[12,13]"},
    {"status.numbers[:-1]", "[10,11,12]"},
    {"status.numbers[-3:-1]", "[11,12]"},
    {"status.numbers[::2]", "[10,12]"},
    {"status.numbers[1::2]", "[11,13]"},
    {"status.numbers[0:4:3]", "[10,13]"},
    {"status.numbers[0:4:2147483647]", "[10]"},
    {"status.numbers[:]", "[10,11,12,13]"},
    {"status.numbers[*]", "[10,11,12,13]"},
    {"status.numbers.*", "[10,11,12,13]"},
    {"metadata.labels.*", "[\"secret-label\",\"secret-back\",5]"},
    {"status.ports[*].port", "[80,443.5,8080]"},
    {"status.ports[*].node", "[30000,8080]"},
    {"status.lists[*][*]", "[1,2,3]"},
    /* unions */
    {"status.numbers[0,2]", "[10,12]"},
    {"status.numbers[2,0,0]", "[12,10,10]"},
    {"status.numbers[-1,0:2]", "[13,10,11]"},
    {"metadata['name','generation']", "[\"secret-name\",3]"},
    {"status.ports[*]['port','name']", "[80,443.5,8080,\"secret-a\",\"secret-b\",\"secret-c\"]"},
    /* recursive descent */
    {"..name", "[\"secret-name\",\"secret-a\",\"secret-b\",\"secret-c\"]"},
    {"...name", "[\"secret-name\",\"secret-a\",\"secret-b\",\"secret-c\"]"},
    {"status..port", "[80,443.5,8080]"},
    {"status..ips[0]", "[1]"},
    {"..['generation']", "[3]"},
    {"metadata..", "[{\"name\":\"secret-name\",\"generation\":3,\"labels\":{\"example.com/"
                   "x\":\"secret-label\",\"back\\\\slash\":\"secret-back\",\"*\":5}},"
                   "\"secret-name\",{\"example.com/x\":\"secret-label\",\"back\\\\slash\":"
                   "\"secret-back\",\"*\":5},\"secret-label\",\"secret-back\"]"},
    {"status.lists..", "[[[],[1,2],[],[3]],[1,2],[3]]"},
    /* filters */
    {"status.ports[?(@.name==\"secret-b\")].port", "[443.5]"},
    {"status.ports[?(@.name=='secret-b')].port", "[443.5]"},
    {"status.ports[?( @.name == \"secret\\x2db\" )].port", "[443.5]"},
    {"status.ports[?(\"secret-b\"==@.name)].port", "[443.5]"},
    {"status.ports[?(@.name!=\"secret-b\")].port", "[80,8080]"},
    {"status.ports[?(@.name<\"secret-b\")].port", "[80]"},
    {"status.ports[?(@.name<=\"secret-b\")].port", "[80,443.5]"},
    {"status.ports[?(@.name>\"secret-bb\")].port", "[8080]"},
    {"status.ports[?(@.name>\"secret\")].port", "[80,443.5,8080]"},
    {"status.ports[?(@.name>=\"secret-b\")].port", "[443.5,8080]"},
    {"status.ports[?(@.port==80)].name", "[\"secret-a\"]"},
    {"status.ports[?(@.port==80.0)].name", "[\"secret-a\"]"},
    {"status.ports[?(@.port==443.5)].name", "[\"secret-b\"]"},
    {"status.ports[?(@.port>+80)].name", "[\"secret-b\",\"secret-c\"]"},
    {"status.ports[?(@.port<8080)].name", "[\"secret-a\",\"secret-b\"]"},
    {"status.ports[?(@.port<=80)].name", "[\"secret-a\"]"},
    {"status.ports[?(@.port>=443.5)].name", "[\"secret-b\",\"secret-c\"]"},
    {"status.ports[?(@.tls==true)].name", "[\"secret-b\"]"},
    {"status.ports[?(@.tls!=true)].name", "[\"secret-c\"]"},
    {"status.ports[?(@.tls==false)].name", "[\"secret-c\"]"},
    {"status.ports[?(@.node)].name", "[\"secret-b\",\"secret-c\"]"},
    {"status.ports[?(@.nil)].name", "[\"secret-c\"]"},
    {"status.ports[?(@.node==@.port)].name", "[\"secret-c\"]"},
    {"status.ports[?(@.node==$.port)].name", "[\"secret-c\"]"},
    {"status.ports[?(@.port!=.node)].name", "[\"secret-b\"]"},
    {"status.ports[?(@.in.ips[0]==1)].name", "[\"secret-a\"]"},
    {"status.ports[?(@..ips)].name", "[\"secret-a\"]"},
    {"status.ports[?(@['in.ips'])].name", "[\"secret-a\"]"},
    {"status.ports[?(@.in.ips[?(@==1)])].name", "[\"secret-a\"]"},
    {"status.numbers[?(@>=12)]", "[12,13]"},
    {"status.mixed[?(@)]", "[1,\"secret\",true,null,{},[]]"},
};

static void finds_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(found); i++) {
        for (int missing = 0; missing < 2; missing++) {
            cleanup_free char *values = NULL;
            struct error err = {0};

            if (find(found[i].path, document, (enum jsonpath_missing)missing, &values, &err) < 0)
                fail_msg("%s: %s", found[i].path, err.text);
            if (!values || strcmp(values, found[i].values) != 0)
                fail_msg("%s: got %s, expected %s", found[i].path, values, found[i].values);
        }
    }
}

static void the_root_is_a_value(void **state)
{
    cleanup_free char *values = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(find("$", "{\"a\":1}", JSONPATH_MISSING_IS_ERROR, &values, &err), 0);
    assert_string_equal(values, "[{\"a\":1}]");
}

/* Paths that find nothing: empty, or ERROR_NOT_FOUND with the step. */
static const struct {
    const char *path;
    const char *text;
} missing[] = {
    {"spec", "step \"spec\" at offset 0: not found in an object"},
    {".metadata.nam", "step \".nam\" at offset 9: not found in an object"},
    {"metadata.names", "step \".names\" at offset 8: not found in an object"},
    {"metadata['labels.example.com/x']", "step \".example\" at offset 16: not found in an object"},
    {"metadata.name.x", "step \".x\" at offset 13: not found in a string"},
    {"metadata.name.*", "step \".*\" at offset 13: not found in a string"},
    {"metadata.generation..", "step \"..\" at offset 19: not found in a number"},
    {"status.ready.x", "step \".x\" at offset 12: not found in a boolean"},
    {"status.numbers.x", "step \".x\" at offset 14: not found in a list"},
    {"status.none.x", "step \".x\" at offset 11: not found in null"},
    {"status.none[0]", "step \"[0]\" at offset 11: not found in null"},
    {"status.none.*", "step \".*\" at offset 11: not found in null"},
    {"status.empty[*]", "step \"[*]\" at offset 12: not found in a list"},
    {"status.empty[*].x", "step \"[*]\" at offset 12: not found in a list"},
    {"status.empty[0:]", "step \"[0:]\" at offset 12: not found in a list"},
    {"status.numbers[4:]", "step \"[4:]\" at offset 14: not found in a list"},
    {"status.numbers[9:9]", "step \"[9:9]\" at offset 14: not found in a list"},
    {"status.nothing.*", "step \".*\" at offset 14: not found in an object"},
    {"status.empty[?(@.a==1)]", "step \"[?(@.a==1)]\" at offset 12: not found in a list"},
    {"status.ports[*].x", "step \".x\" at offset 15: not found in any of 3 values"},
    {"..x.y", "step \"x\" at offset 2: not found in any of "},
    {"status.ports[?(@.name==\"x\")].port",
     "step \"[?(@.name==\"x\")]\" at offset 12: not found in a list"},
    {"status.ports[?(@.x==1)]", "step \"[?(@.x==1)]\" at offset 12: not found in a list"},
    {"status.ports[?(1==@.x)]", "step \"[?(1==@.x)]\" at offset 12: not found in a list"},
    {"status.ports[?(@.x.y.z!=1)]", "step \"[?(@.x.y.z!=1)]\" at offset 12: not found in a list"},
    {"status.ports[?(@.name==\"secret-a\")].node", "step \".node\" at offset 35: not found in an"},
};

static void what_is_missing_is_nothing_or_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(missing); i++) {
        cleanup_free char *values = NULL;
        cleanup_free char *none = NULL;
        struct error err = {0};

        if (find(missing[i].path, document, JSONPATH_MISSING_IS_NOTHING, &values, &err) < 0)
            fail_msg("%s: %s", missing[i].path, err.text);
        assert_string_equal(values, "[]");
        assert_int_equal(find(missing[i].path, document, JSONPATH_MISSING_IS_ERROR, &none, &err),
                         -1);
        assert_int_equal(err.kind, ERROR_NOT_FOUND);
        if (strncmp(err.text, missing[i].text, strlen(missing[i].text)) != 0)
            fail_msg("%s: %s", missing[i].path, err.text);
    }
}

static void a_union_needs_all_of_its_members_only_if_missing_is_an_error(void **state)
{
    cleanup_free char *values = NULL;
    cleanup_free char *none = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(find("['a','b']", "{\"a\":1}", JSONPATH_MISSING_IS_NOTHING, &values, &err), 0);
    assert_string_equal(values, "[1]");
    assert_int_equal(find("['a','b']", "{\"a\":1}", JSONPATH_MISSING_IS_ERROR, &none, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_string_equal(err.text, "step \"b\" at offset 6: not found in an object");
}

/* Errors in both modes. */
static const struct {
    const char *path;
    const char *text;
} invalid[] = {
    {"status.numbers[4]", "step \"[4]\" at offset 14: out of range, the list has 4 elements"},
    {"status.numbers[-5]", "step \"[-5]\" at offset 14: out of range, the list has 4 elements"},
    {"status.numbers[1:5]", "step \"[1:5]\" at offset 14: out of range, the list has 4 elements"},
    {"status.numbers[5:]", "step \"[5:]\" at offset 14: out of range, the list has 4 elements"},
    {"status.numbers[3:1]", "step \"[3:1]\" at offset 14: out of range, the list has 4 elements"},
    {"status.numbers[-1:0]", "step \"[-1:0]\" at offset 14: out of range, the list has 4 elements"},
    {"status.numbers[0:-5]", "step \"[0:-5]\" at offset 14: out of range, the list has 4 elements"},
    {"status.empty[0]", "step \"[0]\" at offset 12: out of range, the list has 0 elements"},
    {"status.empty[-1]", "step \"[-1]\" at offset 12: out of range, the list has 0 elements"},
    {"status.numbers[0,7]", "step \"7\" at offset 17: out of range, the list has 4 elements"},
    {"metadata[0]", "step \"[0]\" at offset 8: expected a list, got an object"},
    {"metadata[*]", "step \"[*]\" at offset 8: expected a list, got an object"},
    {"metadata.name[0]", "step \"[0]\" at offset 13: expected a list, got a string"},
    {"metadata.name[?(@)]", "step \"[?(@)]\" at offset 13: expected a list, got a string"},
    {"metadata[?(@.name)]", "step \"[?(@.name)]\" at offset 8: expected a list, got an object"},
    {"status.none[?(@.a)]", "step \"[?(@.a)]\" at offset 11: expected a list, got null"},
    {"status.ports[?(@.name==1)]",
     "step \"[?(@.name==1)]\" at offset 12: cannot compare a string with a number"},
    {"status.ports[?(@.port!=\"x\")]",
     "step \"[?(@.port!=\"x\")]\" at offset 12: cannot compare a number with a string"},
    {"status.ports[?(@.tls==1)]",
     "step \"[?(@.tls==1)]\" at offset 12: cannot compare a boolean with a number"},
    {"status.ports[?(@.tls>false)]",
     "step \"[?(@.tls>false)]\" at offset 12: cannot compare a boolean with a boolean"},
    {"status.ports[?(@.nil==@.nil)]",
     "step \"[?(@.nil==@.nil)]\" at offset 12: cannot compare null with null"},
    {"status.ports[?(@.in==@.in)]",
     "step \"[?(@.in==@.in)]\" at offset 12: cannot compare an object with an object"},
    {"status.lists[?(@==@)]", "step \"[?(@==@)]\" at offset 12: cannot compare a list with a list"},
    {"status.ports[?(@.*==1)]",
     "step \"[?(@.*==1)]\" at offset 12: a comparison needs one value on each side, got 3 and 1"},
    {"status.ports[?(1==@.*)]",
     "step \"[?(1==@.*)]\" at offset 12: a comparison needs one value on each side, got 1 and 3"},
    {"status.ports[?(@.in.ips[1])]",
     "step \"[1]\" at offset 23: out of range, the list has 1 elements"},
};

static void structural_errors_do_not_depend_on_the_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(invalid); i++) {
        for (int mode = 0; mode < 2; mode++) {
            cleanup_free char *values = NULL;
            struct error err = {0};

            if (find(invalid[i].path, document, (enum jsonpath_missing)mode, &values, &err) == 0)
                fail_msg("%s: %s", invalid[i].path, values);
            assert_int_equal(err.kind, ERROR_INVALID);
            assert_string_equal(err.text, invalid[i].text);
            assert_null(strstr(err.text, "secret"));
        }
    }
}

static void a_long_step_is_cut_off_at_a_character(void **state)
{
    cleanup_free char *values = NULL;
    struct error err = {0};
    char path[200] = ".x";

    (void)state;
    for (size_t i = 2; i < 120;
         i += 2) { /* the characters begin at even bytes, so one ends at 80 */
        path[i] = '\xc3';
        path[i + 1] = '\xa4';
    }
    assert_int_equal(find(path, "{}", JSONPATH_MISSING_IS_ERROR, &values, &err), -1);
    assert_memory_equal(err.text + strlen("step \""), path, 80);
    assert_string_equal(err.text + strlen("step \"") + 80,
                        "...\" at offset 0: not found in an object");
    memmove(path + 1, path + 2, strlen(path + 2) + 1); /* now byte 80 is inside of a character */
    assert_int_equal(find(path, "{}", JSONPATH_MISSING_IS_ERROR, &values, &err), -1);
    assert_memory_equal(err.text + strlen("step \""), path, 79);
    assert_string_equal(err.text + strlen("step \"") + 79,
                        "...\" at offset 0: not found in an object");
}

/* The values are references, not copies, and stay valid without the document. */
static void values_outlive_the_document(void **state)
{
    json_t *doc = parse("{\"a\":{\"b\":\"x\"}}");
    const json_t *member = doc_get(doc, "a");
    cleanup_json json_t *values = NULL;
    cleanup_jsonpath struct jsonpath *path = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(jsonpath_parse("a", &path, &err), 0);
    assert_int_equal(jsonpath_find(path, doc, JSONPATH_MISSING_IS_ERROR, &values, &err), 0);
    assert_ptr_equal(json_array_get(values, 0), member);
    json_decref(doc);
    assert_string_equal(doc_text(json_array_get(values, 0), "b"), "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_values),
        cmocka_unit_test(the_root_is_a_value),
        cmocka_unit_test(what_is_missing_is_nothing_or_an_error),
        cmocka_unit_test(a_union_needs_all_of_its_members_only_if_missing_is_an_error),
        cmocka_unit_test(structural_errors_do_not_depend_on_the_mode),
        cmocka_unit_test(a_long_step_is_cut_off_at_a_character),
        cmocka_unit_test(values_outlive_the_document),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
