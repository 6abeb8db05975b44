/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/event.h"

static const struct event usual = {
    .api_version = "example.com/v1",
    .kind = "Thing",
    .name = "one",
    .uid = "u-1",
    .about_namespace = "there",
    .namespace_name = "there",
    .id = "ready.17",
    .type = "Normal",
    .reason = "Ready",
    .message = "it works",
    .component = "tester",
    .now_unix_ms = 1000,
};

static void an_event_names_its_object(void **state)
{
    cleanup_json json_t *made = event_object(&usual);

    (void)state;
    assert_string_equal(doc_text(made, "kind"), "Event");
    assert_string_equal(doc_text(made, "metadata.name"), "one.ready.17");
    assert_string_equal(doc_text(made, "metadata.namespace"), "there");
    assert_string_equal(doc_text(made, "involvedObject.kind"), "Thing");
    assert_string_equal(doc_text(made, "involvedObject.name"), "one");
    assert_string_equal(doc_text(made, "involvedObject.namespace"), "there");
    assert_string_equal(doc_text(made, "involvedObject.uid"), "u-1");
    assert_string_equal(doc_text(made, "type"), "Normal");
    assert_string_equal(doc_text(made, "message"), "it works");
    assert_string_equal(doc_text(made, "source.component"), "tester");
    assert_string_equal(doc_text(made, "firstTimestamp"), "1970-01-01T00:00:01Z");
}

static void an_object_without_a_namespace_has_none(void **state)
{
    struct event event = usual;
    cleanup_json json_t *made = NULL;

    (void)state;
    event.about_namespace = NULL;
    event.namespace_name = "default";
    made = event_object(&event);
    assert_null(doc_get(made, "involvedObject.namespace"));
    assert_string_equal(doc_text(made, "metadata.namespace"), "default");
}

static void long_names_and_messages_are_cut(void **state)
{
    struct event event = usual;
    char name[254] = "", message[1100] = "";
    cleanup_json json_t *made = NULL;

    (void)state;
    memset(name, 'a', sizeof(name) - 1);
    name[199] = '-';
    name[198] = '.';
    memset(message, 'x', sizeof(message) - 1);
    message[1023] = "ü"[0];
    message[1024] = "ü"[1]; /* would be cut in two */
    event.name = name;
    event.message = message;
    made = event_object(&event);
    assert_int_equal(strlen(doc_text(made, "metadata.name")), 198 + strlen(".ready.17"));
    assert_int_equal(strlen(doc_text(made, "message")), 1023);
    assert_string_equal(doc_text(made, "involvedObject.name"), name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_names_its_object),
        cmocka_unit_test(an_object_without_a_namespace_has_none),
        cmocka_unit_test(long_names_and_messages_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
