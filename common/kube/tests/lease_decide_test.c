/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/data/doc.h"
#include "common/kube/lease_decide.h"

static void decides_by_holder_and_time_of_last_change(void **state)
{
    static const struct {
        const char *why;
        struct lease_record record;
        uint64_t now_ms;
        enum lease_action action;
    } cases[] = {
        {"there is none", {.is_there = false}, 0, LEASE_CREATE},
        {"it is ours", {.is_there = true, .is_ours = true, .is_held = true}, 0, LEASE_RENEW},
        {"it is ours, however old",
         {.is_there = true, .is_ours = true, .is_held = true, .duration_ms = 1000},
         1000000,
         LEASE_RENEW},
        {"no holder", {.is_there = true, .is_held = false, .seen_ms = 100}, 100, LEASE_TAKE},
        {"another has just renewed it",
         {.is_there = true, .is_held = true, .duration_ms = 15000, .seen_ms = 100},
         100,
         LEASE_WAIT},
        {"the last moment of another's lease",
         {.is_there = true, .is_held = true, .duration_ms = 15000, .seen_ms = 100},
         15099,
         LEASE_WAIT},
        {"another's lease has run out",
         {.is_there = true, .is_held = true, .duration_ms = 15000, .seen_ms = 100},
         15100,
         LEASE_TAKE},
        {"another gave no duration: ours counts",
         {.is_there = true, .is_held = true, .seen_ms = 100},
         9099,
         LEASE_WAIT},
        {"and runs out as ours",
         {.is_there = true, .is_held = true, .seen_ms = 100},
         9100,
         LEASE_TAKE},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        if (lease_decide(&cases[i].record, 9000, cases[i].now_ms) != cases[i].action)
            fail_msg("%s", cases[i].why);
    }
}

static json_t *parse(const char *text)
{
    json_t *doc = NULL;
    struct error err = {0};

    if (doc_parse_json(text, strlen(text), 4096, &doc, &err) < 0)
        fail_msg("%s", err.text);
    return doc;
}

static void the_clock_of_another_holder_is_ignored(void **state)
{
    static const char first[] = "{\"spec\":{\"holderIdentity\":\"b\",\"leaseDurationSeconds\":15,"
                                "\"renewTime\":\"2001-01-01T00:00:00.000000Z\"}}";
    static const char renewed[] = "{\"spec\":{\"holderIdentity\":\"b\",\"leaseDurationSeconds\":15,"
                                  "\"renewTime\":\"1999-01-01T00:00:00.000000Z\"}}";
    static const char taken[] = "{\"spec\":{\"holderIdentity\":\"c\",\"leaseDurationSeconds\":15,"
                                "\"renewTime\":\"1999-01-01T00:00:00.000000Z\"}}";
    cleanup_json json_t *one = parse(first);
    cleanup_json json_t *two = parse(renewed);
    cleanup_json json_t *three = parse(taken);
    struct lease_record record = {0};

    (void)state;
    record = lease_record_read(one, NULL, &record, "a", 100);
    assert_int_equal(record.seen_ms, 100);
    assert_int_equal(record.duration_ms, 15000);
    assert_true(record.is_held);
    assert_false(record.is_ours);
    record = lease_record_read(one, doc_member(one, "spec"), &record, "a", 5000);
    assert_int_equal(record.seen_ms, 100);
    record = lease_record_read(two, doc_member(one, "spec"), &record, "a", 6000);
    assert_int_equal(record.seen_ms, 6000);
    record = lease_record_read(three, doc_member(two, "spec"), &record, "c", 7000);
    assert_int_equal(record.seen_ms, 7000);
    assert_true(record.is_ours);
}

static void unusual_leases_are_read(void **state)
{
    static const struct {
        const char *text;
        bool is_held;
        uint32_t duration_ms;
    } cases[] = {
        {"{}", false, 0},
        {"{\"spec\":null}", false, 0},
        {"{\"spec\":{\"holderIdentity\":\"\"}}", false, 0},
        {"{\"spec\":{\"holderIdentity\":5,\"leaseDurationSeconds\":-5}}", false, 0},
        {"{\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":2147483647}}", true,
         3600000},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = parse(cases[i].text);
        const struct lease_record none = {0};
        struct lease_record record = lease_record_read(object, NULL, &none, "a", 1);

        assert_true(record.is_there);
        assert_int_equal(record.is_held, cases[i].is_held);
        assert_int_equal(record.duration_ms, cases[i].duration_ms);
    }
}

static void writes_keep_unknown_fields(void **state)
{
    static const char old[] =
        "{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"9\",\"labels\":{\"x\":\"y\"}},"
        "\"spec\":{\"holderIdentity\":\"b\",\"leaseTransitions\":3,\"acquireTime\":\"then\","
        "\"renewTime\":\"then\",\"leaseDurationSeconds\":20}}";
    static const struct {
        enum lease_action action;
        const char *sorted;
    } cases[] = {
        {LEASE_TAKE,
         "{\"metadata\":{\"labels\":{\"x\":\"y\"},\"name\":\"n\",\"resourceVersion\":\"9\"},"
         "\"spec\":{\"acquireTime\":\"now\",\"holderIdentity\":\"a\",\"leaseDurationSeconds\":15,"
         "\"leaseTransitions\":4,\"renewTime\":\"now\"}}"},
        {LEASE_RENEW,
         "{\"metadata\":{\"labels\":{\"x\":\"y\"},\"name\":\"n\",\"resourceVersion\":\"9\"},"
         "\"spec\":{\"acquireTime\":\"then\",\"holderIdentity\":\"a\",\"leaseDurationSeconds\":15,"
         "\"leaseTransitions\":3,\"renewTime\":\"now\"}}"},
    };
    cleanup_json json_t *object = parse(old);
    cleanup_json json_t *released = NULL;

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *lease =
            lease_object_make(object, "ns", "n", "a", 15000, cases[i].action, "now");
        cleanup_free char *dump = doc_dump_sorted(lease);

        assert_string_equal(dump, cases[i].sorted);
    }
    released = lease_object_release(object, "now");
    assert_string_equal(doc_text(released, "spec.holderIdentity"), "");
    assert_int_equal(doc_integer_or(released, "spec.leaseDurationSeconds", 0), 1);
    assert_int_equal(doc_integer_or(released, "spec.leaseTransitions", 0), 3);
    assert_string_equal(doc_text(released, "metadata.resourceVersion"), "9");
}

static void a_new_lease_is_complete(void **state)
{
    cleanup_json json_t *lease =
        lease_object_make(NULL, "ns", "n", "a", 15000, LEASE_CREATE, "now");
    cleanup_free char *dump = doc_dump_sorted(lease);

    (void)state;
    assert_string_equal(
        dump, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
              "\"name\":\"n\",\"namespace\":\"ns\"},\"spec\":{\"acquireTime\":\"now\","
              "\"holderIdentity\":\"a\",\"leaseDurationSeconds\":15,\"leaseTransitions\":0,"
              "\"renewTime\":\"now\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decides_by_holder_and_time_of_last_change),
        cmocka_unit_test(the_clock_of_another_holder_is_ignored),
        cmocka_unit_test(unusual_leases_are_read),
        cmocka_unit_test(writes_keep_unknown_fields),
        cmocka_unit_test(a_new_lease_is_complete),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
