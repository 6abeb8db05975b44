/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/follow.h"

#include "common/base/loop.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/net/retry.h"

struct follow {
    struct follow_options options;
    struct kind kind;
    bool has_kind;
    struct cluster_lookup *lookup;
    struct cluster_interest *interest;
    struct loop_timer timer;
    struct retry retry;
    bool is_starting;
    struct error *failure; /* happened in follow_start() and is not reported yet; or NULL */
    int depth;             /* of enter(): it must not be freed from inside its own callbacks */
    bool is_over;
};

static void destroy(struct follow *follow)
{
    kind_done(&follow->kind);
    free(follow->failure);
    free(follow);
}

static void enter(struct follow *follow)
{
    follow->depth++;
}

static void leave(struct follow *follow)
{
    if (--follow->depth == 0 && follow->is_over)
        destroy(follow);
}

static void report(struct follow *follow, const json_t *object, const struct error *err)
{
    if (err)
        cluster_note_error(follow->options.cluster, err);
    follow->options.on_object(follow->options.data, object, err);
}

static void report_and_retry(struct follow *follow, const struct error *err)
{
    if (follow->is_starting) {
        error_keep(&follow->failure, err);
        loop_timer_start(&follow->timer, 0);
        return;
    }
    loop_timer_start(&follow->timer, retry_next_ms(&follow->retry, err));
    report(follow, NULL, err);
}

static void forget_kind(struct follow *follow)
{
    cluster_unwatch(follow->interest);
    follow->interest = NULL;
    kind_done(&follow->kind);
    follow->has_kind = false;
}

/* The server does not serve the kind any more, or something else responded. */
static void look_up_again(struct follow *follow, const struct error *err)
{
    struct error unconfirmed = *err;

    unconfirmed.kind = ERROR_TEMPORARY;
    cluster_forget_kinds(follow->options.cluster, follow->options.api_version);
    forget_kind(follow);
    report_and_retry(follow, &unconfirmed);
}

/* The API server leaves apiVersion and kind out of the objects of a list. A new reference; NULL:
 * the object has them. */
static json_t *with_kind(const struct follow *follow, const json_t *object)
{
    json_t *complete = NULL;

    if (!object || doc_member(object, "kind"))
        return NULL;
    complete = json_copy(doc_writable(object));
    (void)json_object_set_new(complete, "apiVersion", json_string(follow->options.api_version));
    (void)json_object_set_new(complete, "kind", json_string(follow->options.kind_name));
    return complete;
}

static void on_object(void *data, const json_t *object, const struct error *err)
{
    struct follow *follow = data;
    cleanup_json json_t *complete = with_kind(follow, object);

    enter(follow);
    if (!err)
        retry_reset(&follow->retry);
    if (!object && err && err->kind == ERROR_NOT_FOUND)
        look_up_again(follow, err);
    else
        report(follow, complete ? complete : object, err);
    leave(follow);
}

static int check_scope(const struct follow *follow, struct error *err)
{
    const struct follow_options *options = &follow->options;

    if (follow->kind.is_namespaced && options->name && !options->namespace_name)
        return error_set(err, ERROR_NOT_FOUND,
                         "%s %s: the kind is namespaced, but the reference has no namespace",
                         options->kind_name, options->name);
    if (!follow->kind.is_namespaced && !options->name && options->namespace_name)
        return error_set(err, ERROR_NOT_FOUND,
                         "%s: the kind is cluster-scoped, so namespace %s has no such object",
                         options->kind_name, options->namespace_name);
    return 0;
}

static int watch(struct follow *follow, struct error *err)
{
    const struct follow_options *options = &follow->options;

    if (check_scope(follow, err) < 0 ||
        cluster_watch(options->cluster, &follow->kind,
                      follow->kind.is_namespaced ? options->namespace_name : NULL, options->name,
                      options->label_selector, on_object, follow, &follow->interest, err) < 0)
        return -1;
    return 0;
}

static void set_kind(struct follow *follow, const struct kind *kind)
{
    follow->kind = kind_copy(kind);
    follow->has_kind = true;
}

static void go_on(struct follow *follow)
{
    struct error err = {0};

    if (follow->options.on_kind)
        follow->options.on_kind(follow->options.data, &follow->kind);
    else if (watch(follow, &err) < 0)
        report_and_retry(follow, &err);
}

static void on_kind_found(void *data, const struct kind *kind, const struct error *err)
{
    struct follow *follow = data;

    follow->lookup = NULL;
    enter(follow);
    if (kind) {
        set_kind(follow, kind);
        go_on(follow);
    } else {
        report_and_retry(follow, err);
    }
    leave(follow);
}

static void begin(struct follow *follow)
{
    const struct follow_options *options = &follow->options;
    struct error err = {0};

    if (follow->has_kind)
        go_on(follow);
    else if (cluster_find_kind(options->cluster, NULL, options->api_version, options->kind_name,
                               on_kind_found, follow, &follow->lookup, &err) < 0)
        report_and_retry(follow, &err);
}

static void on_timer(void *data)
{
    struct follow *follow = data;
    cleanup_free struct error *failure = steal(&follow->failure);

    enter(follow);
    if (failure)
        report_and_retry(follow, failure);
    else
        begin(follow);
    leave(follow);
}

struct follow *follow_start(const struct follow_options *options)
{
    struct follow *follow = xcalloc(1, sizeof(*follow));

    follow->options = *options;
    retry_init(&follow->retry, FOLLOW_RETRY_FIRST_MS, FOLLOW_RETRY_MAX_MS);
    if (options->kind)
        set_kind(follow, options->kind);
    loop_timer_init(&follow->timer, kube_loop(cluster_kube(options->cluster)), on_timer, follow);
    if (options->on_kind) {
        loop_timer_start(&follow->timer, 0);
        return follow;
    }
    /* Not from the timer: those who follow many objects start all of them before the first watch
     * begins, so that one watch can serve them all. */
    follow->is_starting = true;
    begin(follow);
    follow->is_starting = false;
    return follow;
}

void follow_stop(struct follow *follow)
{
    if (!follow || follow->is_over)
        return;
    follow->is_over = true;
    loop_timer_stop(&follow->timer);
    cluster_lookup_cancel(follow->lookup);
    cluster_unwatch(follow->interest);
    if (follow->depth == 0)
        destroy(follow);
}

const struct kind *follow_kind(const struct follow *follow)
{
    return follow->has_kind ? &follow->kind : NULL;
}
