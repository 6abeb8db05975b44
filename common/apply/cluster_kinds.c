/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery. One request at a time per cluster; whoever needs a kind in the meantime waits for it.
 *
 * What is known about a group and version is as old as the last answer that contained it: that for
 * all groups, or one for it alone. The latter is needed if a kind is missing (its CRD may be new),
 * if the API server behind an aggregated API did not respond when all groups were read, and for
 * servers that do not have the request for all groups. */
#include <string.h>

#include "common/apply/cluster_internal.h"
#include "common/apply/reference.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

enum {
    KINDS_MAX = 10000, /* per server, so that a hostile one cannot take the memory */
    ANSWERS_MAX = 200, /* remembered per server */
    BODY_MAX = 4 * 1024 * 1024,
    TIMEOUT_MS = 15000,
};

struct cluster_lookup {
    struct cluster *cluster;
    struct cluster_lookup *next;
    char *api_version, *kind;
    cluster_kind_fn *on_done;
    void *data;
    bool is_ready;
    struct error err; /* kind ERROR_NONE: the kinds that are known answer it */
};

/* ---- What is known ---- */

static uint64_t now_of(const struct cluster *cluster)
{
    return loop_now_ms(cluster->pool->loop);
}

static bool is_recent(const struct cluster *cluster, uint64_t then_ms, uint64_t age_ms)
{
    return then_ms && now_of(cluster) - then_ms < age_ms;
}

static struct cluster_answer *find_answer(struct cluster_kinds *kinds, const char *api_version)
{
    for (size_t i = 0; i < kinds->answer_count; i++) {
        if (strcmp(kinds->answers[i].api_version, api_version) == 0)
            return &kinds->answers[i];
    }
    return NULL;
}

static void remember_answer(struct cluster *cluster, const char *api_version)
{
    struct cluster_kinds *kinds = cluster->kinds;
    struct cluster_answer *answer = find_answer(kinds, api_version);

    if (!answer) {
        if (kinds->answer_count == ANSWERS_MAX)
            cluster_kinds_forget_answers(kinds);
        kinds->answers = xreallocarray(kinds->answers, kinds->answer_count + 1, sizeof(*answer));
        answer = &kinds->answers[kinds->answer_count++];
        answer->api_version = xstrdup(api_version);
    }
    answer->read_ms = now_of(cluster);
}

/* When the group and version was read last; 0: never. */
static uint64_t read_time(const struct cluster *cluster, const char *api_version)
{
    struct cluster_kinds *kinds = cluster->kinds;
    const struct cluster_answer *answer = find_answer(kinds, api_version);

    if (answer)
        return answer->read_ms;
    return kind_set_is_discovered(kinds->set, api_version) ? kinds->read_ms : 0;
}

/* False: the server has to be asked. NULL: it has no such kind. */
static bool find_known(const struct cluster *cluster, const char *api_version, const char *kind,
                       const struct kind **ret_kind)
{
    uint64_t read_ms = read_time(cluster, api_version);

    if (!is_recent(cluster, read_ms, CLUSTER_DISCOVERY_AGE_MS))
        return false;
    *ret_kind = kind_set_find(cluster->kinds->set, api_version, kind);
    return *ret_kind || is_recent(cluster, read_ms, CLUSTER_MISS_MS);
}

void cluster_forget_kinds(struct cluster *cluster, const char *api_version)
{
    struct cluster_kinds *kinds = cluster->kinds;
    struct cluster_answer *answer = find_answer(kinds, api_version);

    kind_set_forget(kinds->set, api_version);
    if (!answer)
        return;
    free(answer->api_version);
    *answer = kinds->answers[--kinds->answer_count];
}

/* ---- Answers of the server ---- */

/* One version of an APIGroupDiscovery as an APIResourceList. */
static json_t *resource_list(const char *api_version, const json_t *resources)
{
    json_t *list = json_object();
    json_t *rows = json_array();
    const json_t *resource = NULL;
    size_t i = 0;

    json_array_foreach(resources, i, resource)
    {
        json_t *row = json_object();

        doc_set_text(row, "name", doc_text_or(resource, "resource", ""));
        doc_set_text(row, "kind", doc_text_or(resource, "responseKind.kind", ""));
        doc_set_new(row, "namespaced",
                    json_boolean(strcmp(doc_text_or(resource, "scope", ""), "Namespaced") == 0));
        doc_set_new(row, "verbs", json_incref(doc_writable(doc_member(resource, "verbs"))));
        (void)json_array_append_new(rows, row);
    }
    doc_set_text(list, "kind", "APIResourceList");
    doc_set_text(list, "groupVersion", api_version);
    doc_set_new(list, "resources", rows);
    return list;
}

/* Returns how many kinds the set has afterwards. */
static size_t take_version(struct kind_set *set, const char *group, const json_t *version,
                           size_t count)
{
    const json_t *resources = doc_member(version, "resources");
    size_t more = json_array_size(resources);
    cleanup_free char *api_version = NULL;
    cleanup_json json_t *list = NULL;
    struct error ignored = {0};

    /* The API server behind an aggregated API was not available: this may be incomplete. */
    if (more > KINDS_MAX - count || strcmp(doc_text_or(version, "freshness", ""), "Stale") == 0)
        return count;
    api_version = xasprintf("%s/%s", group, doc_text_or(version, "version", ""));
    list = resource_list(api_version, resources);
    return kind_set_add_discovery(set, api_version, list, &ignored) == 0 ? count + more : count;
}

static void take_groups(struct cluster *cluster, const json_t *groups)
{
    struct cluster_kinds *kinds = cluster->kinds;
    const json_t *group = NULL;
    size_t count = 0;
    size_t i = 0;

    kind_set_free(kinds->set);
    kinds->set = kind_set_new();
    cluster_kinds_forget_answers(kinds);
    kinds->read_ms = now_of(cluster);
    json_array_foreach(doc_member(groups, "items"), i, group)
    {
        const json_t *version = NULL;
        size_t j = 0;

        json_array_foreach(doc_member(group, "versions"), j, version) count =
            take_version(kinds->set, doc_text_or(group, "metadata.name", ""), version, count);
    }
}

/* Whether the server does not have the request for all groups, or its answer is too large. */
static bool is_plain(const json_t *answer, const struct error *err)
{
    if (err->kind == ERROR_NONE)
        return strcmp(doc_text_or(answer, "kind", ""), "APIGroupDiscoveryList") != 0;
    return err->http_status == 406 || err->kind == ERROR_TOO_LARGE;
}

/* 404 for something that every API server has: a proxy has answered. It must not look as if a kind
 * were unknown, since the objects of unknown kinds are gone. */
static void set_unproven(const struct error *err, struct error *ret_err)
{
    *ret_err = *err;
    if (ret_err->kind == ERROR_NOT_FOUND)
        ret_err->kind = ERROR_TEMPORARY;
}

/* The error that those who wait for this answer get, if any. */
static void take_all(struct cluster *cluster, const json_t *answer, const struct error *err,
                     struct error *ret_err)
{
    if (is_plain(answer, err))
        cluster->kinds->plain_ms = now_of(cluster);
    else if (err->kind == ERROR_NONE)
        take_groups(cluster, answer);
    else
        set_unproven(err, ret_err);
}

/* Whether the server has answered the request for all groups within the last seconds. */
static bool is_proven(const struct cluster *cluster)
{
    return is_recent(cluster, cluster->kinds->read_ms, CLUSTER_MISS_MS) ||
           is_recent(cluster, cluster->kinds->plain_ms, CLUSTER_MISS_MS);
}

static void take_one(struct cluster *cluster, const json_t *answer, const struct error *err,
                     struct error *ret_err)
{
    const char *api_version = cluster->discovered_version;

    if (err->kind == ERROR_NOT_FOUND && strchr(api_version, '/')) {
        kind_set_forget(cluster->kinds->set, api_version);
        if (!is_proven(cluster)) {
            /* Those who wait ask for all groups, then for this one again. */
            cluster->kinds->read_ms = cluster->kinds->plain_ms = 0;
            return;
        }
    } else if (err->kind != ERROR_NONE) {
        set_unproven(err, ret_err);
        return;
    } else if (json_array_size(doc_member(answer, "resources")) > KINDS_MAX) {
        (void)error_set(ret_err, ERROR_TOO_LARGE, "%s has more than %d kinds", api_version,
                        KINDS_MAX);
        return;
    } else if (kind_set_add_discovery(cluster->kinds->set, api_version, answer, ret_err) < 0) {
        /* A proxy may have answered. */
        ret_err->kind = ERROR_TEMPORARY;
        return;
    }
    remember_answer(cluster, api_version);
}

/* ---- Who waits ---- */

static void lookup_free(struct cluster_lookup *lookup)
{
    free(lookup->api_version);
    free(lookup->kind);
    free(lookup);
}

static void unlink_lookup(struct cluster_lookup *lookup)
{
    struct cluster_lookup **link = &lookup->cluster->lookups;

    while (*link != lookup)
        link = &(*link)->next;
    *link = lookup->next;
    if (!*link)
        lookup->cluster->lookups_end = link;
}

static void answer_lookup(struct cluster *cluster, const char *api_version, const char *kind,
                          const struct kind *found, cluster_kind_fn *on_done, void *data)
{
    struct error err = {0};

    if (!found)
        (void)error_set(&err, ERROR_NOT_FOUND,
                        "the cluster has no kind %s in %s (server \"%s\"); if it is defined by a "
                        "CustomResourceDefinition, that has to be applied first",
                        kind, api_version, cluster_server(cluster));
    on_done(data, found, &err);
}

static void finish_lookup(struct cluster_lookup *lookup)
{
    struct cluster *cluster = lookup->cluster;
    const struct kind *found = NULL;

    unlink_lookup(lookup);
    if (lookup->err.kind != ERROR_NONE) {
        lookup->on_done(lookup->data, NULL, &lookup->err);
    } else {
        (void)find_known(cluster, lookup->api_version, lookup->kind, &found);
        answer_lookup(cluster, lookup->api_version, lookup->kind, found, lookup->on_done,
                      lookup->data);
    }
    lookup_free(lookup);
}

/* Answers everyone who can be answered. on_done may add and cancel lookups. */
static void answer_all(struct cluster *cluster, const struct error *err)
{
    const struct kind *ignored = NULL;
    struct cluster_lookup *lookup = NULL;

    for (lookup = cluster->lookups; lookup; lookup = lookup->next) {
        bool is_asked = !cluster->discovered_version ||
                        strcmp(cluster->discovered_version, lookup->api_version) == 0;

        if (err->kind != ERROR_NONE && is_asked)
            lookup->err = *err;
        lookup->is_ready = lookup->err.kind != ERROR_NONE ||
                           find_known(cluster, lookup->api_version, lookup->kind, &ignored);
    }
    free(cluster->discovered_version);
    cluster->discovered_version = NULL;
    for (;;) {
        for (lookup = cluster->lookups; lookup && !lookup->is_ready;)
            lookup = lookup->next;
        if (!lookup)
            return;
        finish_lookup(lookup);
    }
}

static int ask(struct cluster *cluster, const char *api_version, struct error *err);

static void ask_for_next(struct cluster *cluster)
{
    while (cluster->lookups && !cluster->discovery) {
        struct cluster_lookup *lookup = cluster->lookups;

        if (ask(cluster, lookup->api_version, &lookup->err) < 0)
            finish_lookup(lookup);
    }
}

static void on_discovered(void *data, json_t *object, const struct error *err)
{
    struct cluster *cluster = data;
    struct error failed = {0};

    cluster->discovery = NULL;
    if (cluster->discovered_version)
        take_one(cluster, object, err, &failed);
    else
        take_all(cluster, object, err, &failed);
    answer_all(cluster, &failed);
    ask_for_next(cluster);
}

/* The core group is not part of the answer for all groups. */
static bool is_in_all_groups(const struct cluster *cluster, const char *api_version)
{
    const struct cluster_kinds *kinds = cluster->kinds;

    return strchr(api_version, '/') &&
           !is_recent(cluster, kinds->plain_ms, CLUSTER_DISCOVERY_AGE_MS) &&
           !is_recent(cluster, kinds->read_ms, CLUSTER_DISCOVERY_AGE_MS);
}

static int ask(struct cluster *cluster, const char *api_version, struct error *err)
{
    const char *group = NULL;
    const char *version = NULL;
    size_t group_size = 0;
    cleanup_free char *group_name = NULL;
    bool is_all = is_in_all_groups(cluster, api_version);
    struct kube_request request = {
        .verb = is_all ? KUBE_DISCOVER : KUBE_LIST,
        .body_max = BODY_MAX,
        .timeout_ms = TIMEOUT_MS,
        .on_done = on_discovered,
        .data = cluster,
    };

    api_version_split(api_version, &group, &group_size, &version);
    group_name = xstrndup(group, group_size);
    request.resource = (struct kube_resource){group_name, version, NULL};
    if (kube_start(cluster_kube(cluster), &request, &cluster->discovery, err) < 0)
        return error_wrap(err, "apiVersion \"%s\"", api_version);
    cluster->discovered_version = is_all ? NULL : xstrdup(api_version);
    return 0;
}

int cluster_find_kind(struct cluster *cluster, const struct kind_set *extra,
                      const char *api_version, const char *kind, cluster_kind_fn *on_done,
                      void *data, struct cluster_lookup **ret_lookup, struct error *err)
{
    const struct kind *found = kind_builtin(api_version, kind);
    struct cluster_lookup *lookup = NULL;

    *ret_lookup = NULL;
    if (!found && extra)
        found = kind_set_find(extra, api_version, kind);
    if (found || find_known(cluster, api_version, kind, &found)) {
        answer_lookup(cluster, api_version, kind, found, on_done, data);
        return 0;
    }
    if (!cluster->discovery && ask(cluster, api_version, err) < 0)
        return -1;
    lookup = xcalloc(1, sizeof(*lookup));
    lookup->cluster = cluster;
    lookup->api_version = xstrdup(api_version);
    lookup->kind = xstrdup(kind);
    lookup->on_done = on_done;
    lookup->data = data;
    *cluster->lookups_end = lookup;
    cluster->lookups_end = &lookup->next;
    *ret_lookup = lookup;
    return 0;
}

void cluster_lookup_cancel(struct cluster_lookup *lookup)
{
    if (!lookup)
        return;
    unlink_lookup(lookup);
    lookup_free(lookup);
}
