/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/follow.h"

#include "common/base/loop.h"
#include "common/base/memory.h"
#include "common/net/retry.h"

struct follow {
    struct follow_options options;
    struct kind kind;
    bool has_kind;
    struct cluster_lookup *lookup;
    struct cluster_interest *interest;
    struct loop_timer timer;
    struct retry retry;
    int depth; /* of enter(): it must not be freed from inside its own callbacks */
    bool is_over;
};

static void destroy(struct follow *follow)
{
    kind_done(&follow->kind);
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

static void report_and_retry(struct follow *follow, const struct error *err)
{
    loop_timer_start(&follow->timer, retry_next_ms(&follow->retry, err));
    follow->options.on_object(follow->options.data, NULL, err);
}

static void on_object(void *data, const json_t *object, const struct error *err)
{
    struct follow *follow = data;

    enter(follow);
    if (!follow->is_over)
        follow->options.on_object(follow->options.data, object, err);
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
                         "%s: the kind is cluster-scoped, so there is none in namespace %s",
                         options->kind_name, options->namespace_name);
    return 0;
}

static int watch(struct follow *follow, struct error *err)
{
    const struct follow_options *options = &follow->options;
    struct cluster_interest *interest = NULL;

    if (check_scope(follow, err) < 0 ||
        cluster_watch(options->cluster, &follow->kind,
                      follow->kind.is_namespaced ? options->namespace_name : NULL, options->name,
                      options->label_selector, on_object, follow, &interest, err) < 0)
        return -1;
    if (follow->is_over)
        cluster_unwatch(interest);
    else
        follow->interest = interest;
    return 0;
}

static void set_kind(struct follow *follow, const struct kind *kind)
{
    follow->kind = kind_copy(kind);
    follow->has_kind = true;
    retry_reset(&follow->retry);
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

static void begin(void *data)
{
    struct follow *follow = data;
    const struct follow_options *options = &follow->options;
    struct error err = {0};

    enter(follow);
    if (follow->has_kind)
        go_on(follow);
    else if (cluster_find_kind(options->cluster, NULL, options->api_version, options->kind_name,
                               on_kind_found, follow, &follow->lookup, &err) < 0)
        report_and_retry(follow, &err);
    leave(follow);
}

struct follow *follow_start(const struct follow_options *options)
{
    struct follow *follow = xcalloc(1, sizeof(*follow));

    follow->options = *options;
    retry_init(&follow->retry, FOLLOW_RETRY_FIRST_MS, FOLLOW_RETRY_MAX_MS);
    if (options->kind)
        set_kind(follow, options->kind);
    loop_timer_init(&follow->timer, kube_loop(cluster_kube(options->cluster)), begin, follow);
    loop_timer_start(&follow->timer, 0);
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
