/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/checks_eval.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

static const char *const operators[] = {
    [REQUIREMENT_EXISTS] = "exists", [REQUIREMENT_MISSING] = "!", [REQUIREMENT_EQUALS] = "==",
    [REQUIREMENT_NOT_EQUALS] = "!=", [REQUIREMENT_IN] = "in",     [REQUIREMENT_NOT_IN] = "notin",
};

static void requirement_done(struct check_requirement *requirement)
{
    struct check_value_from *from = requirement->value_from;

    free(requirement->path_text);
    jsonpath_free(requirement->path);
    json_decref(requirement->values);
    if (!from)
        return;
    object_ref_done(&from->ref);
    free(from->path_text);
    jsonpath_free(from->path);
    free(from->target_name);
    free(from);
}

void custom_check_done(struct custom_check *check)
{
    for (size_t i = 0; i < check->object_count; i++)
        object_ref_done(&check->objects[i]);
    for (size_t i = 0; i < check->requirement_count; i++)
        requirement_done(&check->requirements[i]);
    for (size_t i = 0; check->label_namespaces && check->label_namespaces[i]; i++)
        free(check->label_namespaces[i]);
    free(check->name);
    free(check->objects);
    free(check->label_api_version);
    free(check->label_kind);
    free(check->label_selector);
    free(check->label_namespaces);
    free(check->requirements);
    free(check->target_name);
    *check = (struct custom_check){0};
}

void check_subject_done(struct check_subject *subject)
{
    free(subject->reason);
    for (size_t i = 0; i < subject->found_count; i++)
        json_decref(subject->found[i]);
    free(subject->found);
    *subject = (struct check_subject){0};
}

/* ---- One requirement ---- */

/* "2 values (a string, a number)", without the values. */
static void describe_found(const json_t *found, char *ret_text, size_t size)
{
    size_t count = json_array_size(found);
    const char *first = doc_type_name(json_array_get(found, 0));

    if (count == 0)
        (void)snprintf(ret_text, size, "no value");
    else if (count == 1)
        (void)snprintf(ret_text, size, "%s", first);
    else
        (void)snprintf(ret_text, size, "%zu values, the first is %s", count, first);
}

static int compare(const struct check_requirement *requirement, const json_t *found,
                   const json_t *given, struct error *err)
{
    char what[100] = "";
    bool holds = false;

    if (requirement_check(requirement->relation, found, given, &holds, err) < 0)
        return error_wrap(err, "%s", requirement->path_text);
    if (holds)
        return 0;
    describe_found(found, what, sizeof(what));
    return error_set(err, ERROR_NOT_FOUND, "%s: found %s, but operator \"%s\" does not hold",
                     requirement->path_text, what, operators[requirement->relation]);
}

static int find(const struct check_requirement *requirement, const json_t *object,
                json_t **ret_found, struct error *err)
{
    if (jsonpath_find(requirement->path, object, JSONPATH_MISSING_IS_NOTHING, ret_found, err) < 0)
        return error_wrap(err, "%s", requirement->path_text);
    return 0;
}

static bool has_value_from(const struct custom_check *check)
{
    for (size_t i = 0; i < check->requirement_count; i++) {
        if (check->requirements[i].value_from)
            return true;
    }
    return false;
}

static int judge_requirements(struct check_subject *subject, const struct custom_check *check,
                              const json_t *object, struct error *err)
{
    for (size_t i = 0; i < check->requirement_count; i++) {
        const struct check_requirement *requirement = &check->requirements[i];
        cleanup_json json_t *found = NULL;

        if (find(requirement, object, &found, err) < 0)
            return -1;
        if (requirement->value_from)
            subject->found[i] = steal(&found);
        else if (compare(requirement, found, requirement->values, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- One object ---- */

static void set_waiting(struct check_subject *subject, enum readiness readiness, const char *reason)
{
    subject->readiness = readiness;
    subject->reason = xstrdup(reason);
}

void check_subject_judge(struct check_subject *subject, const struct custom_check *check,
                         enum readiness_rules rules, const json_t *object)
{
    struct error err = {0};

    check_subject_done(subject);
    subject->is_present = object != NULL;
    subject->readiness = READINESS_READY;
    if (!object) {
        set_waiting(subject, READINESS_WAITING, "does not exist");
        return;
    }
    if (!check || check->is_default) {
        struct readiness_verdict verdict = readiness_judge(object, rules);

        if (verdict.readiness != READINESS_READY)
            set_waiting(subject, verdict.readiness, verdict.reason);
        return;
    }
    if (has_value_from(check)) {
        subject->found_count = check->requirement_count;
        subject->found = xcalloc(subject->found_count, sizeof(json_t *));
    }
    if (judge_requirements(subject, check, object, &err) < 0)
        set_waiting(subject, READINESS_WAITING, err.text);
}

static int compare_with_source(const struct check_requirement *requirement, const json_t *found,
                               const json_t *source, struct error *err)
{
    if (!source)
        return error_set(err, ERROR_NOT_FOUND, "%s: the value of valueFrom is not there yet",
                         requirement->path_text);
    if (requirement_check_count(requirement->relation, json_array_size(source), err) < 0)
        return error_wrap(err, "%s: valueFrom", requirement->path_text);
    return compare(requirement, found, source, err);
}

bool check_subject_holds(const struct check_subject *subject, const struct custom_check *check,
                         json_t *const *sources, struct error *err)
{
    if (subject->reason || !subject->is_present) {
        (void)error_set(err, ERROR_NOT_FOUND, "%s",
                        subject->reason ? subject->reason : "was not read yet");
        return false;
    }
    for (size_t i = 0; i < subject->found_count; i++) {
        if (subject->found[i] &&
            compare_with_source(&check->requirements[i], subject->found[i], sources[i], err) < 0)
            return false;
    }
    return true;
}

bool check_is_settled(const json_t *object, enum readiness_rules rules)
{
    cleanup_json json_t *bare = json_copy(doc_writable(object));

    (void)json_object_del(bare, "status");
    return rules == READINESS_DEFAULT && readiness_judge(bare, rules).readiness == READINESS_READY;
}

json_t *check_find_source(const struct check_requirement *requirement, const json_t *object,
                          struct error *err)
{
    const struct check_value_from *from = requirement->value_from;
    cleanup_json json_t *values = NULL;

    if (!object)
        (void)error_set(err, ERROR_NOT_FOUND, "does not exist");
    else if (jsonpath_find(from->path, object, JSONPATH_MISSING_IS_NOTHING, &values, err) < 0)
        (void)error_wrap(err, "%s", from->path_text);
    else if (json_array_size(values) == 0)
        (void)error_set(err, ERROR_NOT_FOUND, "%s: found no value", from->path_text);
    else
        return steal(&values);
    return NULL;
}
