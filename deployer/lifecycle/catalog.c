/* SPDX-License-Identifier: Apache-2.0 */
/* The catalog in a managed cluster: copies of the ModuleTemplates and ModuleReleaseMetas that its
 * user may choose from. It is made once for all clusters that see the same modules. */
#include <string.h>
#include <strings.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/base/text_map.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/catalog_object.h"
#include "deployer/lifecycle/drift.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"

enum { KINDS = 2 };

static const struct {
    const char *plural;
    const struct kube_resource *resource;
} kinds[KINDS] = {
    {"moduletemplates", &RESOURCE_TEMPLATES},
    {"modulereleasemetas", &RESOURCE_RELEASES},
};

struct catalog_kind {
    struct kyma *kyma;
    size_t number;
    struct cluster_interest *interest;
    bool is_listed;
};

struct catalog_sync {
    struct catalog_kind kinds[KINDS];
    struct text_map seen; /* "plural/name" -> hash of the wanted object that it equals, or 0 */
    /* The same -> resourceVersion of our last write: what the server made of it is accepted. */
    struct text_map versions;
    struct kube_call *call;
    char *key;  /* of the object that is written */
    char *hash; /* of it; NULL: it is deleted */
    struct retry retry;
    struct loop_timer timer;
    bool has_waited; /* for the API server, to be ready for watches on new kinds */
    char *problem;
};

/* ---- What is wanted ---- */

static bool has_label(const json_t *object, const char *label)
{
    const char *value = json_string_value(doc_member(doc_get(object, "metadata.labels"), label));

    return value && strcasecmp(value, "true") == 0;
}

/* "plural/name" -> {object, hash}. Borrowed until the catalog changes. */
static const json_t *wanted_for(struct lifecycle *lifecycle, const json_t *kyma)
{
    size_t visibility = (has_label(kyma, KYMA_LABEL_BETA) ? 1u : 0u) |
                        (has_label(kyma, KYMA_LABEL_INTERNAL) ? 2u : 0u);

    if (!lifecycle->catalogs[visibility])
        lifecycle->catalogs[visibility] =
            catalog_objects(lifecycle->releases, lifecycle->templates, kyma);
    return lifecycle->catalogs[visibility];
}

static int64_t hash_of(const json_t *wanted)
{
    return (int64_t)accepted_number(doc_text(wanted, "hash"));
}

/* ---- What is there ---- */

/* 0 if it is not a number. */
static int64_t version_of(const json_t *object)
{
    uint64_t version = 0;

    (void)number_parse(doc_text_or(object, "metadata.resourceVersion", ""), INT64_MAX, &version);
    return (int64_t)version;
}

/* A list has all templates of the catalog: the Kyma is not parsed for each of them. */
static json_t *read_kyma(struct kyma *kyma)
{
    documents_hold(&kyma->lifecycle->documents, kyma);
    return kept_get(&kyma->object);
}

static void note(struct catalog_kind *kind, const json_t *live, bool is_gone)
{
    struct kyma *kyma = kind->kyma;
    struct catalog_sync *sync = kyma->catalog;
    cleanup_free char *key =
        xasprintf("%s/%s", kinds[kind->number].plural, doc_text_or(live, "metadata.name", ""));
    cleanup_json json_t *object = read_kyma(kyma);
    const json_t *wanted = doc_member(wanted_for(kyma->lifecycle, object), key);
    const struct text_map_entry *written = text_map_find(&sync->versions, key);
    bool is_written = written && written->number && written->number == version_of(live);
    bool is_same = wanted && drift_is_covered(live, doc_member(wanted, "object"));

    if (is_written && !is_gone)
        return;

    if (is_gone)
        text_map_remove(&sync->seen, key);
    else
        text_map_set(&sync->seen, key, is_same ? hash_of(wanted) : 0);
    if (kind->is_listed)
        kyma_touch(kyma);
}

static void on_object(void *data, const json_t *object, const struct error *err)
{
    struct catalog_kind *kind = data;

    if (!object && err) {
        kyma_unheard(kind->kyma, err);
        return;
    }
    kyma_heard(kind->kyma);
    if (object) {
        note(kind, object, err != NULL);
        return;
    }
    kind->is_listed = true;
    kyma_touch(kind->kyma);
}

static void on_timer(void *data)
{
    kyma_touch(data);
}

/* Our copies of a kind as they were written. */
static json_t *written_copies(const struct catalog_sync *sync, size_t number)
{
    size_t length = strlen(kinds[number].plural);
    json_t *copies = json_array();

    for (size_t i = 0; i < sync->versions.count; i++) {
        const struct text_map_entry *entry = &sync->versions.entries[i];

        if (strncmp(entry->name, kinds[number].plural, length) == 0 && entry->name[length] == '/')
            json_array_append_new(copies,
                                  json_pack("{s:{s:s, s:s, s:o}}", "metadata", "name",
                                            entry->name + length + 1, "namespace", KYMA_NAMESPACE,
                                            "resourceVersion",
                                            json_sprintf("%lld", (long long)entry->number)));
    }
    return copies;
}

/* The watches begin with a list, unless everything of a kind has just been written. */
static void watch_kinds(struct kyma *kyma)
{
    struct catalog_sync *sync = kyma->catalog;
    struct error err = {0};

    for (size_t i = 0; i < KINDS; i++) {
        cleanup_kind struct kind kind = {xstrdup(KYMA_GROUP), xstrdup("v1beta2"),
                                         xstrdup(kinds[i].plural), true};
        cleanup_json json_t *known = written_copies(sync, i);
        int64_t ignored = 0;

        if (cluster_watch_known(kyma->cluster, &kind, KYMA_NAMESPACE, NULL,
                                KYMA_LABEL_MANAGED_BY "=" KYMA_MANAGED_BY_CLUSTER, known, on_object,
                                &sync->kinds[i], &ignored, &sync->kinds[i].interest, &err) < 0)
            kyma_fail(kyma, &err);
    }
}

void catalog_start(struct kyma *kyma)
{
    struct catalog_sync *sync = xcalloc(1, sizeof(*sync));

    kyma->catalog = sync;
    text_map_init(&sync->seen, &kyma->lifecycle->texts);
    text_map_init(&sync->versions, &kyma->lifecycle->texts);
    retry_init(&sync->retry, 30 * 1000, 10 * 60 * 1000);
    loop_timer_init(&sync->timer, kyma->lifecycle->loop, on_timer, kyma);
    for (size_t i = 0; i < KINDS; i++)
        sync->kinds[i] =
            (struct catalog_kind){.kyma = kyma, .number = i, .is_listed = kyma->is_new};
    if (!kyma->is_new)
        watch_kinds(kyma);
}

void catalog_stop(struct kyma *kyma)
{
    struct catalog_sync *sync = kyma->catalog;

    if (!sync)
        return;
    for (size_t i = 0; i < KINDS; i++)
        cluster_unwatch(sync->kinds[i].interest);
    kube_cancel(sync->call);
    loop_timer_stop(&sync->timer);
    text_map_clear(&sync->seen);
    text_map_clear(&sync->versions);
    free(sync->key);
    free(sync->hash);
    free(sync->problem);
    free(sync);
    kyma->catalog = NULL;
}

/* ---- Writes ---- */

static void on_written(void *data, json_t *object, const struct error *err)
{
    struct kyma *kyma = data;
    struct catalog_sync *sync = kyma->catalog;

    sync->call = NULL;
    if (err->kind != ERROR_NONE && !(err->kind == ERROR_NOT_FOUND && !sync->hash)) {
        if (err->kind != ERROR_CANCELLED &&
            (!sync->problem || strcmp(sync->problem, err->text) != 0))
            log_error("catalog object cannot be written", log_text("kyma", kyma->name),
                      log_text("object", sync->key), log_text("error", err->text));
        free(sync->problem);
        sync->problem = xstrdup(err->text);
        loop_timer_start(&sync->timer, retry_next_ms(&sync->retry, err));
        kyma_touch(kyma);
        return;
    }
    free(sync->problem);
    sync->problem = NULL;
    retry_reset(&sync->retry);
    if (sync->hash) {
        text_map_set(&sync->seen, sync->key, (int64_t)accepted_number(sync->hash));
        text_map_set(&sync->versions, sync->key, version_of(object));
    } else {
        text_map_remove(&sync->seen, sync->key);
        text_map_remove(&sync->versions, sync->key);
    }
    kyma_touch(kyma);
}

static void send(struct kyma *kyma, const char *key, const json_t *wanted)
{
    struct catalog_sync *sync = kyma->catalog;
    const char *slash = strchr(key, '/');
    size_t number = strncmp(key, kinds[0].plural, (size_t)(slash - key)) == 0 ? 0 : 1;
    const struct kube_request request = {
        .verb = wanted ? KUBE_APPLY : KUBE_DELETE,
        .resource = *kinds[number].resource,
        .namespace_name = KYMA_NAMESPACE,
        .name = slash + 1,
        .body = doc_member(wanted, "object"),
        .field_manager = wanted ? KYMA_FIELD_MANAGER_CATALOG : NULL,
        .grace_seconds = -1,
        .may_send = kyma_may_send,
        .may_send_data = kyma,
        .on_done = on_written,
        .data = kyma,
    };
    char *written = xstrdup(key);
    struct error err = {0};

    free(sync->key);
    free(sync->hash);
    sync->key = written;
    sync->hash = wanted ? xstrdup(doc_text_or(wanted, "hash", "")) : NULL;
    kyma->lifecycle->cluster_writes++;
    if (kube_start(cluster_kube(kyma->cluster), &request, &sync->call, &err) < 0)
        on_written(kyma, NULL, &err);
}

/* The first object that differs, or that should not be there; NULL: none. */
static const char *find_difference(const struct catalog_sync *sync, const json_t *wanted,
                                   const json_t **ret_wanted)
{
    const char *key;
    json_t *value;

    *ret_wanted = NULL;
    doc_foreach(wanted, key, value)
    {
        const struct text_map_entry *seen = text_map_find(&sync->seen, key);

        if (!seen || seen->number != hash_of(value)) {
            *ret_wanted = value;
            return key;
        }
    }
    for (size_t i = 0; i < sync->seen.count; i++) {
        if (!doc_member(wanted, sync->seen.entries[i].name))
            return sync->seen.entries[i].name;
    }
    return NULL;
}

bool catalog_is_busy(const struct kyma *kyma)
{
    return kyma->catalog && kyma->catalog->call;
}

bool catalog_is_known(const struct kyma *kyma)
{
    const struct catalog_sync *sync = kyma->catalog;

    return sync && sync->kinds[0].is_listed && sync->kinds[1].is_listed;
}

/* An API server that has just learned a kind refuses watches for a moment. Nothing is missed: the
 * watches begin with what was written. */
static void watch_written(struct kyma *kyma)
{
    struct catalog_sync *sync = kyma->catalog;

    if (sync->has_waited)
        watch_kinds(kyma);
    else
        loop_timer_start(&sync->timer, LIFECYCLE_ESTABLISHED_MS);
    sync->has_waited = true;
}

bool catalog_sync(struct kyma *kyma, const json_t *object)
{
    struct catalog_sync *sync = kyma->catalog;
    const json_t *wanted = NULL;
    const char *key = NULL;

    key = find_difference(sync, wanted_for(kyma->lifecycle, object), &wanted);
    if (key && !sync->call && !loop_timer_is_running(&sync->timer))
        send(kyma, key, wanted);
    if (!key && !sync->kinds[0].interest && !loop_timer_is_running(&sync->timer))
        watch_written(kyma);
    return !key;
}
