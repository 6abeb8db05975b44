/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/checks_internal.h"
#include "common/base/memory.h"

/* ---- Objects ---- */

static const struct custom_check *custom_of(const struct check_object *object)
{
    return object->check ? object->check->custom : NULL;
}

static bool does_hold(const struct check_object *object, struct error *err)
{
    return check_subject_holds(&object->subject, custom_of(object),
                               object->check ? object->check->values : NULL, err) &&
           check_flux_holds(&object->flux, err);
}

static struct cluster *cluster_of(const struct check_object *object)
{
    return object->check ? object->check->cluster : object->checks->options.cluster;
}

void check_object_compare(struct check_object *object)
{
    struct error ignored = {0};

    checks_note(object->checks, &object->holds, does_hold(object, &ignored));
}

static void on_flux_change(void *data)
{
    check_object_compare(data);
}

static bool is_strict(const struct check_object *object)
{
    return object->checks->options.rules == READINESS_STRICT &&
           (!object->check || object->check->custom->is_default);
}

static void on_object(void *data, const json_t *live, const struct error *err)
{
    struct check_object *object = data;

    checks_set_problem(&object->problem, err);
    /* An interruption of the watch does not change what is known of the object. */
    object->is_known = !err || err->kind == ERROR_NOT_FOUND;
    if (!object->is_known) {
        check_object_compare(object);
        return;
    }
    check_subject_judge(&object->subject, custom_of(object), object->checks->options.rules, live);
    if (object->subject.readiness == READINESS_FAILED) {
        cleanup_free char *name = object_ref_text(object->ref);

        checks_fail(object->checks, object->check, name, object->subject.reason, live);
    }
    if (is_strict(object))
        check_flux_set_object(&object->flux, cluster_of(object), live);
    check_object_compare(object);
}

void check_object_start(struct check_object *object, const struct kind *kind)
{
    object->flux.on_change = on_flux_change;
    object->flux.data = object;
    object->follow = follow_start(&(struct follow_options){
        .cluster = cluster_of(object),
        .api_version = object->ref->api_version,
        .kind_name = object->ref->kind,
        .kind = kind,
        .namespace_name = object->ref->namespace_name,
        .name = object->ref->name,
        .on_object = on_object,
        .data = object,
    });
}

void check_object_describe(const struct check_object *object, struct summary *summary)
{
    cleanup_free char *name = object_ref_text(object->ref);
    struct error err = {0};

    if (does_hold(object, &err))
        return;
    summary_add(summary, "%s%s%s%s: %s%s%s", object->check ? "check " : "",
                object->check ? object->check->custom->name : "", object->check ? ": " : "", name,
                err.text, object->problem ? "; " : "", object->problem ? object->problem : "");
}

void check_object_done(struct check_object *object)
{
    follow_stop(object->follow);
    check_subject_done(&object->subject);
    check_flux_done(&object->flux);
    free(object->problem);
}

/* ---- Sources of values ---- */

static void on_source(void *data, const json_t *live, const struct error *err)
{
    struct check_source *source = data;
    struct check *check = source->check;
    json_t **values = &check->values[source - check->sources];

    source->problem = err ? *err : (struct error){0};
    source->is_known = !err || err->kind == ERROR_NOT_FOUND;
    if (source->is_known) {
        json_decref(*values);
        *values = NULL;
        if (!err)
            *values = check_find_source(source->requirement, live, &source->problem);
    }
    for (size_t i = 0; i < check->custom->object_count; i++)
        check_object_compare(&check->objects[i]);
    check_selections_compare(check);
}

void check_source_start(struct check_source *source)
{
    const struct check_value_from *from = source->requirement->value_from;

    source->follow = follow_start(&(struct follow_options){
        .cluster = from->cluster ? from->cluster : source->check->cluster,
        .api_version = from->ref.api_version,
        .kind_name = from->ref.kind,
        .namespace_name = from->ref.namespace_name,
        .name = from->ref.name,
        .on_object = on_source,
        .data = source,
    });
}

void check_source_describe(const struct check_source *source, struct summary *summary)
{
    cleanup_free char *name = NULL;

    if (source->problem.kind == ERROR_NONE)
        return;
    name = object_ref_text(&source->requirement->value_from->ref);
    summary_add(summary, "check %s: valueFrom %s: %s", source->check->custom->name, name,
                source->problem.text);
}

void check_source_done(struct check_source *source)
{
    follow_stop(source->follow);
}
