/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/object.h"

static void a_whole_object_has_no_fault(void **state)
{
    static const char text[] = "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"x\":[1]}}";
    cleanup_json json_t *object = NULL;
    struct error fault = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(kube_object_parse(text, strlen(text), NULL, &object, &fault, &err), 0);
    assert_int_equal(fault.kind, ERROR_NONE);
    assert_string_equal(doc_text(object, "metadata.name"), "a");
    assert_non_null(doc_get(object, "spec.x"));
}

static void an_object_that_cannot_be_parsed_is_reduced_to_what_can(void **state)
{
    static const struct {
        const char *text, *reduced;
    } cases[] = {
        {"{\"kind\":\"K\",\"spec\":\"\\u0000\",\"metadata\":{\"name\":\"a\"}}",
         "{\"kind\":\"K\",\"metadata\":{\"name\":\"a\"}}"},
        {"{\"spec\":1,\"spec\":2,\"metadata\":{\"name\":\"a\"},\"kind\":\"K\"}",
         "{\"kind\":\"K\",\"metadata\":{\"name\":\"a\"}}"},
        {" { \"metadata\" : { \"namespace\" : \"n\" , \"name\" : \"a\" , \"generation\" : 3 , "
         "\"labels\":{\"l\":\"v\"},\"annotations\":{\"bad\":\"\\u0000\"}, \"uid\":\"u\" } , "
         "\"a\\\"b\":\"}\\\\\" } ",
         "{\"metadata\":{\"generation\":3,\"labels\":{\"l\":\"v\"},\"name\":\"a\",\"namespace\":"
         "\"n\",\"uid\":\"u\"}}"},
        {"{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"f\"],\"deletionTimestamp\":\"t\","
         "\"resourceVersion\":\"5\"},\"spec\":\"\\u0000\"}",
         "{\"metadata\":{\"deletionTimestamp\":\"t\",\"finalizers\":[\"f\"],\"name\":\"a\","
         "\"resourceVersion\":\"5\"}}"},
        /* the type identifies the responsible deployer even if the rest can't be read */
        {"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"config\":\"\\u0000\",\"type\":\"t\"}}",
         "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"t\"}}"},
        /* its target and its job are kept for the same reason */
        {"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"config\":\"\\u0000\",\"target\":{\"name\":"
         "\"t\"}},"
         "\"status\":{\"jobID\":\"j\",\"lastError\":{\"message\":\"\\u0000\"},\"phase\":\"Failed\"}"
         "}",
         "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"target\":{\"name\":\"t\"}},\"status\":{"
         "\"jobID\":"
         "\"j\",\"phase\":\"Failed\"}}"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = NULL;
        cleanup_free char *dump = NULL;
        struct error fault = {0};
        struct error err = {0};

        assert_int_equal(
            kube_object_parse(cases[i].text, strlen(cases[i].text), NULL, &object, &fault, &err),
            0);
        assert_int_equal(fault.kind, ERROR_INVALID);
        assert_non_null(strstr(fault.text, "/a\""));
        assert_string_equal(doc_text_or(object, KUBE_UNREADABLE, ""), fault.text);
        (void)json_object_del(object, KUBE_UNREADABLE);
        dump = doc_dump_sorted(object);
        assert_string_equal(dump, cases[i].reduced);
    }
}

static void skipped_members_are_not_parsed(void **state)
{
    static const char *const skipped_members[] = {"metadata.managedFields", "spec.containers",
                                                  NULL};
    /* The parser would refuse the NUL if it parsed these members. */
    static const char text[] =
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"managedFields\":[\"\\u0000\"],\"name\":"
        "\"a\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{}]},\"status\":{}}}";
    cleanup_json json_t *object = NULL;
    cleanup_free char *dump = NULL;
    enum kube_line_type type = KUBE_LINE_UNKNOWN;
    struct error fault = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(
        kube_line_parse(text, strlen(text), skipped_members, &type, &object, &fault, &err), 0);
    assert_int_equal(fault.kind, ERROR_NONE);
    dump = doc_dump(object);
    assert_string_equal(
        dump, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":\"n\"},\"status\":{}}");
}

static void only_the_metadata_of_deleted_objects_is_parsed(void **state)
{
    static const char *const skipped_members[] = {"spec.containers", NULL};
    static const struct {
        const char *type;
        const char *const *skipped_members;
        const char *wanted;
    } cases[] = {
        {"DELETED", skipped_members, "{\"metadata\":{\"name\":\"a\"}}"},
        {"MODIFIED", skipped_members, "{\"metadata\":{\"name\":\"a\"},\"spec\":{},\"status\":{}}"},
        {"DELETED", NULL,
         "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[]},\"status\":{}}"},
    };
    static const char object[] = "\"object\":{\"metadata\":{\"name\":\"a\"},"
                                 "\"spec\":{\"containers\":[]},\"status\":{}}";

    (void)state;
    for (size_t i = 0; i < array_length(cases) * 2; i++) {
        size_t which = i / 2;
        /* The form that the API server writes, and other valid forms. */
        cleanup_free char *text =
            i % 2 ? xasprintf("{ %s, \"type\": \"%s\"}", object, cases[which].type)
                  : xasprintf("{\"type\":\"%s\",%s}", cases[which].type, object);
        cleanup_json json_t *found = NULL;
        cleanup_free char *dump = NULL;
        enum kube_line_type type = KUBE_LINE_UNKNOWN;
        struct error fault = {0};
        struct error err = {0};

        assert_int_equal(kube_line_parse(text, strlen(text), cases[which].skipped_members, &type,
                                         &found, &fault, &err),
                         0);
        assert_int_equal(type, which == 1 ? KUBE_LINE_MODIFIED : KUBE_LINE_DELETED);
        dump = doc_dump(found);
        assert_string_equal(dump, cases[which].wanted);
    }
}

static void an_object_that_is_nested_too_deep_keeps_its_name(void **state)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_json json_t *object = NULL;
    struct error fault = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&text, 1 << 20);
    assert_int_equal(buffer_append_text(&text, &err, "{\"spec\":"), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buffer_append(&text, "[", 1, &err), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buffer_append(&text, "]", 1, &err), 0);
    assert_int_equal(buffer_append_text(&text, &err, ",\"metadata\":{\"name\":\"deep\"}}"), 0);
    assert_int_equal(kube_object_parse(text.data, text.size, NULL, &object, &fault, &err), 0);
    assert_int_equal(fault.kind, ERROR_INVALID);
    assert_string_equal(doc_text(object, "metadata.name"), "deep");
    assert_null(doc_member(object, "spec"));
}

static void text_without_a_name_is_an_error(void **state)
{
    static const char *const cases[] = {
        "",
        "{",
        "\"",
        "[]x",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1,}x",
        "{\"metadata\":{\"name\":\"a\"",
        "{\"metadata\":{\"name\":\"\\u0000\"}}",
        "{\"metadata\":\"name\",\"a\":\"\\u0000\"}",
        "{\"metadata\":{\"name\":5},\"a\":\"\\u0000\"}",
        "{\"spec\":\"\\u0000\"}",
        "[]",
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        json_t *object = NULL;
        struct error fault = {0};
        struct error err = {0};

        assert_int_equal(kube_object_parse(cases[i], strlen(cases[i]), NULL, &object, &fault, &err),
                         -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(object);
    }
}

static void lines_have_a_type_and_an_object(void **state)
{
    static const struct {
        const char *text;
        int result;
        enum kube_line_type type;
        enum error_kind fault;
    } cases[] = {
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}", 0, KUBE_LINE_ADDED,
         ERROR_NONE},
        {"{\"object\":{\"metadata\":{\"name\":\"a\"}},\"type\":\"MODIFIED\"}", 0,
         KUBE_LINE_MODIFIED, ERROR_NONE},
        {"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}", 0, KUBE_LINE_DELETED,
         ERROR_NONE},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\"}}}", 0,
         KUBE_LINE_BOOKMARK, ERROR_NONE},
        {"{\"type\":\"ERROR\",\"object\":{\"code\":410}}", 0, KUBE_LINE_ERROR, ERROR_NONE},
        {"{\"type\":\"NEW\",\"object\":{}}", 0, KUBE_LINE_UNKNOWN, ERROR_NONE},
        {"{\"object\":{}}", 0, KUBE_LINE_UNKNOWN, ERROR_NONE},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"},\"s\":\"\\u0000\"}}", 0,
         KUBE_LINE_ADDED, ERROR_INVALID},
        {"{\"type\":\"ADDED\"}", -1, KUBE_LINE_UNKNOWN, ERROR_NONE},
        {"{\"type\":\"ADDED\",\"object\":5}", -1, KUBE_LINE_UNKNOWN, ERROR_NONE},
        {"{\"type\":\"ADDED\",\"object\":{\"s\":\"\\u0000\"}}", -1, KUBE_LINE_UNKNOWN, ERROR_NONE},
        {"nonsense", -1, KUBE_LINE_UNKNOWN, ERROR_NONE},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = NULL;
        enum kube_line_type type = KUBE_LINE_UNKNOWN;
        struct error fault = {0};
        struct error err = {0};

        assert_int_equal(kube_line_parse(cases[i].text, strlen(cases[i].text), NULL, &type, &object,
                                         &fault, &err),
                         cases[i].result);
        assert_int_equal(type, cases[i].type);
        assert_int_equal(fault.kind, cases[i].fault);
        assert_int_equal(object != NULL, cases[i].result == 0);
    }
}

static void name_and_version_are_found_without_parsing(void **state)
{
    static const struct {
        const char *text;
        bool is_had;
    } cases[] = {
        {"{\"type\":\"ADDED\",\"object\":{\"kind\":\"K\",\"metadata\":{\"name\":\"a\","
         "\"namespace\":"
         "\"n\",\"resourceVersion\":\"7\",\"x\":\"\\u0000\"},\"spec\":{}}}",
         true},
        {"{\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}},\"type\":"
         "\"ADDED\"}",
         false},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":7}}}",
         false},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\\u0061\",\"resourceVersion\":"
         "\"7\"}"
         "}}",
         false},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":"
         "\"1234567890123456789012345\"}}}",
         false},
        {"{\"type\":\"ADDED\",\"object\":{}}", false},
        {"{\"type\":\"ADDED\",\"object\":", false},
        {"{\"type\":\"", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        /* A copy of exactly this size, so that the sanitizer notices a read past its end. */
        cleanup_free char *copy = xmemdup(cases[i].text, strlen(cases[i].text));
        struct kube_head head = {0};

        assert_int_equal(kube_line_head(copy, strlen(cases[i].text), &head), cases[i].is_had);
        if (!cases[i].is_had)
            continue;
        assert_string_equal(head.namespace_name, "n");
        assert_string_equal(head.name, "a");
        assert_string_equal(head.resource_version, "7");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_object_has_no_fault),
        cmocka_unit_test(an_object_that_cannot_be_parsed_is_reduced_to_what_can),
        cmocka_unit_test(skipped_members_are_not_parsed),
        cmocka_unit_test(only_the_metadata_of_deleted_objects_is_parsed),
        cmocka_unit_test(an_object_that_is_nested_too_deep_keeps_its_name),
        cmocka_unit_test(text_without_a_name_is_an_error),
        cmocka_unit_test(name_and_version_are_found_without_parsing),
        cmocka_unit_test(lines_have_a_type_and_an_object),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
