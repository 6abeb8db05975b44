/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/registrations/environments_page.h"

static json_t *parse(const char *text)
{
    json_t *doc = NULL;
    struct error err = {0};

    assert_int_equal(doc_parse_json(text, strlen(text), 1 << 16, &doc, &err), 0);
    return doc;
}

static void states_follow_the_conditions(void **state)
{
    static const struct {
        const char *conditions; /* as "type status reason" */
        bool is_deleting;
        const char *state, *reason;
    } cases[] = {
        {"[]", false, "NotReady", ""},
        {"[{\"type\":\"Valid\",\"status\":\"True\"}]", false, "Ready", ""},
        {"[{\"type\":\"Valid\",\"status\":\"False\",\"reason\":\"Invalid\"}]", false, "Invalid",
         "Invalid"},
        {"[{\"type\":\"DeployersReady\",\"status\":\"False\",\"reason\":\"X\"}]", false, "NotReady",
         "X"},
        {"[{\"type\":\"Blocked\",\"status\":\"False\",\"reason\":\"NotBlocked\"}]", false, "Ready",
         ""},
        {"[{\"type\":\"Blocked\",\"status\":\"True\",\"reason\":\"Cycle\"}]", false, "NotReady",
         "Cycle"},
        {"[{\"type\":\"AgentReady\",\"status\":\"Unknown\",\"reason\":\"NoHeartbeat\"}]", false,
         "Ready", ""},
        {"[{\"type\":\"AgentReady\",\"status\":\"Unknown\",\"reason\":\"HeartbeatLost\"}]", false,
         "NotReady", "HeartbeatLost"},
        {"[{\"type\":\"Valid\",\"status\":\"True\"}]", true, "Deleting", ""},
    };
    const struct watched_kind *kind = &ENVIRONMENTS_PAGE.watched[ENVIRONMENTS_PAGE_ENVIRONMENTS];
    const struct page_state *states =
        ENVIRONMENTS_PAGE.kinds[ENVIRONMENTS_PAGE_ENVIRONMENTS].states;

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        json_t *object =
            json_pack("{s:{s:s},s:{s:{s:s},s:o}}", "metadata", "name", "sea", "status", "deployers",
                      "summary", "1/2", "conditions", parse(cases[i].conditions));
        struct row row = {.name = "sea"};
        char scratch[ROWS_TEXT_MAX] = "";

        if (cases[i].is_deleting)
            doc_set_text(object, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z");
        kind->read(NULL, object, &row, scratch);
        assert_string_equal(states[row.state].name, cases[i].state);
        assert_string_equal(row.reason, cases[i].reason);
        assert_string_equal(row.type, "1/2");
        json_decref(object);
    }
}

static void an_environment_lists_its_deployers_and_no_secret(void **state)
{
    const struct watched_kind *kinds = ENVIRONMENTS_PAGE.watched;
    json_t *seen = json_object(), *doc = NULL;
    json_t *registration = parse("{\"metadata\":{\"name\":\"helm\"},\"status\":{\"ready\":\"0/1\","
                                 "\"environments\":[{\"name\":\"sea\",\"phase\":\"Pending\"}]}}");
    json_t *environment =
        parse("{\"metadata\":{\"name\":\"sea\"},\"spec\":{\"landscaperClusterConfig\":{\"host\":"
              "\"https://a\",\"caData\":\"canary\"},\"hostTarget\":{\"config\":\"canary\"}}}");
    struct row row = {.name = "helm"};
    char scratch[ROWS_TEXT_MAX] = "";
    cleanup_free char *text = NULL;

    (void)state;
    kinds[ENVIRONMENTS_PAGE_REGISTRATIONS].read(seen, registration, &row, scratch);
    assert_string_equal(row.type, "0/1");
    doc = kinds[ENVIRONMENTS_PAGE_ENVIRONMENTS].describe(seen, environment);
    text = doc_dump(doc);
    assert_null(strstr(text, "canary"));
    assert_non_null(strstr(text, "\"related\":[{\"kind\":\"deployers\",\"name\":\"helm\",\"state\":"
                                 "\"NotReady\",\"tone\":\"busy\",\"reason\":\"Pending\"}]"));
    json_decref(doc);
    kinds[ENVIRONMENTS_PAGE_REGISTRATIONS].forget(seen, "helm");
    doc = kinds[ENVIRONMENTS_PAGE_ENVIRONMENTS].describe(seen, environment);
    assert_int_equal(json_array_size(doc_member(doc, "related")), 0);
    json_decref(doc);
    json_decref(environment);
    json_decref(registration);
    json_decref(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_follow_the_conditions),
        cmocka_unit_test(an_environment_lists_its_deployers_and_no_secret),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
