/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/removal.h"

#include "common/apply/removal_internal.h"
#include "common/apply/summary.h"
#include "common/base/memory.h"

/* ---- What the parts use ---- */

const struct removal_group *removal_current_group(const struct removal *removal)
{
    return &removal->options.groups[removal->group];
}

static struct cluster *cluster_of(const struct removal_options *options, size_t group)
{
    if (options->group_clusters && options->group_clusters[group])
        return options->group_clusters[group];
    return options->cluster;
}

struct cluster *removal_current_cluster(const struct removal *removal)
{
    return cluster_of(&removal->options, removal->group);
}

void removal_go_on(struct removal *removal)
{
    if (removal->open_count == 0 && !removal->scan.is_running)
        loop_timer_start(&removal->timer, 0);
}

void removal_report(struct removal *removal, const struct inventory_entry *entry,
                    enum removal_verdict verdict)
{
    size_t index = 0;

    if (!entry)
        return;
    index = (size_t)(entry - removal->options.entries->entries);
    if (removal->is_reported[index])
        return;
    removal->is_reported[index] = true;
    removal->options.on_removed(removal->options.data, &entry->ref, verdict);
}

void removal_set_problem(struct removal *removal, struct removal_problem *problem,
                         const struct error *err, bool is_of_watch)
{
    removal_clear_problem(removal, problem);
    problem->text = xstrdup(err->text);
    problem->is_of_watch = is_of_watch;
    removal->problem_count++;
    removal->error = *err;
}

void removal_clear_problem(struct removal *removal, struct removal_problem *problem)
{
    if (!problem->text)
        return;
    free(problem->text);
    *problem = (struct removal_problem){0};
    if (--removal->problem_count == 0)
        removal->error = (struct error){0};
}

/* ---- Life ---- */

static void free_objects(struct removal *removal)
{
    while (removal->objects) {
        struct removal_object *object = removal->objects;

        removal->objects = object->next;
        removal_object_free(object);
    }
    removal->open_count = 0;
    removal->first_waiting = removal->last_waiting = NULL;
}

static void destroy(struct removal *removal)
{
    free_objects(removal);
    free(removal->group_of);
    free(removal->is_reported);
    free(removal);
}

void removal_enter(struct removal *removal)
{
    removal->depth++;
}

void removal_leave(struct removal *removal)
{
    if (--removal->depth == 0 && removal->is_over)
        destroy(removal);
}

/* ---- Groups ---- */

static void report_taken(struct removal *removal)
{
    const struct inventory *entries = removal->options.entries;

    for (size_t i = 0; i < entries->count && !removal->is_over; i++) {
        if (removal->group_of[i] == removal->group)
            removal_report(removal, &entries->entries[i], REMOVAL_DELETE);
    }
}

static void report_kept(struct removal *removal)
{
    const struct inventory *entries = removal->options.entries;

    for (size_t i = 0; i < entries->count && !removal->is_over; i++) {
        if (entries->entries[i].policy == POLICY_KEEP ||
            entries->entries[i].policy == POLICY_IGNORE)
            removal_report(removal, &entries->entries[i], REMOVAL_KEPT);
    }
}

static void start_group(struct removal *removal)
{
    const struct inventory *entries = removal->options.entries;

    if (removal_group_is_listed(removal_current_group(removal))) {
        removal_scan_start(removal);
        return;
    }
    for (size_t i = entries->count; i > 0; i--) {
        const struct inventory_entry *entry = &entries->entries[i - 1];

        if (removal->group_of[i - 1] == removal->group && !removal->is_reported[i - 1])
            removal_object_start(removal, object_ref_copy(&entry->ref), entry, false, NULL);
    }
    removal_go_on(removal);
}

/* Whether objects of the group may have been missed. */
static bool has_to_be_repeated(const struct removal *removal)
{
    const struct removal_group *group = removal_current_group(removal);

    return removal_group_is_listed(group) &&
           (removal->scan.is_full || (group->is_wait_only && removal->scan.total > 0));
}

static void end_group(struct removal *removal)
{
    bool is_repeated = has_to_be_repeated(removal);

    free_objects(removal);
    if (removal_group_is_listed(removal_current_group(removal)))
        removal_scan_stop(removal);
    if (is_repeated)
        return;
    report_taken(removal);
    removal->group++;
}

static void on_timer(void *data)
{
    struct removal *removal = data;

    removal_enter(removal);
    if (removal->has_started)
        end_group(removal);
    else
        report_kept(removal);
    removal->has_started = true;
    if (!removal->is_over && removal->group < removal->options.group_count) {
        start_group(removal);
    } else if (!removal->is_over) {
        removal->is_over = true;
        removal->options.on_done(removal->options.data);
    }
    removal_leave(removal);
}

int removal_start(const struct removal_options *options, struct removal **ret_removal,
                  struct error *err)
{
    const struct inventory *entries = options->entries;
    struct removal *removal = NULL;

    for (size_t i = 0; i < options->group_count; i++) {
        if (removal_group_check(&options->groups[i],
                                options->group_clusters && options->group_clusters[i], err) < 0)
            return -1;
    }
    removal = xcalloc(1, sizeof(*removal));
    removal->options = *options;
    removal->loop = kube_loop(cluster_kube(options->cluster));
    removal->group_of = xcalloc(entries->count + 1, sizeof(*removal->group_of));
    removal->is_reported = xcalloc(entries->count + 1, sizeof(*removal->is_reported));
    for (size_t i = 0; i < entries->count; i++)
        removal->group_of[i] =
            removal_group_of(options->groups, options->group_count, &entries->entries[i].ref);
    loop_timer_init(&removal->timer, removal->loop, on_timer, removal);
    loop_timer_start(&removal->timer, 0);
    *ret_removal = removal;
    return 0;
}

void removal_cancel(struct removal *removal)
{
    if (!removal || removal->is_over)
        return;
    removal->is_over = true;
    loop_timer_stop(&removal->timer);
    removal_scan_stop(removal);
    for (struct removal_object *object = removal->objects; object; object = object->next)
        removal_object_stop(object);
    if (removal->depth == 0)
        destroy(removal);
}

/* ---- For people ---- */

static const char *describe_state(const struct removal_object *object)
{
    if (object->problem.text)
        return object->problem.text;
    if (object->finalizers && object->is_terminating)
        return "waits for finalizers";
    if (object->is_terminating || object->is_deleted)
        return "is being deleted";
    return object->uid ? "exists" : "was not read yet";
}

char *removal_describe(const struct removal *removal)
{
    struct summary summary = {0};

    if (removal->scan.is_running) {
        cleanup_free char *text = removal_scan_text(removal);

        summary_add(&summary, "%s", text);
    }
    for (const struct removal_object *object = removal->objects; object; object = object->next) {
        cleanup_free char *name = object_ref_text(&object->ref);
        bool has_finalizers = object->finalizers && object->is_terminating;

        if (!object->is_done)
            summary_add(&summary, "%s: %s%s%s%s", name, describe_state(object),
                        has_finalizers ? " (" : "", has_finalizers ? object->finalizers : "",
                        has_finalizers ? ")" : "");
    }
    return summary_take(&summary);
}

const struct error *removal_error(const struct removal *removal)
{
    return &removal->error;
}
