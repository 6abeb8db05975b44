/* SPDX-License-Identifier: Apache-2.0 */
/* Observes the objects of an item whose job has succeeded, and compares them with its result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/apply/summary.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "deployer/item/status.h"
#include "deployer/manifest/late.h"

/* Identifies an exported value; "" if there was no value. */
typedef char value_digest[LATE_CHANGE_SIZE];

struct late_watch {
    struct late_item *late;
    struct manifest_config *config;
    struct cluster *cluster;
    struct second_cluster *seconds;
    size_t second_count;
    struct object_ref *objects; /* of the default check */
    size_t object_count;
    struct cluster **check_clusters, **export_clusters;
    struct checks *checks;   /* NULL: there is nothing to check */
    struct exports *exports; /* NULL: nothing is exported */
    value_digest *exported;  /* of the values that the job exported, parallel to the rules */
    char *secret_uid;
};

/* ---- Values ---- */

static void digest_value(const char *key, const json_t *value, value_digest ret_digest)
{
    cleanup_digest struct digest *digest = NULL;
    cleanup_wipe char *text = NULL;
    char hex[DIGEST_HEX_MAX] = "";

    ret_digest[0] = '\0';
    if (!value)
        return;
    digest = digest_new(DIGEST_SHA256);
    text = doc_dump_sorted(value);
    digest_update(digest, key, strlen(key) + 1);
    digest_update(digest, text, strlen(text));
    digest_hex(digest, hex);
    (void)snprintf(ret_digest, LATE_CHANGE_SIZE, "%.*s", LATE_CHANGE_SIZE - 1, hex);
}

/* Whether the value of a rule is another one than the job exported. */
static bool is_changed(const struct late_watch *watch, size_t index, value_digest ret_now)
{
    const json_t *value = NULL;

    (void)exports_find(watch->exports, index, &value);
    digest_value(watch->secret_uid, value, ret_now);
    return strcmp(ret_now, watch->exported[index]) != 0;
}

bool late_watch_is_ready(const struct late_watch *watch)
{
    return !watch->checks || checks_state(watch->checks) == CHECKS_HOLD;
}

static bool is_known(const struct late_watch *watch)
{
    const json_t *value = NULL;

    if (watch->checks && checks_state(watch->checks) == CHECKS_UNKNOWN)
        return false;
    for (size_t i = 0; i < watch->config->export_count && watch->exports; i++) {
        if (exports_find(watch->exports, i, &value) == EXPORT_UNKNOWN)
            return false;
    }
    return true;
}

/* The identity of a change is stored in the item's status, which more people may read than the
 * export Secret. It depends on the uid of that Secret, so that values cannot be guessed from it. */
bool late_watch_view(const struct late_watch *watch, bool was_ready,
                     char ret_change[LATE_CHANGE_SIZE])
{
    cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);
    bool is_unready = was_ready && !late_watch_is_ready(watch), has_change = is_unready;
    char hex[DIGEST_HEX_MAX] = "";

    ret_change[0] = '\0';
    if (!is_known(watch))
        return false;
    digest_update(digest, is_unready ? "1" : "0", 1);
    for (size_t i = 0; i < watch->config->export_count && watch->exports; i++) {
        value_digest now = "";

        has_change = is_changed(watch, i, now) || has_change;
        digest_update(digest, watch->exported[i], sizeof(value_digest));
        digest_update(digest, now, sizeof(now));
    }
    if (!has_change)
        return true;
    digest_hex(digest, hex);
    (void)snprintf(ret_change, LATE_CHANGE_SIZE, "%.*s", LATE_CHANGE_SIZE - 1, hex);
    return true;
}

/* ---- For people ---- */

/* The keys whose values differ. NULL: none. */
static char *changed_keys(const struct late_watch *watch)
{
    struct summary summary = {0};

    for (size_t i = 0; i < watch->config->export_count && watch->exports; i++) {
        value_digest now = "";

        if (is_changed(watch, i, now))
            summary_add(&summary, "%s%s", watch->config->exports[i].key,
                        *now ? "" : " (does not exist any more)");
    }
    return summary_take(&summary);
}

char *late_watch_describe(const struct late_watch *watch)
{
    cleanup_free char *keys = changed_keys(watch);
    cleanup_free char *objects = watch->checks ? checks_describe(watch->checks) : NULL;

    return xasprintf("since the last job: %s%s%s%s%s", keys ? "exported values have changed: " : "",
                     keys ? keys : "", keys && objects ? "; " : "",
                     objects ? "not ready any more: " : "", objects ? objects : "");
}

static const char *explain(enum late_verdict verdict)
{
    static const char *const texts[LATE_VERDICT_COUNT] = {
        [LATE_UNKNOWN] = "the objects cannot be observed at present",
        [LATE_UP_TO_DATE] = "as at the end of the job",
        [LATE_CHANGED] = "reconcile the root Installation to pass the changes on",
        [LATE_TRIGGERED] = "a job of the root Installation was triggered for this change",
        [LATE_TRIGGER_DISABLED] = "no job is triggered, because the deployer's configuration does "
                                  "not allow it (manifest.lateChanges.trigger)",
        [LATE_BUDGET_EXHAUSTED] = "a job will be triggered when the interval since the last one is "
                                  "over (watch.interval)",
        [LATE_FLAPPING] = "no job is triggered, because the values kept changing after the last "
                          "ones: reconcile the root Installation, or find out what changes them",
        [LATE_NO_INSTALLATION] = "no job is triggered, because the item belongs to no Installation",
        [LATE_INSTALLATION_BUSY] = "no job is triggered, because one runs or is requested already",
        [LATE_INSTALLATION_FAILED] = "no job is triggered, because the last job of the root "
                                     "Installation failed",
        [LATE_FORBIDDEN] = "no job can be triggered: the deployer needs permission to get "
                           "executions and to get and patch installations",
    };

    return texts[verdict] ? texts[verdict] : "";
}

static void set_condition(json_t *status, const char *type, const char *value, const char *reason,
                          const char *message, int64_t now_unix_ms)
{
    cleanup_json json_t *next = json_pack("{s:s,s:s,s:o}", "status", value, "reason", reason,
                                          "message", doc_new_text(message));

    status_set_condition(status, type, next, now_unix_ms);
}

/* what: what is not as it was; NULL: nothing. */
static void report(json_t *status, const char *type, const char *what, enum late_verdict verdict,
                   int64_t now_unix_ms)
{
    cleanup_free char *message = NULL;

    if (verdict == LATE_UNKNOWN) {
        message = xasprintf("%s%s%s", explain(verdict), what ? ": " : "", what ? what : "");
        set_condition(status, type, "Unknown", late_verdict_reason(verdict), message, now_unix_ms);
    } else if (!what) {
        set_condition(status, type, "True", late_verdict_reason(LATE_UP_TO_DATE),
                      explain(LATE_UP_TO_DATE), now_unix_ms);
    } else {
        message = xasprintf("%s; %s", what, explain(verdict));
        set_condition(status, type, "False", late_verdict_reason(verdict), message, now_unix_ms);
    }
}

void late_watch_report(const struct late_watch *watch, enum late_verdict verdict, bool was_ready,
                       json_t *status, int64_t now_unix_ms)
{
    cleanup_free char *keys = verdict == LATE_UNKNOWN && watch->exports
                                  ? exports_describe(watch->exports)
                                  : changed_keys(watch);
    cleanup_free char *objects = watch->checks ? checks_describe(watch->checks) : NULL;

    if (watch->exports)
        report(status, CONDITION_EXPORTS_UP_TO_DATE, keys, verdict, now_unix_ms);
    if (!watch->checks)
        status_remove_condition(status, CONDITION_STILL_READY);
    else if (objects && !was_ready && verdict != LATE_UNKNOWN)
        set_condition(status, CONDITION_STILL_READY, "False", "NotReadySinceJob", objects,
                      now_unix_ms);
    else
        report(status, CONDITION_STILL_READY, objects, verdict, now_unix_ms);
}

/* ---- Life ---- */

static void on_change(void *data)
{
    loop_timer_start(&((struct late_watch *)data)->late->timer, 0);
}

void late_watch_free(struct late_watch *watch)
{
    if (!watch)
        return;
    checks_cancel(watch->checks);
    exports_cancel(watch->exports);
    for (size_t i = 0; i < watch->object_count; i++)
        object_ref_done(&watch->objects[i]);
    free(watch->objects);
    free(watch->check_clusters);
    free(watch->export_clusters);
    free(watch->exported);
    free(watch->secret_uid);
    manifest_seconds_free(watch->seconds, watch->second_count);
    cluster_put(watch->cluster);
    manifest_config_free(watch->config);
    free(watch);
}

/* What labels select in all namespaces is too much to watch for good. */
static void skip_wide_checks(struct manifest_config *config)
{
    for (size_t i = 0; i < config->check_count; i++) {
        struct custom_check *check = &config->checks[i];

        check->is_disabled = check->is_disabled || (check->label_kind && !check->label_namespaces);
    }
}

static size_t check_count(const struct manifest_config *config)
{
    size_t count = 0;

    for (size_t i = 0; i < config->check_count; i++)
        count += config->checks[i].is_disabled ? 0 : 1 + config->checks[i].object_count;
    return count;
}

static int check_room(const struct late_watch *watch, struct error *err)
{
    struct manifest_engine *engine = watch->late->engine;
    size_t count = watch->object_count + watch->config->export_count + check_count(watch->config);

    if (count > LATE_OBJECTS_MAX)
        return error_set(err, ERROR_TOO_LARGE,
                         "the item has %zu objects to watch, but at most %d are watched", count,
                         LATE_OBJECTS_MAX);
    if (cluster_pool_used(engine->objects.pool) > LATE_CLUSTERS_MAX)
        return error_set(err, ERROR_TEMPORARY, "too many clusters are in use (the limit is %d)",
                         LATE_CLUSTERS_MAX);
    if (cluster_watch_count(watch->cluster) > LATE_WATCHES_MAX)
        return error_set(err, ERROR_TEMPORARY,
                         "server \"%s\" has too many watches (the limit is %d)",
                         cluster_server(watch->cluster), LATE_WATCHES_MAX);
    return 0;
}

static int start_checks(struct late_watch *watch, struct error *err)
{
    const struct manifest_config *config = watch->config;
    const struct checks_options options = {.cluster = watch->cluster,
                                           .objects = watch->objects,
                                           .object_count = watch->object_count,
                                           .rules = config->rules,
                                           .custom = config->checks,
                                           .custom_clusters = watch->check_clusters,
                                           .custom_count = config->check_count,
                                           .on_change = on_change,
                                           .data = watch};

    if (watch->object_count == 0 && check_count(config) == 0)
        return 0;
    return checks_start(&options, &watch->checks, err);
}

static int start_exports(struct late_watch *watch, struct error *err)
{
    const struct manifest_config *config = watch->config;
    const struct exports_options options = {.cluster = watch->cluster,
                                            .rules = config->exports,
                                            .rule_clusters = watch->export_clusters,
                                            .count = config->export_count,
                                            .on_change = on_change,
                                            .data = watch};

    if (config->export_count == 0 || !watch->secret_uid)
        return 0;
    return exports_start(&options, &watch->exports, err);
}

int late_watch_start(struct late_item *late, struct late_watch_parts *parts,
                     struct late_watch **ret_watch, struct error *err)
{
    struct late_watch *watch = xcalloc(1, sizeof(*watch));
    const struct inventory *inventory = parts->inventory;
    struct manifest_config *config = parts->config;

    *watch = (struct late_watch){
        .late = late,
        .config = config,
        .cluster = parts->cluster,
        .seconds = parts->seconds,
        .second_count = parts->second_count,
        .objects = xcalloc(inventory->count + 1, sizeof(*watch->objects)),
        .exported = xcalloc(config->export_count + 1, sizeof(value_digest)),
        .secret_uid = xstrdup_or_null(parts->secret_uid),
    };
    skip_wide_checks(config);
    watch->check_clusters = manifest_check_clusters(config, watch->seconds, watch->second_count);
    watch->export_clusters = manifest_export_clusters(config, watch->seconds, watch->second_count);
    for (size_t i = 0; config->is_default_check && i < inventory->count; i++)
        watch->objects[watch->object_count++] = object_ref_copy(&inventory->entries[i].ref);
    for (size_t i = 0; watch->secret_uid && i < config->export_count; i++)
        digest_value(watch->secret_uid, export_value_at(parts->exported, config->exports[i].key),
                     watch->exported[i]);
    *parts = (struct late_watch_parts){0};
    if (check_room(watch, err) < 0 || start_checks(watch, err) < 0 ||
        start_exports(watch, err) < 0) {
        late_watch_free(watch);
        return -1;
    }
    *ret_watch = watch;
    return 0;
}
