/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/apply/checks_internal.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

/* ---- Members ---- */

static int compare_names(const struct check_member *member, const char *namespace_name,
                         const char *name)
{
    int order = strcmp(member->namespace_name ? member->namespace_name : "",
                       namespace_name ? namespace_name : "");

    return order != 0 ? order : strcmp(member->name, name);
}

/* The index of the member, or where it belongs. */
static size_t find_place(const struct check_selection *selection, const char *namespace_name,
                         const char *name, bool *ret_is_there)
{
    size_t first = 0;
    size_t end = selection->count;

    *ret_is_there = false;
    while (first < end && !*ret_is_there) {
        size_t middle = first + (end - first) / 2;
        int order = compare_names(selection->members[middle], namespace_name, name);

        *ret_is_there = order == 0;
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return end;
}

static struct check_member *add_member(struct check_selection *selection, size_t place,
                                       const char *namespace_name, const char *name)
{
    struct check_member *member = xcalloc(1, sizeof(*member));

    if (selection->count == selection->capacity) {
        selection->capacity = selection->capacity ? 2 * selection->capacity : 16;
        selection->members =
            xreallocarray(selection->members, selection->capacity, sizeof(struct check_member *));
    }
    memmove(&selection->members[place + 1], &selection->members[place],
            (selection->count - place) * sizeof(struct check_member *));
    selection->members[place] = member;
    selection->count++;
    selection->check->member_count++;
    selection->check->open_count++;
    member->namespace_name = xstrdup_or_null(namespace_name);
    member->name = xstrdup(name);
    return member;
}

static void member_free(struct check_member *member)
{
    check_subject_done(&member->subject);
    free(member->namespace_name);
    free(member->name);
    free(member);
}

static void remove_member(struct check_selection *selection, size_t place)
{
    struct check *check = selection->check;

    check->open_count -= !selection->members[place]->holds;
    check->member_count--;
    selection->count--;
    member_free(selection->members[place]);
    memmove(&selection->members[place], &selection->members[place + 1],
            (selection->count - place) * sizeof(struct check_member *));
}

static char *member_text(const struct check *check, const struct check_member *member)
{
    return xasprintf("%s %s%s%s", check->custom->label_kind,
                     member->namespace_name ? member->namespace_name : "",
                     member->namespace_name ? "/" : "", member->name);
}

static void compare_member(struct check *check, struct check_member *member)
{
    struct error ignored = {0};
    bool holds = check_subject_holds(&member->subject, check->custom, check->values, &ignored);

    if (holds != member->holds)
        check->open_count = holds ? check->open_count - 1 : check->open_count + 1;
    member->holds = holds;
}

/* ---- The check ---- */

static void note(struct check *check)
{
    bool holds = !check->is_overfull && check->open_count == 0 &&
                 check->member_count >= check->custom->label_min;

    for (size_t i = 0; i < check->selection_count; i++)
        holds = holds && check->selections[i].is_complete;
    checks_note(check->checks, &check->holds, holds);
}

static void judge(struct check_selection *selection, const json_t *object)
{
    struct check *check = selection->check;
    const char *namespace_name = doc_text(object, "metadata.namespace");
    const char *name = doc_text_or(object, "metadata.name", "");
    bool is_there = false;
    size_t place = find_place(selection, namespace_name, name, &is_there);
    struct check_member *member = NULL;

    if (!is_there && check->member_count == CHECK_OBJECTS_MAX) {
        check->is_overfull = true;
        return;
    }
    member =
        is_there ? selection->members[place] : add_member(selection, place, namespace_name, name);
    check_subject_judge(&member->subject, check->custom, check->checks->options.rules, object);
    if (member->subject.readiness == READINESS_FAILED) {
        cleanup_free char *text = member_text(check, member);

        checks_fail(check->checks, check, text, member->subject.reason, object);
    }
    compare_member(check, member);
}

static void forget(struct check_selection *selection, const json_t *object)
{
    bool is_there = false;
    size_t place = find_place(selection, doc_text(object, "metadata.namespace"),
                              doc_text_or(object, "metadata.name", ""), &is_there);

    if (is_there)
        remove_member(selection, place);
}

static void on_object(void *data, const json_t *object, const struct error *err)
{
    struct check_selection *selection = data;

    if (object && err) {
        forget(selection, object);
    } else {
        checks_set_problem(&selection->problem, err);
        selection->is_away = err && err->kind != ERROR_NOT_FOUND;
        if (object) {
            judge(selection, object);
        } else if (!err) {
            selection->is_complete = true;
        } else if (err->kind == ERROR_NOT_FOUND) {
            /* The kind does not exist any more. */
            while (selection->count > 0)
                remove_member(selection, selection->count - 1);
            selection->is_complete = true;
        }
    }
    note(selection->check);
}

void check_selections_start(struct check *check)
{
    const struct custom_check *custom = check->custom;
    char *const *namespaces = custom->label_namespaces;

    if (!custom->label_kind)
        return;
    check->selection_count = 1;
    while (namespaces && namespaces[0] && namespaces[check->selection_count])
        check->selection_count++;
    check->selections = xcalloc(check->selection_count, sizeof(*check->selections));
    for (size_t i = 0; i < check->selection_count; i++) {
        check->selections[i].check = check;
        check->selections[i].follow = follow_start(&(struct follow_options){
            .cluster = check->cluster,
            .api_version = custom->label_api_version,
            .kind_name = custom->label_kind,
            .namespace_name = namespaces && namespaces[0] ? namespaces[i] : NULL,
            .label_selector = custom->label_selector,
            .on_object = on_object,
            .data = &check->selections[i],
        });
    }
}

bool check_selections_are_known(const struct check *check)
{
    for (size_t i = 0; i < check->selection_count; i++) {
        const struct check_selection *selection = &check->selections[i];

        if (!selection->is_complete || selection->is_away)
            return false;
    }
    return true;
}

void check_selections_compare(struct check *check)
{
    for (size_t i = 0; i < check->selection_count; i++) {
        for (size_t j = 0; j < check->selections[i].count; j++)
            compare_member(check, check->selections[i].members[j]);
    }
    if (check->selection_count > 0)
        note(check);
}

/* ---- For people ---- */

static void describe_selection(const struct check_selection *selection, struct summary *summary)
{
    const struct check *check = selection->check;

    if (selection->problem || !selection->is_complete)
        summary_add(summary, "check %s: %s with %s: %s", check->custom->name,
                    check->custom->label_kind, check->custom->label_selector,
                    selection->problem ? selection->problem : "not listed yet");
    for (size_t i = 0; i < selection->count; i++) {
        cleanup_free char *text = member_text(check, selection->members[i]);
        struct error err = {0};

        if (!check_subject_holds(&selection->members[i]->subject, check->custom, check->values,
                                 &err))
            summary_add(summary, "check %s: %s: %s", check->custom->name, text, err.text);
    }
}

void check_selections_describe(const struct check *check, struct summary *summary)
{
    const struct custom_check *custom = check->custom;

    if (check->is_overfull)
        summary_add(summary, "check %s: %s with %s: more than %d objects, use a narrower selector",
                    custom->name, custom->label_kind, custom->label_selector, CHECK_OBJECTS_MAX);
    else if (check->selection_count > 0 && check->member_count < custom->label_min)
        summary_add(summary, "check %s: %s with %s: found %zu of %zu objects", custom->name,
                    custom->label_kind, custom->label_selector, check->member_count,
                    custom->label_min);
    for (size_t i = 0; i < check->selection_count; i++)
        describe_selection(&check->selections[i], summary);
}

void check_selections_done(struct check *check)
{
    for (size_t i = 0; i < check->selection_count; i++) {
        struct check_selection *selection = &check->selections[i];

        follow_stop(selection->follow);
        for (size_t j = 0; j < selection->count; j++)
            member_free(selection->members[j]);
        free(selection->members);
        free(selection->problem);
    }
    free(check->selections);
}
