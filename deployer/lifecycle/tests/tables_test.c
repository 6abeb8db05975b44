/* SPDX-License-Identifier: Apache-2.0 */
/* The decisions of the lifecycle manager, by the tables that describe those of the original. Each
 * row is read from the file, so that a row that is added there is tested here. The table of the
 * definitions (crd_validation) needs an API server: e2e/api/lifecycle/test_crds.py. */
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"
#include "common/data/timestamp.h"
#include "deployer/lifecycle/images.h"
#include "deployer/lifecycle/maintenance.h"
#include "deployer/lifecycle/manifest_name.h"
#include "deployer/lifecycle/module_state.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/resolve.h"
#include "deployer/lifecycle/state.h"

#define TABLES "../../../e2e/api/lifecycle/data/tables/tables.json"

/* Each has a test below, but crd_validation. */
static const char *const known[] = {
    "manifest_name",
    "deployment_state",
    "statefulset_state",
    "kyma_state",
    "visibility",
    "maintenance_match_ruleset1",
    "maintenance_resolve_ruleset1",
    "image_reference",
    "crd_validation",
};

static json_t *load(void)
{
    json_error_t error;
    json_t *tables = json_load_file(TABLES, 0, &error);

    if (!tables)
        fail_msg(TABLES ": %s", error.text);
    return tables;
}

/* The rows of a table, which are never none. Borrowed. */
static const json_t *rows_of(const json_t *tables, const char *name)
{
    const json_t *table = json_object_get(tables, name);
    const json_t *rows = json_is_array(table) ? table : json_object_get(table, "rows");

    if (json_array_size(rows) == 0)
        fail_msg("table %s has no rows", name);
    return rows;
}

static const char *text_at(const json_t *row, size_t column)
{
    const char *text = json_string_value(json_array_get(row, column));

    if (!text)
        fail_msg("column %zu is not a text", column);
    return text;
}

static enum module_state state_of(const char *name)
{
    enum module_state state;

    if (!module_state_parse(name, &state))
        fail_msg("\"%s\" is not a state", name);
    return state;
}

static void show(const json_t *row)
{
    cleanup_free char *text = doc_dump(row);

    print_message("%s\n", text);
}

static void every_table_has_a_test(void **state)
{
    cleanup_json json_t *tables = load();
    const char *name;
    json_t *table;

    (void)state;
    assert_int_equal(json_object_size(tables), array_length(known));
    json_object_foreach(tables, name, table)
    {
        bool is_known = false;

        for (size_t i = 0; i < array_length(known); i++)
            is_known |= strcmp(known[i], name) == 0;
        if (!is_known)
            fail_msg("table %s has no test", name);
    }
}

static void names_of_manifests(void **state)
{
    cleanup_json json_t *tables = load();
    const json_t *rows = rows_of(tables, "manifest_name"), *row;
    size_t i;

    (void)state;
    json_array_foreach(rows, i, row)
    {
        cleanup_free char *name = manifest_name(text_at(row, 1), text_at(row, 0), text_at(row, 2));

        show(row);
        assert_string_equal(name, text_at(row, 3));
    }
}

static void states_of_deployments(void **state)
{
    cleanup_json json_t *tables = load();
    const json_t *rows = rows_of(tables, "deployment_state"), *row;
    size_t i;

    (void)state;
    json_array_foreach(rows, i, row)
    {
        cleanup_json json_t *deployment =
            json_pack("{s:s, s:{s:i}, s:{s:i, s:[{s:s, s:s}, {s:s, s:s, s:s}]}}", "kind",
                      "Deployment", "metadata", "generation", 1, "status", "observedGeneration", 1,
                      "conditions", "type", "Available", "status", text_at(row, 0), "type",
                      "Progressing", "status", text_at(row, 1), "reason", text_at(row, 2));

        show(row);
        assert_int_equal(manager_state(deployment, NULL).state, state_of(text_at(row, 3)));
    }
}

static void states_of_stateful_sets(void **state)
{
    cleanup_json json_t *tables = load();
    const json_t *rows = rows_of(tables, "statefulset_state"), *row;
    size_t i;

    (void)state;
    json_array_foreach(rows, i, row)
    {
        cleanup_json json_t *set =
            json_pack("{s:s, s:{s:i}, s:{s:O}, s:{s:i, s:O}}", "kind", "StatefulSet", "metadata",
                      "generation", 1, "spec", "replicas", json_array_get(row, 0), "status",
                      "observedGeneration", 1, "readyReplicas", json_array_get(row, 1));
        json_t *container = json_array_get(row, 2);
        cleanup_json json_t *pod =
            json_is_null(container)
                ? NULL
                : json_pack("{s:{s:[O]}}", "status", "containerStatuses", container);

        show(row);
        assert_int_equal(manager_state(set, pod).state, state_of(text_at(row, 3)));
    }
}

static void states_of_kymas(void **state)
{
    cleanup_json json_t *tables = load();
    const json_t *rows = rows_of(tables, "kyma_state"), *row;
    size_t i;

    (void)state;
    json_array_foreach(rows, i, row)
    {
        const json_t *modules = json_array_get(row, 0);
        enum module_state states[10];
        size_t count = json_array_size(modules);

        show(row);
        assert_true(count <= array_length(states));
        for (size_t j = 0; j < count; j++)
            states[j] = state_of(text_at(modules, j));
        assert_int_equal(kyma_state(states, count, json_is_true(json_array_get(row, 1))),
                         state_of(text_at(row, 2)));
    }
}

/* An object that is labelled as the columns of a row say. A new reference. */
static json_t *labelled(const json_t *row, size_t beta, size_t internal)
{
    json_t *labels = json_object();

    if (json_integer_value(json_array_get(row, beta)))
        json_object_set_new(labels, KYMA_LABEL_BETA, json_string("true"));
    if (json_integer_value(json_array_get(row, internal)))
        json_object_set_new(labels, KYMA_LABEL_INTERNAL, json_string("true"));
    return json_pack("{s:{s:o}}", "metadata", "labels", labels);
}

static void visibility_of_modules(void **state)
{
    cleanup_json json_t *tables = load();
    const json_t *rows = rows_of(tables, "visibility"), *row;
    size_t i;

    (void)state;
    json_array_foreach(rows, i, row)
    {
        cleanup_json json_t *module = labelled(row, 0, 1), *kyma = labelled(row, 2, 3);
        const char *reason = NULL;

        show(row);
        assert_int_equal(template_is_visible(module, kyma, &reason),
                         json_integer_value(json_array_get(row, 4)));
    }
}

/* ---- Maintenance windows ---- */

/* The rules that the rows are about, and a default that no row expects. */
#define RULESET                                                                                    \
    "{'rules':[{'match':{'plan':'trial|free'},'windows':["                                         \
    "{'days':['Mon','Tue','Wed','Thu','Fri','Sat','Sun'],'begin':'01:00:00Z',"                     \
    "'end':'01:00:00Z'}]},"                                                                        \
    "{'match':{'region':'europe|eu-|uksouth'},'windows':["                                         \
    "{'begin':'2024-10-10T20:00:00Z','end':'2024-10-11T00:00:00Z'},"                               \
    "{'begin':'2024-12-08T20:00:00Z','end':'2024-12-09T00:00:00Z'}]}],"                            \
    "'default':{'begin':'2090-01-01T00:00:00Z','end':'2090-01-02T00:00:00Z'}}"
#define DEFAULT_BEGIN "2090-01-01T00:00:00Z"

static struct maintenance_policy *ruleset(void)
{
    cleanup_json json_t *doc = parse(RULESET);
    cleanup_free char *text = doc_dump(doc);
    struct maintenance_policy *policy = NULL;
    struct error err = {0};

    if (maintenance_parse(text, strlen(text), &policy, &err) < 0)
        fail_msg("%s", err.text);
    return policy;
}

static int64_t at(const char *text)
{
    int64_t unix_ms = 0;
    struct error err = {0};

    if (timestamp_parse(text, &unix_ms, &err) < 0)
        fail_msg("%s", err.text);
    return unix_ms;
}

static struct maintenance_window find(const struct maintenance_policy *policy,
                                      struct maintenance_cluster cluster, int64_t now_unix_ms,
                                      int64_t least_ms)
{
    struct maintenance_window window = {0};
    struct error err = {0};

    if (maintenance_find(policy, &cluster, now_unix_ms, least_ms, &window, &err) < 0)
        fail_msg("%s", err.text);
    return window;
}

/* "plan free" or "region eu-1". */
static struct maintenance_cluster cluster_of(const char *text)
{
    const char *value = strchr(text, ' ');

    if (value && strncmp(text, "plan ", 5) == 0)
        return (struct maintenance_cluster){.plan = value + 1};
    if (value && strncmp(text, "region ", 7) == 0)
        return (struct maintenance_cluster){.region = value + 1};
    fail_msg("\"%s\" is neither a plan nor a region", text);
    return (struct maintenance_cluster){0};
}

/* Only a cluster that a rule matches has a window before that of the default. */
static void rules_of_maintenance(void **state)
{
    cleanup_json json_t *tables = load();
    cleanup_maintenance struct maintenance_policy *policy = ruleset();
    json_t *matches, *expected;
    const char *rule, *cluster;

    (void)state;
    json_object_foreach(json_object_get(tables, "maintenance_match_ruleset1"), rule, matches)
    {
        assert_true(json_object_size(matches) > 0);
        json_object_foreach(matches, cluster, expected)
        {
            struct maintenance_window window =
                find(policy, cluster_of(cluster), at("2024-10-01T00:00:00Z"), 0);

            print_message("%s: %s\n", rule, cluster);
            assert_true(json_is_boolean(expected));
            assert_int_equal(window.begin_unix_ms != at(DEFAULT_BEGIN), json_is_true(expected));
        }
    }
}

/* A row without "ongoing" expects the first window that has not begun yet. */
static void windows_of_maintenance(void **state)
{
    cleanup_json json_t *tables = load();
    cleanup_maintenance struct maintenance_policy *policy = ruleset();
    const json_t *rows = rows_of(tables, "maintenance_resolve_ruleset1"), *row;
    size_t i;

    (void)state;
    json_array_foreach(rows, i, row)
    {
        struct maintenance_cluster cluster = {
            .plan = doc_text_or(row, "runtime.plan", NULL),
            .region = doc_text_or(row, "runtime.region", NULL),
        };
        const json_t *expected = json_object_get(row, "window");
        int64_t now = at(doc_text_or(row, "at", ""));
        struct maintenance_window window = find(policy, cluster, now, 0);

        show(row);
        if (!json_is_true(json_object_get(row, "ongoing")) && window.begin_unix_ms <= now)
            window = find(policy, cluster, window.end_unix_ms, 1);
        assert_int_equal(window.begin_unix_ms, at(text_at(expected, 0)));
        assert_int_equal(window.end_unix_ms, at(text_at(expected, 1)));
    }
}

static void references_of_images(void **state)
{
    cleanup_json json_t *tables = load();
    const json_t *rows = rows_of(tables, "image_reference"), *row;
    size_t i;

    (void)state;
    json_array_foreach(rows, i, row)
    {
        cleanup_image_name struct image_name name = {0};
        struct error err = {0};

        show(row);
        if (image_name_parse(text_at(row, 0), &name, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(name.location, text_at(row, 1));
        assert_string_equal(name.key, text_at(row, 2));
        assert_string_equal(name.digest, text_at(row, 3));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_has_a_test), cmocka_unit_test(names_of_manifests),
        cmocka_unit_test(states_of_deployments),  cmocka_unit_test(states_of_stateful_sets),
        cmocka_unit_test(states_of_kymas),        cmocka_unit_test(visibility_of_modules),
        cmocka_unit_test(rules_of_maintenance),   cmocka_unit_test(windows_of_maintenance),
        cmocka_unit_test(references_of_images),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
