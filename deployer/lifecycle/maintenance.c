/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/maintenance.h"

#include <regex.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"

enum {
    POLICY_BYTES_MAX = 1 << 20,
    EXPRESSION_MAX = 1024,
    DAY_MS = 24 * 60 * 60 * 1000,
    DAYS_AHEAD = 8, /* one week from a window that begins before midnight */
};

/* Which value of a cluster an expression is applied to. */
enum match_key {
    MATCH_GLOBAL_ACCOUNT,
    MATCH_PLAN,
    MATCH_REGION,
    MATCH_PLATFORM_REGION,
    MATCH_KEYS
};

static const char *const match_names[MATCH_KEYS] = {"globalAccountID", "plan", "region",
                                                    "platformRegion"};
static const char *const day_names[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

struct window {
    bool is_recurring;
    bool is_on_day[7]; /* by day_names */
    /* Recurring: times of 1970-01-01 in the zone of begin, as UTC; else instants. */
    int64_t begin_ms, end_ms;
    int64_t zone_ms; /* what to add to UTC to get the local time of begin */
};

struct rule {
    regex_t expressions[MATCH_KEYS];
    bool has_expression[MATCH_KEYS];
    struct window *windows;
    size_t window_count;
};

struct maintenance_policy {
    struct rule *rules;
    size_t rule_count;
    struct window fallback;
    bool has_fallback;
};

void maintenance_free(struct maintenance_policy *policy)
{
    if (!policy)
        return;
    for (size_t i = 0; i < policy->rule_count; i++) {
        for (size_t key = 0; key < MATCH_KEYS; key++)
            if (policy->rules[i].has_expression[key])
                regfree(&policy->rules[i].expressions[key]);
        free(policy->rules[i].windows);
    }
    free(policy->rules);
    free(policy);
}

/* ---- Parsing ---- */

/* A time of day with a zone, as the instant on 1970-01-01 and its offset from UTC. */
static int parse_time_of_day(const char *text, int64_t *ret_ms, int64_t *ret_zone_ms,
                             struct error *err)
{
    cleanup_free char *local = xasprintf("1970-01-01T%s", text);
    cleanup_free char *clock = xasprintf("1970-01-01T%.8sZ", text);
    int64_t instant, clock_ms;

    if (timestamp_parse(local, &instant, err) || timestamp_parse(clock, &clock_ms, err))
        return error_set(err, ERROR_INVALID,
                         "\"%.40s\" is not a time of day with a zone, for example 20:00:00Z or "
                         "20:00:00+01:00",
                         text);
    *ret_ms = instant;
    *ret_zone_ms = clock_ms - instant;
    return 0;
}

static int parse_days(const json_t *days, struct window *window, struct error *err)
{
    size_t i;
    json_t *day;

    json_array_foreach(doc_writable(days), i, day)
    {
        const char *name = json_is_string(day) ? json_string_value(day) : "";
        size_t number = 0;

        while (number < array_length(day_names) && strcasecmp(day_names[number], name) != 0)
            number++;
        if (number == array_length(day_names))
            return error_set(err, ERROR_INVALID,
                             "days[%zu]: \"%.40s\" is not a day; use Mon, Tue, Wed, Thu, Fri, Sat "
                             "or Sun",
                             i, name);
        window->is_on_day[number] = true;
    }
    return 0;
}

static int parse_window(const json_t *document, struct window *ret_window, struct error *err)
{
    struct window window = {0};
    const json_t *days = NULL;
    const char *begin = NULL, *end = NULL;
    int64_t end_zone_ms;

    if (doc_want_array(document, "days", &days, err) ||
        doc_want_text_required(document, "begin", &begin, err) ||
        doc_want_text_required(document, "end", &end, err) || parse_days(days, &window, err))
        return -1;
    window.is_recurring = json_array_size(days) > 0;
    if (window.is_recurring) {
        if (parse_time_of_day(begin, &window.begin_ms, &window.zone_ms, err))
            return error_wrap(err, "begin");
        if (parse_time_of_day(end, &window.end_ms, &end_zone_ms, err))
            return error_wrap(err, "end");
        while (window.end_ms <= window.begin_ms)
            window.end_ms += DAY_MS;
        while (window.end_ms > window.begin_ms + DAY_MS)
            window.end_ms -= DAY_MS;
    } else {
        if (timestamp_parse(begin, &window.begin_ms, err))
            return error_wrap(err, "begin");
        if (timestamp_parse(end, &window.end_ms, err))
            return error_wrap(err, "end");
        if (window.end_ms <= window.begin_ms)
            return error_set(err, ERROR_INVALID, "end: is not after begin");
    }
    *ret_window = window;
    return 0;
}

static int parse_match(const json_t *match, struct rule *rule, struct error *err)
{
    const char *name;
    json_t *value;

    doc_foreach(match, name, value)
    {
        const char *expression = json_is_string(value) ? json_string_value(value) : NULL;
        size_t key = 0;
        int problem;

        while (key < MATCH_KEYS && strcasecmp(match_names[key], name) != 0)
            key++;
        if (key == MATCH_KEYS)
            return error_set(err, ERROR_INVALID,
                             "match: unknown key \"%.60s\"; use globalAccountID, plan, region or "
                             "platformRegion",
                             name);
        if (!expression || !*expression || strlen(expression) > EXPRESSION_MAX)
            return error_set(err, ERROR_INVALID,
                             "match.%s: expected a regular expression of 1 to %d characters", name,
                             EXPRESSION_MAX);
        if (rule->has_expression[key])
            return error_set(err, ERROR_INVALID, "match.%s: is given twice", name);
        problem = regcomp(&rule->expressions[key], expression, REG_EXTENDED | REG_NOSUB);
        if (problem) {
            char text[160];

            (void)regerror(problem, &rule->expressions[key], text, sizeof(text));
            return error_set(err, ERROR_INVALID, "match.%s: %s", name, text);
        }
        rule->has_expression[key] = true;
    }
    return 0;
}

static int parse_rule(const json_t *document, struct rule *rule, struct error *err)
{
    const json_t *match = NULL, *windows = NULL;
    size_t i;
    json_t *window;

    if (doc_want_object(document, "match", &match, err) ||
        doc_want_array(document, "windows", &windows, err) || parse_match(match, rule, err))
        return -1;
    if (json_object_size(match) == 0)
        return error_set(err, ERROR_INVALID, "match: names nothing, so the rule never applies");
    rule->windows = xcalloc(json_array_size(windows) + 1, sizeof(*rule->windows));
    json_array_foreach(doc_writable(windows), i, window)
    {
        if (parse_window(window, &rule->windows[i], err))
            return error_wrap(err, "windows[%zu]", i);
        rule->window_count++;
    }
    return 0;
}

int maintenance_parse(const char *text, size_t size, struct maintenance_policy **ret_policy,
                      struct error *err)
{
    cleanup_maintenance struct maintenance_policy *policy = xcalloc(1, sizeof(*policy));
    cleanup_json json_t *document = NULL;
    const json_t *rules = NULL, *fallback = NULL;
    size_t i;
    json_t *rule;

    if (doc_parse_json(text, size, POLICY_BYTES_MAX, &document, err) ||
        doc_want_array(document, "rules", &rules, err) ||
        doc_want_object(document, "default", &fallback, err))
        return -1;
    policy->rules = xcalloc(json_array_size(rules) + 1, sizeof(*policy->rules));
    json_array_foreach(doc_writable(rules), i, rule)
    {
        policy->rule_count = i + 1; /* also a rule that fails has expressions to free */
        if (parse_rule(rule, &policy->rules[i], err))
            return error_wrap(err, "rules[%zu]", i);
    }
    if (fallback && parse_window(fallback, &policy->fallback, err))
        return error_wrap(err, "default");
    policy->has_fallback = fallback != NULL;
    *ret_policy = steal(&policy);
    return 0;
}

/* ---- Finding ---- */

static bool rule_matches(const struct rule *rule, const struct maintenance_cluster *cluster)
{
    const char *const values[MATCH_KEYS] = {cluster->global_account_id, cluster->plan,
                                            cluster->region, cluster->platform_region};

    for (size_t key = 0; key < MATCH_KEYS; key++)
        if (rule->has_expression[key] && values[key] &&
            regexec(&rule->expressions[key], values[key], 0, NULL, 0) == 0)
            return true;
    return false;
}

static int64_t floor_divide(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

/* The first occurrence of a window that ends at or after not_before. */
static bool next_occurrence(const struct window *window, int64_t not_before_unix_ms,
                            struct maintenance_window *ret_window)
{
    int64_t day;

    if (!window->is_recurring) {
        *ret_window = (struct maintenance_window){window->begin_ms, window->end_ms};
        return window->end_ms >= not_before_unix_ms;
    }
    /* Days since 1970-01-01, a Thursday, in the zone of begin; the window of yesterday may still
     * be open. */
    day = floor_divide(not_before_unix_ms + window->zone_ms, DAY_MS) - 1;
    for (int64_t last = day + DAYS_AHEAD; day <= last; day++) {
        int64_t weekday = (day % 7 + 7 + 4) % 7;
        struct maintenance_window occurrence = {window->begin_ms + day * DAY_MS,
                                                window->end_ms + day * DAY_MS};

        if (window->is_on_day[weekday] && occurrence.end_unix_ms >= not_before_unix_ms) {
            *ret_window = occurrence;
            return true;
        }
    }
    return false;
}

static bool first_of(const struct window *windows, size_t count, int64_t not_before_unix_ms,
                     struct maintenance_window *ret_window)
{
    bool is_found = false;

    for (size_t i = 0; i < count; i++) {
        struct maintenance_window window;

        if (next_occurrence(&windows[i], not_before_unix_ms, &window) &&
            (!is_found || window.begin_unix_ms < ret_window->begin_unix_ms)) {
            *ret_window = window;
            is_found = true;
        }
    }
    return is_found;
}

int maintenance_find(const struct maintenance_policy *policy,
                     const struct maintenance_cluster *cluster, int64_t now_unix_ms,
                     int64_t least_ms, struct maintenance_window *ret_window, struct error *err)
{
    int64_t not_before_unix_ms = now_unix_ms + least_ms;
    const struct rule *rule = policy->rules;
    const struct rule *end = policy->rules + policy->rule_count;

    while (rule < end && !rule_matches(rule, cluster))
        rule++;
    if (rule < end && first_of(rule->windows, rule->window_count, not_before_unix_ms, ret_window))
        return 0;
    if (policy->has_fallback && first_of(&policy->fallback, 1, not_before_unix_ms, ret_window))
        return 0;
    return error_set(err, ERROR_NOT_FOUND,
                     "the maintenance policy has no coming window for this cluster; add one, or "
                     "set spec.skipMaintenanceWindows");
}
