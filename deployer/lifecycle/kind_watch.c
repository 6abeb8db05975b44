/* SPDX-License-Identifier: Apache-2.0 */
/* A watch on a kind whose objects have just been applied needs no list: it begins at the oldest of
 * the versions that were answered, and so misses nothing that happened since. Otherwise, as after a
 * restart, it begins with a list. */
#include "deployer/lifecycle/kind_watch.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"

enum { LOOK_UP_AGAIN_MS = 30 * 1000 };

struct kind_watch {
    struct kyma *kyma;
    struct kind_watch *next;
    const char *api_version, *kind; /* texts of the lifecycle */
    struct cluster_interest *interest;
    union {
        struct beginning *beginning; /* NULL: it is listed, and need not be looked up any more */
        int64_t from;                /* has_no_list: the version at which it began */
    };
    bool is_listed; /* what exists is known */
    bool has_no_list;
};

/* What a watch needs only until its first list is complete, or until it begins without one. */
struct beginning {
    struct kind_watch *watch;
    struct cluster_lookup *lookup;
    struct loop_timer timer; /* until the kind is looked up again */
    struct accepted shown;   /* objects of the first list, until it is complete */
};

static void end_beginning(struct kind_watch *watch)
{
    struct beginning *beginning = watch->has_no_list ? NULL : watch->beginning;

    if (!beginning)
        return;
    cluster_lookup_cancel(beginning->lookup);
    loop_timer_stop(&beginning->timer);
    accepted_done(&beginning->shown);
    free(beginning);
    watch->beginning = NULL;
}

static struct kind_watch *find(const struct kyma *kyma, const char *api_version, const char *kind)
{
    struct kind_watch *watch = kyma->kinds;

    while (watch &&
           (strcmp(watch->api_version, api_version) != 0 || strcmp(watch->kind, kind) != 0))
        watch = watch->next;
    return watch;
}

bool kind_watch_is_listed(const struct kyma *kyma, const char *api_version, const char *kind)
{
    const struct kind_watch *watch = find(kyma, api_version, kind);

    return watch && watch->is_listed;
}

/* The module that the object belongs to: the one that applied it, or the one that it names. */
static struct module *owner_of(const struct kyma *kyma, const struct object_ref *ref,
                               const json_t *object)
{
    cleanup_free char *key = object_ref_key(ref);
    const char *owner = json_string_value(
        doc_member(doc_get(object, "metadata.annotations"), KYMA_ANNOTATION_OWNED_BY));
    const char *slash = owner ? strchr(owner, '/') : NULL;

    for (struct module *module = kyma->modules; module; module = module->next) {
        if (module_has_object(module, key))
            return module;
    }
    return slash ? module_find(kyma, slash + 1) : NULL;
}

/* Objects that were applied before the watch began may have been deleted by then. */
static void first_list_ends(struct kind_watch *watch)
{
    watch->is_listed = true;
    for (struct module *module = watch->kyma->modules; module; module = module->next)
        module_on_list(module, watch->api_version, watch->kind, &watch->beginning->shown);
    end_beginning(watch);
}

static void note_shown(struct kind_watch *watch, const struct object_ref *ref, bool is_there)
{
    cleanup_free char *key = object_ref_key(ref);

    if (is_there)
        accepted_set(&watch->beginning->shown, key, NULL, NULL);
    else
        accepted_remove(&watch->beginning->shown, key);
}

/* A cluster is looked at when its last list ends, or after a moment if that takes long: after a
 * restart a dozen lists end one after the other. */
static bool is_listing(const struct kyma *kyma)
{
    const struct kind_watch *watch = kyma->kinds;

    while (watch && watch->is_listed)
        watch = watch->next;
    return watch != NULL;
}

static void on_object(void *data, const json_t *object, const struct error *err)
{
    struct kind_watch *watch = data;
    struct kyma *kyma = watch->kyma;
    struct object_ref ref = {0};
    struct module *module = NULL;

    if (!object && err) {
        if (err->http_status == 0 || err->http_status == 401)
            kyma_unheard(kyma, err);
        return;
    }
    kyma_heard(kyma);
    if (!object) {
        if (!watch->is_listed)
            first_list_ends(watch);
        if (is_listing(kyma))
            kyma_touch_later(kyma);
        else
            kyma_touch(kyma);
        return;
    }
    ref = object_ref_of(object);
    free(ref.api_version);
    free(ref.kind);
    ref.api_version = xstrdup(watch->api_version);
    ref.kind = xstrdup(watch->kind);
    if (!watch->is_listed)
        note_shown(watch, &ref, !err);
    module = owner_of(kyma, &ref, object);
    if (module)
        module_on_object(module, &ref, err ? NULL : object);
    object_ref_done(&ref);
}

/* known: objects that have been applied, or NULL. */
static void watch_kind(struct kind_watch *watch, const struct kind *kind, const json_t *known)
{
    struct error ignored = {0};
    int64_t from = 0;

    if (cluster_watch_known(watch->kyma->cluster, kind, NULL, NULL,
                            KYMA_LABEL_MANAGED_BY "=" KYMA_MANAGED_BY_CLUSTER, known, on_object,
                            watch, &from, &watch->interest, &ignored) < 0)
        loop_timer_start(&watch->beginning->timer, LOOK_UP_AGAIN_MS);
    if (!from)
        return;
    end_beginning(watch);
    watch->has_no_list = watch->is_listed = true;
    watch->from = from;
}

static void on_kind(void *data, const struct kind *kind, const struct error *err)
{
    struct kind_watch *watch = data;

    watch->beginning->lookup = NULL;
    if (kind)
        watch_kind(watch, kind, NULL);
    else
        loop_timer_start(&watch->beginning->timer, LOOK_UP_AGAIN_MS);
    if (!kind && err->kind == ERROR_NOT_FOUND)
        watch->is_listed = true; /* no such object can exist */
    kyma_touch(watch->kyma);
}

static void look_up(struct kind_watch *watch, const json_t *content)
{
    cleanup_kind_set struct kind_set *extra = kind_set_new();
    struct error err = {0};
    size_t i;
    json_t *object;

    json_array_foreach(doc_writable(content), i, object) kind_set_add_crd(extra, object);
    if (cluster_find_kind(watch->kyma->cluster, extra, watch->api_version, watch->kind, on_kind,
                          watch, &watch->beginning->lookup, &err) < 0)
        watch->is_listed = true;
}

static void on_timer(void *data)
{
    struct beginning *beginning = data;

    look_up(beginning->watch, NULL);
}

static void begin(struct kind_watch *watch)
{
    watch->interest = NULL;
    watch->has_no_list = watch->is_listed = false;
    watch->beginning = xcalloc(1, sizeof(*watch->beginning));
    watch->beginning->watch = watch;
    loop_timer_init(&watch->beginning->timer, watch->kyma->lifecycle->loop, on_timer,
                    watch->beginning);
}

static struct kind_watch *add(struct kyma *kyma, const char *api_version, const char *kind)
{
    struct kind_watch *watch = xcalloc(1, sizeof(*watch));

    watch->kyma = kyma;
    watch->api_version = text_pool_take(&kyma->lifecycle->texts, api_version);
    watch->kind = text_pool_take(&kyma->lifecycle->texts, kind);
    watch->next = kyma->kinds;
    kyma->kinds = watch;
    begin(watch);
    return watch;
}

static void list_again(struct kind_watch *watch, const json_t *content)
{
    cluster_unwatch(watch->interest);
    begin(watch);
    look_up(watch, content);
}

void kind_watch_start(struct kyma *kyma, const char *api_version, const char *kind,
                      const json_t *content, bool is_object_known)
{
    struct kind_watch *watch = find(kyma, api_version, kind);

    if (!watch) {
        look_up(add(kyma, api_version, kind), content);
    } else if (watch->has_no_list && !is_object_known) {
        list_again(watch, content);
    }
}

void kind_watch_applied(struct kyma *kyma, const struct object_ref *ref, const struct kind *kind,
                        const json_t *objects)
{
    struct kind_watch *watch = find(kyma, ref->api_version, ref->kind);
    int64_t oldest = cluster_oldest_version(objects);

    if (!watch)
        watch = add(kyma, ref->api_version, ref->kind);
    if (!watch->interest) {
        cluster_lookup_cancel(watch->beginning->lookup);
        watch->beginning->lookup = NULL;
        loop_timer_stop(&watch->beginning->timer);
        watch_kind(watch, kind, objects);
    } else if (watch->has_no_list && oldest && oldest < watch->from) {
        list_again(watch, NULL); /* applied by another module before the watch began */
    }
}

void kind_watch_stop_all(struct kyma *kyma)
{
    while (kyma->kinds) {
        struct kind_watch *watch = kyma->kinds;

        kyma->kinds = watch->next;
        end_beginning(watch);
        cluster_unwatch(watch->interest);
        text_pool_give(&kyma->lifecycle->texts, watch->api_version);
        text_pool_give(&kyma->lifecycle->texts, watch->kind);
        free(watch);
    }
}
