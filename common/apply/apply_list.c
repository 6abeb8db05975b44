/* SPDX-License-Identifier: Apache-2.0 */
/* Reads recorded objects of the same kind and namespace with one list instead of one GET for each.
 *
 * The list is limited to the objects with the owner's label. It is only a shortcut: an object that
 * is not in it may have lost the label, or the list may have failed, so such an object is read by
 * its name. Therefore a missing permission to list costs a request, but nothing fails. */
#include <string.h>

#include "common/apply/apply_internal.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/list.h"

enum list_state { LIST_NOT_STARTED, LIST_RUNNING, LIST_DONE };

struct apply_place {
    struct apply_place *next;
    struct apply *apply;
    const struct plan_object *first; /* any of them: all have the same kind and namespace */
    /* By name: null for an object that has to be read, then the object of the list, until a job
     * takes it. */
    json_t *objects;
    enum list_state state;
    struct kube_list *list;
};

static bool is_at(const struct apply_place *place, const struct plan_object *object)
{
    const char *namespace_name = object->ref.namespace_name;
    const char *other_name = place->first->ref.namespace_name;

    return strcmp(place->first->ref.api_version, object->ref.api_version) == 0 &&
           strcmp(place->first->kind.plural, object->kind.plural) == 0 &&
           strcmp(other_name ? other_name : "", namespace_name ? namespace_name : "") == 0;
}

static struct apply_place *find_place(const struct apply *apply, const struct plan_object *object)
{
    struct apply_place *place = apply->places;

    while (place && !is_at(place, object))
        place = place->next;
    return place;
}

static struct apply_place *add_place(struct apply *apply, const struct plan_object *object)
{
    struct apply_place *place = xcalloc(1, sizeof(*place));

    *place = (struct apply_place){
        .next = apply->places, .apply = apply, .first = object, .objects = json_object()};
    apply->places = place;
    return place;
}

void apply_places_init(struct apply *apply)
{
    const struct plan *plan = apply->options.plan;

    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_object *object = &plan->objects[i];
        const struct inventory_entry *entry =
            inventory_find(&apply->result->inventory, &object->ref);
        struct apply_place *place = NULL;

        if (!entry || !entry->ref.uid)
            continue;
        place = find_place(apply, object);
        if (!place)
            place = add_place(apply, object);
        (void)json_object_set_new_nocheck(place->objects, object->ref.name, json_null());
    }
}

void apply_places_free(struct apply *apply)
{
    while (apply->places) {
        struct apply_place *place = apply->places;

        apply->places = place->next;
        kube_list_cancel(place->list);
        json_decref(place->objects);
        free(place);
    }
}

/* ---- The list ---- */

static void on_item(void *data, const json_t *object, const struct error *err)
{
    struct apply_place *place = data;
    const char *name = doc_text_or(object, "metadata.name", "");
    json_t *complete = NULL;

    if (err || !json_object_get(place->objects, name))
        return;
    complete = json_copy(doc_writable(object));
    /* The API server leaves them out of the objects of a list. */
    doc_set_text(complete, "apiVersion", place->first->ref.api_version);
    doc_set_text(complete, "kind", place->first->ref.kind);
    (void)json_object_set_new_nocheck(place->objects, name, complete);
}

/* The object is taken: if it has to be read once more, the list is too old. */
static void pass_object(struct apply_place *place, struct apply_job *job)
{
    cleanup_json json_t *object =
        json_incref(json_object_get(place->objects, job->object->ref.name));

    job->place = NULL;
    (void)json_object_del(place->objects, job->object->ref.name);
    apply_job_listed(job, json_is_object(object) ? object : NULL);
}

static void on_listed(void *data, const char *resource_version, const struct error *err)
{
    struct apply_place *place = data;
    struct apply *apply = place->apply;

    (void)resource_version;
    (void)err; /* what it did not return is read by name */
    place->list = NULL;
    place->state = LIST_DONE;
    for (size_t i = 0; i < APPLY_PARALLEL_MAX; i++) {
        if (apply->jobs[i].apply && apply->jobs[i].place == place)
            pass_object(place, &apply->jobs[i]);
    }
}

static int start_list(struct apply_place *place)
{
    const struct apply_owner *owner = &place->apply->options.owner;
    cleanup_free char *selector = xasprintf("%s=%s", owner->label_key, owner->label_value);
    const struct kube_list_options options = {
        .resource = kind_resource(&place->first->kind),
        .namespace_name = place->first->ref.namespace_name,
        .label_selector = selector,
        .is_not_retried = true,
        .on_item = on_item,
        .on_done = on_listed,
        .data = place,
    };
    struct error err = {0};

    return kube_list_start(cluster_kube(place->apply->cluster), &options, &place->list, &err);
}

static bool is_list_useful(const struct apply_place *place)
{
    const struct apply_options *options = &place->apply->options;

    return json_object_size(place->objects) > 1 &&
           (!options->may_send || options->may_send(options->may_send_data));
}

void apply_job_read(struct apply_job *job)
{
    const struct apply *apply = job->apply;
    struct apply_place *place = find_place(apply, job->object);

    if (place && place->state == LIST_NOT_STARTED)
        place->state = is_list_useful(place) && start_list(place) == 0 ? LIST_RUNNING : LIST_DONE;
    if (place && place->state == LIST_RUNNING)
        job->place = place;
    else if (place)
        pass_object(place, job);
    else
        apply_job_listed(job, NULL);
}
