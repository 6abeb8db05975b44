/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/exports.h"

#include "common/apply/exports_eval.h"
#include "common/apply/follow.h"
#include "common/apply/summary.h"
#include "common/base/loop.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

/* The state of one rule. */
struct export
{
    struct exports *exports;
    const struct export_rule *rule;
    struct cluster *cluster;
    struct follow *follow;       /* of the object; NULL: what the last write returned is enough */
    struct object_ref reference; /* what it refers to; name NULL: nothing, or not known yet */
    struct follow *reference_follow; /* of that object */
    json_t *value;                   /* NULL: missing */
    struct error problem;            /* why it is missing */
    bool is_problem_of_reference;
    bool is_problem_of_cluster;      /* its text has the name of the object */
    bool is_away, is_reference_away; /* cannot be observed at present */
};

struct exports {
    struct exports_options options;
    struct export *exports;
    size_t missing_count;
    struct loop_timer timer; /* ends the exports */
    bool is_over;
};

static void settle(struct exports *exports)
{
    if (exports->options.on_change || exports->missing_count == 0)
        loop_timer_start(&exports->timer, 0);
    else
        loop_timer_stop(&exports->timer);
}

/* Takes value over; NULL: it is missing. */
static void set_value(struct export *export, json_t *value)
{
    struct exports *exports = export->exports;

    if (!export->value && value)
        exports->missing_count--;
    else if (export->value && !value)
        exports->missing_count++;
    json_decref(export->value);
    export->value = value;
    settle(exports);
}

static void set_problem(struct export *export, const struct error *err, bool is_of_reference)
{
    export->problem = *err;
    export->is_problem_of_reference = is_of_reference;
    export->is_problem_of_cluster = false;
}

static void set_missing(struct export *export, const struct error *err, bool is_of_reference)
{
    set_problem(export, err, is_of_reference);
    set_value(export, NULL);
}

static void forget_reference(struct export *export)
{
    follow_stop(export->reference_follow);
    export->reference_follow = NULL;
    object_ref_done(&export->reference);
    export->is_reference_away = false;
}

/* ---- Objects ---- */

/* Whether the object can be evaluated; otherwise the reason is noted. */
static bool is_readable(struct export *export, const json_t *object, const struct error *err,
                        bool is_of_reference)
{
    struct error absent = {0};
    bool is_away = err && err->kind != ERROR_NOT_FOUND;

    if (is_of_reference)
        export->is_reference_away = is_away;
    else
        export->is_away = is_away;
    if (object)
        return true;
    (void)error_set(&absent, ERROR_NOT_FOUND, "does not exist");
    set_problem(export, err ? err : &absent, is_of_reference);
    export->is_problem_of_cluster = err != NULL;
    /* An interruption of the watch does not change what is known of the object. */
    if (is_away) {
        settle(export->exports);
        return false;
    }
    set_value(export, NULL);
    if (!is_of_reference)
        forget_reference(export);
    return false;
}

static void take_referenced(struct export *export, const json_t *object)
{
    const struct export_rule *rule = export->rule;
    struct error err = {0};
    json_t *value = NULL;

    if (export_find(rule->reference_path, rule->reference_path_text, object, &value, &err) < 0)
        set_missing(export, &err, true);
    else
        set_value(export, value);
}

static void on_referenced(void *data, const json_t *object, const struct error *err)
{
    struct export *export = data;

    if (is_readable(export, object, err, true))
        take_referenced(export, object);
}

static void refer_to(struct export *export, struct object_ref reference)
{
    const struct exports_options *options = &export->exports->options;
    const json_t *seen = NULL;
    struct error err = {0};

    if (export->reference.name && object_ref_is_same_name(&export->reference, &reference)) {
        object_ref_done(&reference);
        return;
    }
    forget_reference(export);
    export->reference = reference;
    (void)error_set(&err, ERROR_NOT_FOUND, "was not read yet");
    set_missing(export, &err, true);
    export->is_reference_away = true;
    if (export->cluster == options->cluster)
        seen = export_find_seen(options, &export->reference);
    if (seen)
        take_referenced(export, seen);
    if (export->value)
        return;
    export->reference_follow = follow_start(&(struct follow_options){
        .cluster = export->cluster,
        .api_version = export->reference.api_version,
        .kind_name = export->reference.kind,
        .namespace_name = export->reference.namespace_name,
        .name = export->reference.name,
        .on_object = on_referenced,
        .data = export,
    });
}

static void take(struct export *export, const json_t *object)
{
    const struct export_rule *rule = export->rule;
    cleanup_json json_t *value = NULL;
    struct object_ref reference = {0};
    struct error err = {0};

    if (export_find(rule->path, rule->path_text, object, &value, &err) < 0 ||
        (rule->reference_kind && export_parse_reference(rule, value, &reference, &err) < 0)) {
        set_missing(export, &err, false);
        forget_reference(export);
    } else if (rule->reference_kind) {
        refer_to(export, reference);
    } else {
        set_value(export, steal(&value));
    }
}

static void on_object(void *data, const json_t *object, const struct error *err)
{
    struct export *export = data;

    if (is_readable(export, object, err, false))
        take(export, object);
}

/* ---- Life ---- */

static void destroy(struct exports *exports)
{
    for (size_t i = 0; i < exports->options.count; i++) {
        struct export *export = &exports->exports[i];

        follow_stop(export->follow);
        forget_reference(export);
        json_decref(export->value);
    }
    loop_timer_stop(&exports->timer);
    free(exports->exports);
    free(exports);
}

static void on_timer(void *data)
{
    struct exports *exports = data;
    json_t *values = NULL;

    if (exports->options.on_change) {
        exports->options.on_change(exports->options.data);
        return;
    }
    values = json_object();
    for (size_t i = 0; i < exports->options.count; i++)
        export_place(values, exports->exports[i].rule->key, exports->exports[i].value);
    exports->is_over = true;
    exports->options.on_done(exports->options.data, values);
    destroy(exports);
}

static int check_rules(const struct exports_options *options, struct error *err)
{
    for (size_t i = 0; i < options->count; i++) {
        const struct export_rule *rule = &options->rules[i];

        if (export_key_check(rule->key, err) < 0)
            return -1;
        if (rule->target_name && !(options->rule_clusters && options->rule_clusters[i]))
            return error_set(err, ERROR_INVALID, "export %s: target %s was not resolved", rule->key,
                             rule->target_name);
    }
    return 0;
}

static void start_export(struct export *export)
{
    const struct exports_options *options = &export->exports->options;
    const struct object_ref *from = &export->rule->from;
    const json_t *seen = NULL;

    (void)error_set(&export->problem, ERROR_NOT_FOUND, "was not read yet");
    export->is_away = true;
    if (export->cluster == options->cluster)
        seen = export_find_seen(options, from);
    if (seen)
        take(export, seen);
    if (export->value || export->reference.name)
        return;
    export->follow = follow_start(&(struct follow_options){
        .cluster = export->cluster,
        .api_version = from->api_version,
        .kind_name = from->kind,
        .namespace_name = from->namespace_name,
        .name = from->name,
        .on_object = on_object,
        .data = export,
    });
}

int exports_start(const struct exports_options *options, struct exports **ret_exports,
                  struct error *err)
{
    struct exports *exports = NULL;

    if (check_rules(options, err) < 0)
        return -1;
    exports = xcalloc(1, sizeof(*exports));
    exports->options = *options;
    exports->exports = xcalloc(options->count + 1, sizeof(*exports->exports));
    exports->missing_count = options->count;
    loop_timer_init(&exports->timer, kube_loop(cluster_kube(options->cluster)), on_timer, exports);
    for (size_t i = 0; i < options->count; i++) {
        struct export *export = &exports->exports[i];
        struct cluster *const *clusters = options->rule_clusters;

        export->exports = exports;
        export->rule = &options->rules[i];
        export->cluster = clusters && clusters[i] ? clusters[i] : options->cluster;
        start_export(export);
    }
    exports->options.seen = NULL;
    settle(exports);
    *ret_exports = exports;
    return 0;
}

void exports_cancel(struct exports *exports)
{
    if (exports && !exports->is_over)
        destroy(exports);
}

/* ---- Lasting exports ---- */

enum export_state exports_find(const struct exports *exports, size_t index,
                               const json_t **ret_value)
{
    const struct export *export = &exports->exports[index];

    *ret_value = NULL;
    if (export->is_away || export->is_reference_away)
        return EXPORT_UNKNOWN;
    *ret_value = export->value;
    return export->value ? EXPORT_FOUND : EXPORT_ABSENT;
}

/* ---- For people ---- */

static void describe(const struct export *export, struct summary *summary)
{
    const struct export_rule *rule = export->rule;
    cleanup_free char *from = object_ref_text(&rule->from);
    cleanup_free char *reference = NULL;
    bool is_public = true;

    if (export->is_problem_of_reference) {
        is_public = export_is_public(rule, &export->reference);
        reference = is_public ? object_ref_text(&export->reference) : xstrdup(rule->reference_kind);
    }
    summary_add(summary, "export %s: %s%s%s%s: %s", rule->key, reference ? reference : from,
                reference ? " (which " : "", reference ? from : "", reference ? " refers to)" : "",
                is_public || !export->is_problem_of_cluster
                    ? export->problem.text
                    : error_kind_name(export->problem.kind));
}

char *exports_describe(const struct exports *exports)
{
    struct summary summary = {0};

    for (size_t i = 0; i < exports->options.count; i++) {
        if (!exports->exports[i].value)
            describe(&exports->exports[i], &summary);
    }
    return summary_take(&summary);
}
