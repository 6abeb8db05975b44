/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/checks.h"

#include "common/apply/checks_internal.h"
#include "common/base/memory.h"

/* ---- What the parts use ---- */

static void settle(struct checks *checks)
{
    if (check_pods_is_reading(&checks->pods))
        return;
    if (checks->options.on_change || checks->open_count == 0 || checks->failure.kind != ERROR_NONE)
        loop_timer_start(&checks->timer, 0);
    else
        loop_timer_stop(&checks->timer);
}

void checks_note(struct checks *checks, bool *holds, bool holds_now)
{
    if (*holds != holds_now)
        checks->open_count = holds_now ? checks->open_count - 1 : checks->open_count + 1;
    *holds = holds_now;
    settle(checks);
}

static void on_pods(void *data)
{
    settle(data);
}

void checks_fail(struct checks *checks, const struct check *check, const char *name,
                 const char *reason, const json_t *live)
{
    if (checks->failure.kind == ERROR_NONE) {
        (void)error_set(&checks->failure, ERROR_INVALID, "%s%s%s%s: %s", check ? "check " : "",
                        check ? check->custom->name : "", check ? ": " : "", name, reason);
        check_pods_start(&checks->pods, check ? check->cluster : checks->options.cluster, live,
                         on_pods, checks);
        if (check_pods_is_reading(&checks->pods))
            loop_timer_start(&checks->timer, CHECK_PODS_MS);
    }
    settle(checks);
}

void checks_set_problem(char **problem, const struct error *err)
{
    free(*problem);
    *problem = err ? xstrdup(err->text) : NULL;
}

/* ---- Life ---- */

static void check_done(struct check *check)
{
    for (size_t i = 0; i < check->custom->object_count; i++)
        check_object_done(&check->objects[i]);
    check_selections_done(check);
    for (size_t i = 0; i < check->custom->requirement_count; i++) {
        check_source_done(&check->sources[i]);
        json_decref(check->values[i]);
    }
    free(check->objects);
    free(check->sources);
    free(check->values);
}

static void destroy(struct checks *checks)
{
    for (size_t i = 0; i < checks->options.object_count; i++)
        check_object_done(&checks->objects[i]);
    for (size_t i = 0; i < checks->custom_count; i++)
        check_done(&checks->custom[i]);
    loop_timer_stop(&checks->timer);
    check_pods_done(&checks->pods);
    free(checks->objects);
    free(checks->custom);
    free(checks);
}

static void on_timer(void *data)
{
    struct checks *checks = data;

    if (checks->options.on_change) {
        checks->options.on_change(checks->options.data);
        return;
    }
    checks->is_over = true;
    if (checks->pods.reason)
        (void)error_set(&checks->failure, ERROR_INVALID, "%s; %s", checks->failure.text,
                        checks->pods.reason);
    if (checks->failure.kind != ERROR_NONE)
        checks->options.on_failed(checks->options.data, &checks->failure);
    else
        checks->options.on_ready(checks->options.data);
    destroy(checks);
}

/* ---- Start ---- */

static int check_targets(const struct checks_options *options, struct error *err)
{
    for (size_t i = 0; i < options->custom_count; i++) {
        const struct custom_check *custom = &options->custom[i];

        if (custom->is_disabled)
            continue;
        if (custom->target_name && !(options->custom_clusters && options->custom_clusters[i]))
            return error_set(err, ERROR_INVALID, "check %s: target %s was not resolved",
                             custom->name, custom->target_name);
        for (size_t j = 0; j < custom->requirement_count; j++) {
            const struct check_value_from *from = custom->requirements[j].value_from;

            if (from && from->target_name && !from->cluster)
                return error_set(err, ERROR_INVALID,
                                 "check %s: target %s of valueFrom was not resolved", custom->name,
                                 from->target_name);
        }
    }
    return 0;
}

/* Judges by what the last writes returned. Returns whether all objects are ready. */
static bool judge_seen(struct checks *checks)
{
    const struct checks_options *options = &checks->options;

    checks->open_count = options->object_count;
    for (size_t i = 0; i < options->object_count; i++) {
        struct check_object *object = &checks->objects[i];

        object->checks = checks;
        object->ref = &options->objects[i];
        /* With strict rules the revision of a source counts, which is not known yet. */
        if (options->seen && options->seen[i] &&
            (options->rules == READINESS_DEFAULT ||
             !check_flux_find_source(options->seen[i], NULL))) {
            check_subject_judge(&object->subject, NULL, options->rules, options->seen[i]);
            check_object_compare(object);
        }
    }
    return checks->open_count == 0;
}

static void start_default(struct checks *checks)
{
    const struct checks_options *options = &checks->options;

    for (size_t i = 0; i < options->object_count; i++) {
        struct check_object *object = &checks->objects[i];

        if (!object->holds || !check_is_settled(options->seen[i], options->rules))
            check_object_start(object, options->kinds ? &options->kinds[i] : NULL);
    }
}

static void start_custom(struct check *check, struct checks *checks, size_t index)
{
    const struct custom_check *custom = &checks->options.custom[index];
    struct cluster *const *clusters = checks->options.custom_clusters;

    check->checks = checks;
    check->custom = custom;
    check->cluster = clusters && clusters[index] ? clusters[index] : checks->options.cluster;
    check->objects = xcalloc(custom->object_count + 1, sizeof(*check->objects));
    check->sources = xcalloc(custom->requirement_count + 1, sizeof(*check->sources));
    check->values = xcalloc(custom->requirement_count + 1, sizeof(json_t *));
    checks->open_count += custom->object_count + (custom->label_kind != NULL);
    for (size_t i = 0; i < custom->object_count; i++) {
        check->objects[i] =
            (struct check_object){.checks = checks, .check = check, .ref = &custom->objects[i]};
        check_object_start(&check->objects[i], NULL);
    }
    for (size_t i = 0; i < custom->requirement_count; i++) {
        if (!custom->requirements[i].value_from)
            continue;
        check->sources[i].check = check;
        check->sources[i].requirement = &custom->requirements[i];
        check_source_start(&check->sources[i]);
    }
    check_selections_start(check);
}

int checks_start(const struct checks_options *options, struct checks **ret_checks,
                 struct error *err)
{
    struct checks *checks = NULL;
    bool is_ready = false;

    if (check_targets(options, err) < 0)
        return -1;
    checks = xcalloc(1, sizeof(*checks));
    checks->options = *options;
    checks->objects = xcalloc(options->object_count + 1, sizeof(*checks->objects));
    checks->custom = xcalloc(options->custom_count + 1, sizeof(*checks->custom));
    loop_timer_init(&checks->timer, kube_loop(cluster_kube(options->cluster)), on_timer, checks);
    is_ready = judge_seen(checks);
    for (size_t i = 0; i < options->custom_count; i++) {
        if (!options->custom[i].is_disabled)
            start_custom(&checks->custom[checks->custom_count++], checks, i);
    }
    if (!is_ready || checks->custom_count > 0)
        start_default(checks);
    checks->options.seen = NULL;
    settle(checks);
    *ret_checks = checks;
    return 0;
}

void checks_cancel(struct checks *checks)
{
    if (checks && !checks->is_over)
        destroy(checks);
}

/* ---- Lasting checks ---- */

static bool is_check_known(const struct check *check)
{
    for (size_t i = 0; i < check->custom->object_count; i++) {
        if (!check->objects[i].is_known)
            return false;
    }
    for (size_t i = 0; i < check->custom->requirement_count; i++) {
        if (check->sources[i].check && !check->sources[i].is_known)
            return false;
    }
    return check_selections_are_known(check);
}

enum checks_state checks_state(const struct checks *checks)
{
    for (size_t i = 0; i < checks->options.object_count; i++) {
        if (!checks->objects[i].is_known)
            return CHECKS_UNKNOWN;
    }
    for (size_t i = 0; i < checks->custom_count; i++) {
        if (!is_check_known(&checks->custom[i]))
            return CHECKS_UNKNOWN;
    }
    return checks->open_count == 0 ? CHECKS_HOLD : CHECKS_FAIL;
}

/* ---- For people ---- */

char *checks_describe(const struct checks *checks)
{
    struct summary summary = {0};

    for (size_t i = 0; i < checks->options.object_count; i++)
        check_object_describe(&checks->objects[i], &summary);
    for (size_t i = 0; i < checks->custom_count; i++) {
        const struct check *check = &checks->custom[i];

        for (size_t j = 0; j < check->custom->object_count; j++)
            check_object_describe(&check->objects[j], &summary);
        for (size_t j = 0; j < check->custom->requirement_count; j++)
            check_source_describe(&check->sources[j], &summary);
        check_selections_describe(check, &summary);
    }
    return summary_take(&summary);
}
