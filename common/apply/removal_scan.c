/* SPDX-License-Identifier: Apache-2.0 */
/* Lists what a group removes that is not recorded: metadata only, page by page, one resource and
 * namespace after the other. A list that fails is repeated; its objects count only when it is
 * complete, because a list that is cut off must not look like the end of all objects. */
#include "common/apply/removal_internal.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/list.h"

static const struct removal_resource *current_resource(const struct removal *removal)
{
    return &removal_current_group(removal)->resources[removal->scan.resource];
}

static void forget_found(struct removal_scan *scan)
{
    while (scan->found_count > 0)
        object_ref_done(&scan->found[--scan->found_count]);
}

static void stop_lookup(struct removal_scan *scan)
{
    follow_stop(scan->follow);
    scan->follow = NULL;
}

static void start_resource(struct removal *removal);
static void list_next_place(struct removal *removal);

static void next_resource(struct removal *removal)
{
    struct removal_scan *scan = &removal->scan;

    stop_lookup(scan);
    scan->resource++;
    scan->place = 0;
    start_resource(removal);
}

static void retry_later(struct removal *removal, const struct error *err)
{
    struct removal_scan *scan = &removal->scan;

    removal_set_problem(removal, &scan->problem, err, false);
    loop_timer_start(&scan->timer, retry_next_ms(&scan->retry, err));
}

/* ---- One list ---- */

/* The entry of an object of the list, which may be one that has to be kept. */
static const struct inventory_entry *find_entry(const struct removal *removal,
                                                const struct object_ref *ref)
{
    if (removal_current_cluster(removal) != removal->options.cluster)
        return NULL;
    return inventory_find(removal->options.entries, ref);
}

static void on_item(void *data, const json_t *object, const struct error *err)
{
    struct removal *removal = data;
    struct removal_scan *scan = &removal->scan;
    const struct removal_resource *resource = current_resource(removal);

    if (!object) {
        scan->skipped = *err;
        return;
    }
    if (!removal_group_selects(removal_current_group(removal), resource, object))
        return;
    if (scan->total + scan->found_count == REMOVAL_LISTED_MAX) {
        kube_list_cancel(scan->list);
        scan->list = NULL;
        scan->is_full = true;
        loop_timer_start(&scan->timer, 0);
        return;
    }
    if (scan->found_count == scan->found_capacity) {
        scan->found_capacity = scan->found_capacity ? 2 * scan->found_capacity : 64;
        scan->found = xreallocarray(scan->found, scan->found_capacity, sizeof(*scan->found));
    }
    scan->found[scan->found_count++] = (struct object_ref){
        .api_version = xstrdup(resource->api_version),
        .kind = xstrdup(resource->kind),
        .namespace_name = xstrdup_or_null(doc_text(object, "metadata.namespace")),
        .name = xstrdup(doc_text_or(object, "metadata.name", "")),
        .uid = xstrdup(doc_text_or(object, "metadata.uid", "")),
    };
}

static bool is_kept(const struct inventory_entry *entry)
{
    return entry && (entry->policy == POLICY_KEEP || entry->policy == POLICY_IGNORE);
}

static void take_found(struct removal *removal)
{
    struct removal_scan *scan = &removal->scan;

    for (size_t i = 0; i < scan->found_count; i++) {
        const struct inventory_entry *entry = find_entry(removal, &scan->found[i]);

        if (is_kept(entry)) {
            object_ref_done(&scan->found[i]);
            continue;
        }
        removal_object_start(removal, scan->found[i], entry, true, follow_kind(scan->follow));
        scan->total++;
    }
    scan->found_count = 0;
}

static void on_listed(void *data, const char *resource_version, const struct error *err)
{
    struct removal *removal = data;
    struct removal_scan *scan = &removal->scan;
    const struct error *failure = err->kind != ERROR_NONE ? err : &scan->skipped;

    (void)resource_version;
    scan->list = NULL;
    if (failure->kind != ERROR_NONE) {
        forget_found(scan);
        /* Whether the kind is unknown now is for discovery to say. */
        if (failure->kind == ERROR_NOT_FOUND) {
            cluster_forget_kinds(removal_current_cluster(removal),
                                 current_resource(removal)->api_version);
            stop_lookup(scan);
        }
        retry_later(removal, failure);
        return;
    }
    retry_reset(&scan->retry);
    removal_clear_problem(removal, &scan->problem);
    take_found(removal);
    scan->place++;
    list_next_place(removal);
}

static void list(struct removal *removal, const char *namespace_name)
{
    struct removal_scan *scan = &removal->scan;
    const struct removal_resource *resource = current_resource(removal);
    cleanup_free char *label_selector = removal_group_selector(removal_current_group(removal));
    cleanup_free char *field_selector = NULL;
    struct kube_list_options options = {
        .resource = kind_resource(follow_kind(scan->follow)),
        .namespace_name = namespace_name,
        .label_selector = label_selector,
        .is_metadata_only = true,
        .on_item = on_item,
        .on_done = on_listed,
        .data = removal,
    };
    struct error err = {0};

    if (resource->names && resource->names[0] && !resource->names[1])
        field_selector = xasprintf("metadata.name=%s", resource->names[0]);
    options.field_selector = field_selector;
    scan->skipped = (struct error){0};
    if (kube_list_start(cluster_kube(removal_current_cluster(removal)), &options, &scan->list,
                        &err) < 0)
        retry_later(removal, &err);
}

/* ---- All of them ---- */

static void end(struct removal *removal)
{
    removal->scan.is_running = false;
    removal_go_on(removal);
}

static void list_next_place(struct removal *removal)
{
    const struct removal_scan *scan = &removal->scan;
    char *const *namespaces = current_resource(removal)->namespaces;
    bool has_namespaces = namespaces && namespaces[0];

    if (has_namespaces ? namespaces[scan->place] && follow_kind(scan->follow)->is_namespaced
                       : scan->place == 0)
        list(removal, has_namespaces ? namespaces[scan->place] : NULL);
    else
        next_resource(removal);
}

static void on_kind(void *data, const struct kind *kind)
{
    struct removal *removal = data;

    (void)kind;
    removal_clear_problem(removal, &removal->scan.problem);
    list_next_place(removal);
}

static void on_kind_problem(void *data, const json_t *object, const struct error *err)
{
    struct removal *removal = data;

    (void)object;
    if (err->kind == ERROR_NOT_FOUND) {
        removal_clear_problem(removal, &removal->scan.problem);
        next_resource(removal);
    } else {
        removal_set_problem(removal, &removal->scan.problem, err, false);
    }
}

static void start_resource(struct removal *removal)
{
    struct removal_scan *scan = &removal->scan;
    const struct removal_resource *resource = NULL;

    if (scan->resource == removal_current_group(removal)->resource_count) {
        end(removal);
        return;
    }
    resource = current_resource(removal);
    scan->follow = follow_start(&(struct follow_options){
        .cluster = removal_current_cluster(removal),
        .api_version = resource->api_version,
        .kind_name = resource->kind,
        .on_kind = on_kind,
        .on_object = on_kind_problem,
        .data = removal,
    });
}

static void on_timer(void *data)
{
    struct removal *removal = data;

    if (removal->scan.is_full) {
        take_found(removal);
        end(removal);
    } else if (removal->scan.follow) {
        list_next_place(removal);
    } else {
        start_resource(removal);
    }
}

void removal_scan_start(struct removal *removal)
{
    struct removal_scan *scan = &removal->scan;

    *scan = (struct removal_scan){.is_running = true};
    retry_init(&scan->retry, FOLLOW_RETRY_FIRST_MS, FOLLOW_RETRY_MAX_MS);
    loop_timer_init(&scan->timer, removal->loop, on_timer, removal);
    start_resource(removal);
}

void removal_scan_stop(struct removal *removal)
{
    struct removal_scan *scan = &removal->scan;

    scan->is_running = false;
    stop_lookup(scan);
    kube_list_cancel(scan->list);
    scan->list = NULL;
    loop_timer_stop(&scan->timer);
    forget_found(scan);
    free(scan->found);
    scan->found = NULL;
    removal_clear_problem(removal, &scan->problem);
}

char *removal_scan_text(const struct removal *removal)
{
    return xasprintf("list of %s: %s", current_resource(removal)->kind,
                     removal->scan.problem.text ? removal->scan.problem.text : "not complete yet");
}
