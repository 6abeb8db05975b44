/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/fake_cluster.h"

#include "common/base/memory.h"

/* ---- Kinds ---- */

static const struct {
    const char *api_version, *name, *group, *version, *plural;
    bool is_namespaced;
} known[] = {
    {"v1", "ConfigMap", "", "v1", "configmaps", true},
    {"v1", "Secret", "", "v1", "secrets", true},
    {"v1", "Namespace", "", "v1", "namespaces", false},
    {"apps/v1", "Deployment", "apps", "v1", "deployments", true},
    {"batch/v1", "Job", "batch", "v1", "jobs", true},
    {"kustomize.toolkit.fluxcd.io/v1", "Kustomization", "kustomize.toolkit.fluxcd.io", "v1",
     "kustomizations", true},
    {"source.toolkit.fluxcd.io/v1", "GitRepository", "source.toolkit.fluxcd.io", "v1",
     "gitrepositories", true},
    {"apiextensions.k8s.io/v1", "CustomResourceDefinition", "apiextensions.k8s.io", "v1",
     "customresourcedefinitions", false},
    {"v1", "Pod", "", "v1", "pods", true},
};

static void tell_kind(const char *kind_name, enum error_kind kind_of_error,
                      cluster_kind_fn *on_done, void *data)
{
    struct error err = {0};

    for (size_t i = 0; i < array_length(known) && kind_of_error == ERROR_NONE; i++) {
        struct kind kind = {xstrdup(known[i].group), xstrdup(known[i].version),
                            xstrdup(known[i].plural), known[i].is_namespaced};

        if (strcmp(known[i].name, kind_name) == 0) {
            on_done(data, &kind, NULL);
            kind_done(&kind);
            return;
        }
        kind_done(&kind);
    }
    error_write(&err, kind_of_error == ERROR_NONE ? ERROR_NOT_FOUND : kind_of_error,
                "the cluster has no kind %s", kind_name);
    on_done(data, NULL, &err);
}

/* ---- Parts ---- */

/* Takes the text over. */
static struct fake_part *add(struct fake_part *parts, char *text)
{
    for (size_t i = 0; i < FAKE_PARTS_MAX; i++) {
        if (parts[i].text)
            continue;
        parts[i] = (struct fake_part){.text = text};
        return &parts[i];
    }
    fail_msg("more than %d at a time: %s", FAKE_PARTS_MAX, text);
    abort();
}

static const struct fake_part *find(const struct fake_part *parts, const char *text)
{
    for (size_t i = 0; i < FAKE_PARTS_MAX; i++) {
        if (parts[i].text && strcmp(parts[i].text, text) == 0)
            return &parts[i];
    }
    return NULL;
}

static const struct fake_part *find_or_fail(const struct fake_part *parts, const char *text)
{
    const struct fake_part *found = find(parts, text);

    if (!found) {
        for (size_t i = 0; i < FAKE_PARTS_MAX; i++) {
            if (parts[i].text)
                print_message("there is: %s\n", parts[i].text);
        }
        fail_msg("missing: %s", text);
    }
    return found;
}

static void release(struct fake_part *part)
{
    json_decref(part->body);
    free(part->text);
    free(part->field_manager);
    free(part->version);
    *part = (struct fake_part){0};
}

/* The part itself, removed from the list: callbacks may add others in its place. */
static struct fake_part take(struct fake_part *parts, const char *text)
{
    size_t index = (size_t)(find_or_fail(parts, text) - parts);
    struct fake_part taken = parts[index];

    parts[index] = (struct fake_part){0};
    return taken;
}

static char *place_text(const char *plural, const char *namespace_name, const char *name,
                        const char *label_selector)
{
    return xasprintf("%s %s%s%s%s", plural, namespace_name ? namespace_name : "",
                     namespace_name ? "/" : "", name ? name : "?",
                     !name && label_selector ? label_selector : "");
}

static size_t count(const struct fake_part *parts)
{
    size_t found = 0;

    for (size_t i = 0; i < FAKE_PARTS_MAX; i++)
        found += parts[i].text != NULL;
    return found;
}

/* ---- In place of cluster.c ---- */

struct kube *cluster_kube(struct cluster *cluster)
{
    return (struct kube *)(void *)cluster;
}

int cluster_find_kind(struct cluster *cluster, const struct kind_set *extra,
                      const char *api_version, const char *kind, cluster_kind_fn *on_done,
                      void *data, struct cluster_lookup **ret_lookup, struct error *err)
{
    struct fake_part *lookup = NULL;

    assert_null(extra);
    assert_non_null(api_version);
    cluster->lookup_count++;
    *ret_lookup = NULL;
    if (cluster->find_error != ERROR_NONE)
        return error_set(err, cluster->find_error, "lookup refused");
    if (!cluster->is_lookup_slow) {
        tell_kind(kind, cluster->lookup_error, on_done, data);
        return 0;
    }
    lookup = add(cluster->lookups, xstrdup(kind));
    lookup->on_kind = on_done;
    lookup->data = data;
    *ret_lookup = (struct cluster_lookup *)(void *)lookup;
    return 0;
}

void cluster_lookup_cancel(struct cluster_lookup *lookup)
{
    if (lookup)
        release((struct fake_part *)(void *)lookup);
}

void cluster_forget_kinds(struct cluster *cluster, const char *api_version)
{
    assert_non_null(api_version);
    cluster->forget_count++;
}

void cluster_note_error(struct cluster *cluster, const struct error *err)
{
    cluster->unauthorized_count += err->http_status == 401;
}

int cluster_watch(struct cluster *cluster, const struct kind *kind, const char *namespace_name,
                  const char *name, const char *label_selector, cluster_object_fn *on_object,
                  void *data, struct cluster_interest **ret_interest, struct error *err)
{
    struct fake_part *interest = NULL;

    cluster->watch_count++;
    if (cluster->watch_error != ERROR_NONE)
        return error_set(err, cluster->watch_error, "watch refused");
    interest =
        add(cluster->interests, place_text(kind->plural, namespace_name, name, label_selector));
    interest->on_object = on_object;
    interest->data = data;
    *ret_interest = (struct cluster_interest *)(void *)interest;
    return 0;
}

void cluster_unwatch(struct cluster_interest *interest)
{
    if (interest)
        release((struct fake_part *)(void *)interest);
}

/* ---- In place of the client ---- */

struct loop *__wrap_kube_loop(struct kube *kube);
int __wrap_kube_start(struct kube *kube, const struct kube_request *request,
                      struct kube_call **ret_call, struct error *err);
void __wrap_kube_cancel(struct kube_call *call);
int __wrap_kube_list_start(struct kube *kube, const struct kube_list_options *options,
                           struct kube_list **ret_list, struct error *err);
void __wrap_kube_list_cancel(struct kube_list *list);

struct loop *__wrap_kube_loop(struct kube *kube)
{
    return ((struct cluster *)(void *)kube)->loop;
}

int __wrap_kube_start(struct kube *kube, const struct kube_request *request,
                      struct kube_call **ret_call, struct error *err)
{
    static const char *const verbs[] = {
        [KUBE_GET] = "GET",
        [KUBE_LIST] = "LIST",
        [KUBE_UPDATE] = "PUT",
        [KUBE_DELETE] = "DELETE",
    };
    struct cluster *cluster = (struct cluster *)(void *)kube;
    struct fake_part *part = NULL;
    cleanup_free char *place = NULL;

    if (cluster->start_error != ERROR_NONE)
        return error_set(err, cluster->start_error, "request refused");
    assert_true(request->verb < array_length(verbs) && verbs[request->verb]);
    place = place_text(request->resource.plural, request->namespace_name, request->name, NULL);
    cluster->request_count++;
    part = add(cluster->requests,
               xasprintf("%s %s%s%s%s%s", verbs[request->verb], place,
                         request->field_selector ? " " : "",
                         request->field_selector ? request->field_selector : "",
                         request->uid ? " " : "", request->uid ? request->uid : ""));
    part->on_done = request->on_done;
    part->data = request->data;
    part->body = json_deep_copy(request->body);
    part->field_manager = xstrdup_or_null(request->field_manager);
    part->version = xstrdup_or_null(request->resource_version);
    part->may_send = request->may_send;
    if (request->verb == KUBE_DELETE)
        assert_int_equal(request->grace_seconds, -1);
    *ret_call = (struct kube_call *)(void *)part;
    return 0;
}

void __wrap_kube_cancel(struct kube_call *call)
{
    if (call)
        release((struct fake_part *)(void *)call);
}

int __wrap_kube_list_start(struct kube *kube, const struct kube_list_options *options,
                           struct kube_list **ret_list, struct error *err)
{
    struct cluster *cluster = (struct cluster *)(void *)kube;
    struct fake_part *part = NULL;
    cleanup_free char *place = NULL;

    if (cluster->start_error != ERROR_NONE)
        return error_set(err, cluster->start_error, "list refused");
    assert_true(options->is_metadata_only);
    place = place_text(options->resource.plural, options->namespace_name, NULL,
                       options->label_selector);
    cluster->list_count++;
    part = add(cluster->lists, xasprintf("%s%s%s", place, options->field_selector ? " " : "",
                                         options->field_selector ? options->field_selector : ""));
    part->on_item = options->on_item;
    part->on_listed = options->on_done;
    part->data = options->data;
    *ret_list = (struct kube_list *)(void *)part;
    return 0;
}

void __wrap_kube_list_cancel(struct kube_list *list)
{
    if (list)
        release((struct fake_part *)(void *)list);
}

/* ---- The test's side ---- */

int fake_setup(void **state)
{
    struct cluster *cluster = xcalloc(1, sizeof(*cluster));
    struct error err = {0};

    clock_fake_init(&cluster->clock, 0);
    assert_int_equal(loop_new(&cluster->clock.clock, &cluster->loop, &err), 0);
    *state = cluster;
    return 0;
}

static void must_be_idle(const struct cluster *cluster)
{
    assert_int_equal(count(cluster->interests), 0);
    assert_int_equal(count(cluster->lookups), 0);
    assert_int_equal(count(cluster->requests), 0);
    assert_int_equal(count(cluster->lists), 0);
}

int fake_teardown(void **state)
{
    struct cluster *cluster = *state;

    must_be_idle(cluster);
    loop_free(cluster->loop);
    free(cluster);
    return 0;
}

void fake_pair_setup(struct cluster **ret_first, struct cluster **ret_second)
{
    void *first = NULL;

    (void)fake_setup(&first);
    *ret_first = first;
    *ret_second = xcalloc(1, sizeof(**ret_second));
    (*ret_second)->loop = (*ret_first)->loop;
}

int fake_pair_teardown(struct cluster *first, struct cluster *second)
{
    void *state = first;

    must_be_idle(second);
    free(second);
    return fake_teardown(&state);
}

void fake_run(struct cluster *cluster)
{
    struct error err = {0};

    for (int i = 0; i < 20; i++)
        assert_int_equal(loop_run_once(cluster->loop, 0, &err), 0);
}

void fake_advance(struct cluster *cluster, uint64_t ms)
{
    clock_fake_advance(&cluster->clock, ms);
    fake_run(cluster);
}

const struct fake_part *fake_interest(const struct cluster *cluster, const char *interest)
{
    return find_or_fail(cluster->interests, interest);
}

bool fake_is_watched(const struct cluster *cluster, const char *interest)
{
    return find(cluster->interests, interest) != NULL;
}

static void deliver(struct cluster *cluster, const char *interest, const char *object,
                    const struct error *err)
{
    const struct fake_part found = *find_or_fail(cluster->interests, interest);
    cleanup_json json_t *parsed = object ? parse(object) : NULL;

    found.on_object(found.data, parsed, err);
    fake_run(cluster);
}

void fake_deliver(struct cluster *cluster, const char *interest, const char *object)
{
    deliver(cluster, interest, object, NULL);
}

void fake_deliver_gone(struct cluster *cluster, const char *selection, const char *object)
{
    struct error err = {0};

    error_write(&err, ERROR_NOT_FOUND, "gone");
    deliver(cluster, selection, object, &err);
}

void fake_deliver_error(struct cluster *cluster, const char *interest, enum error_kind kind,
                        const char *text)
{
    struct error err = {0};

    error_write(&err, kind, "%s", text);
    deliver(cluster, interest, NULL, &err);
}

void fake_answer_lookup(struct cluster *cluster, const char *kind, enum error_kind kind_of_error)
{
    struct fake_part lookup = take(cluster->lookups, kind);

    tell_kind(kind, kind_of_error, lookup.on_kind, lookup.data);
    release(&lookup);
    fake_run(cluster);
}

size_t fake_open_requests(const struct cluster *cluster)
{
    return count(cluster->requests);
}

const struct fake_part *fake_request(const struct cluster *cluster, const char *request)
{
    return find_or_fail(cluster->requests, request);
}

void fake_answer(struct cluster *cluster, const char *request, const char *object)
{
    struct fake_part taken = take(cluster->requests, request);
    cleanup_json json_t *parsed = object ? parse(object) : json_object();
    const struct error none = {0};

    taken.on_done(taken.data, parsed, &none);
    release(&taken);
    fake_run(cluster);
}

void fake_refuse(struct cluster *cluster, const char *request, enum error_kind kind,
                 int http_status, const char *text)
{
    struct fake_part taken = take(cluster->requests, request);
    struct error err = {0};

    error_write(&err, kind, "%s", text);
    err.http_status = http_status;
    taken.on_done(taken.data, NULL, &err);
    release(&taken);
    fake_run(cluster);
}

bool fake_is_listing(const struct cluster *cluster, const char *list)
{
    return find(cluster->lists, list) != NULL;
}

void fake_list_item(struct cluster *cluster, const char *list, const char *object)
{
    const struct fake_part found = *find_or_fail(cluster->lists, list);
    cleanup_json json_t *parsed = object ? parse(object) : NULL;
    struct error err = {0};

    error_write(&err, ERROR_TOO_LARGE, "object too large");
    found.on_item(found.data, parsed, parsed ? NULL : &err);
}

void fake_list_done(struct cluster *cluster, const char *list, enum error_kind kind)
{
    struct fake_part taken = take(cluster->lists, list);
    struct error err = {0};

    if (kind != ERROR_NONE)
        error_write(&err, kind, "the list failed");
    taken.on_listed(taken.data, kind == ERROR_NONE ? "1" : NULL, &err);
    release(&taken);
    fake_run(cluster);
}
