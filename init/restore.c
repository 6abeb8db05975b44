/* SPDX-License-Identifier: Apache-2.0 */
#include "init/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/kube/client.h"
#include "common/kube/list.h"
#include "common/net/retry.h"
#include "common/state/restore.h"

/* The newest generation, and the one before it in case the newest turns out to be unusable. */
enum { GENERATIONS_KEPT = 2, RETRY_FIRST_MS = 500, RETRY_MAX_MS = 5000 };
/* "403 Forbidden" is retried for this long: the API server may not know a new role yet. */
enum { FORBIDDEN_GRACE_MS = 5000, STATUS_FORBIDDEN = 403 };

struct restore_source {
    struct loop *loop;
    uint64_t deadline_ms;
    int directory_fd;  /* of mounted chunks, or -1 */
    struct kube *kube; /* or NULL */
    const char *namespace_name;
    uint64_t forbidden_since_ms; /* 0: not yet */
};

void restore_source_free(struct restore_source *source)
{
    if (!source)
        return;
    if (source->directory_fd >= 0)
        (void)close(source->directory_fd);
    kube_free(source->kube);
    free(source);
}

static int open_mounted(struct restore_source *source, const char *path, struct error *err)
{
    source->directory_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* The controller mounts nothing if there is no state. */
    if (source->directory_fd < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "open mounted state \"%s\"", path);
    return 0;
}

static int open_api(struct restore_source *source, const struct options *options,
                    struct http_client *http, struct error *err)
{
    cleanup_kube_config struct kube_config *config = NULL;

    if (kube_config_in_cluster(NULL, &config, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : error_wrap(err, "service account");
    if (!options->pod_namespace)
        return error_set(err, ERROR_INVALID, "environment: %s is not set", ENV_POD_NAMESPACE);
    if (kube_new(source->loop, http, config, &source->kube, err) < 0)
        return -1;
    config = NULL;
    return 0;
}

int restore_source_open(const struct options *options, struct loop *loop, struct http_client *http,
                        struct restore_source **ret_source, struct error *err)
{
    cleanup_restore_source struct restore_source *source = xcalloc(1, sizeof(*source));

    source->loop = loop;
    source->directory_fd = -1;
    source->deadline_ms = options->deadline_ms;
    source->namespace_name = options->pod_namespace;
    if (options->state_source_dir ? open_mounted(source, options->state_source_dir, err) < 0
                                  : open_api(source, options, http, err) < 0)
        return -1;
    *ret_source = steal(&source);
    return 0;
}

/* ---- Secrets ---- */

static void on_timer(void *data)
{
    *(bool *)data = true;
}

static int wait_ms(struct restore_source *source, uint32_t delay_ms, struct error *err)
{
    struct loop_timer timer = {0};
    bool is_over = false;

    loop_timer_init(&timer, source->loop, on_timer, &is_over);
    loop_timer_start(&timer, delay_ms);
    while (!is_over) {
        if (loop_run_once(source->loop, -1, err) < 0)
            return -1;
    }
    return 0;
}

/* Decides whether to retry after err, and waits before the next attempt. */
static bool is_retried(struct restore_source *source, struct retry *retry, uint64_t started_ms,
                       struct error *err)
{
    struct error ignored = {0};
    bool is_forbidden = err->kind == ERROR_DENIED && err->http_status == STATUS_FORBIDDEN;
    uint64_t limit_ms = is_forbidden && source->deadline_ms > FORBIDDEN_GRACE_MS
                            ? FORBIDDEN_GRACE_MS
                            : source->deadline_ms;
    uint32_t delay_ms = 0;

    if (!retry_is_useful(err) && err->kind != ERROR_GONE && !is_forbidden)
        return false;
    /* Counted from the first 403, as the server may have been unavailable before. */
    if (is_forbidden && !source->forbidden_since_ms)
        source->forbidden_since_ms = loop_now_ms(source->loop);
    delay_ms = retry_next_ms(retry, err);
    return loop_now_ms(source->loop) + delay_ms <=
               (is_forbidden ? source->forbidden_since_ms : started_ms) + limit_ms &&
           wait_ms(source, delay_ms, &ignored) == 0;
}

struct listing {
    struct state_set *set;
    char item_hash[NAME_HASH_SIZE];
};

static void on_secret(void *data, const json_t *object, const struct error *err)
{
    struct listing *listing = data;

    (void)err;
    if (!object)
        return;
    if (state_secret_is_of_item(object, listing->item_hash))
        state_set_add_secret(listing->set, object);
    else
        log_error("skipped state Secret of another item",
                  log_text("secret", doc_text_or(object, "metadata.name", "")));
}

static int list_secrets(struct restore_source *source, const struct options *options,
                        struct state_set *set, struct error *err)
{
    cleanup_free char *name = name_label_value(options->item_name);
    cleanup_free char *namespace_name = name_label_value(options->item_namespace);
    cleanup_free char *selector =
        xasprintf("%s=%s,%s=%s,%s=%s", LABEL_ITEM_NAME, name, LABEL_ITEM_NAMESPACE, namespace_name,
                  LABEL_TYPE, LABEL_TYPE_STATE);
    struct listing listing = {.set = set};
    struct kube_list_options list = {.resource = KUBE_SECRETS,
                                     .namespace_name = source->namespace_name,
                                     .label_selector = selector,
                                     .is_metadata_only = true,
                                     .on_item = on_secret,
                                     .data = &listing};
    struct retry retry = {0};
    uint64_t started_ms = loop_now_ms(source->loop);

    name_hash(options->item_namespace, options->item_name, listing.item_hash);
    retry_init(&retry, RETRY_FIRST_MS, RETRY_MAX_MS);
    while (kube_list_perform(source->kube, &list, err) < 0) {
        state_set_done(set);
        *set = (struct state_set){0};
        if (!is_retried(source, &retry, started_ms, err))
            return error_wrap(err, "list the state Secrets of item \"%s/%s\"",
                              options->item_namespace, options->item_name);
    }
    return 0;
}

static int read_secret(void *data, const struct state_chunk *chunk, struct buffer *ret_bytes,
                       struct error *err)
{
    struct restore_source *source = data;
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = source->namespace_name,
                                   .name = chunk->object};
    cleanup_json json_t *secret = NULL;
    const json_t *encoded = NULL;
    struct retry retry = {0};
    uint64_t started_ms = loop_now_ms(source->loop);

    retry_init(&retry, RETRY_FIRST_MS, RETRY_MAX_MS);
    while (kube_perform(source->kube, &request, &secret, err) < 0) {
        if (!is_retried(source, &retry, started_ms, err))
            return error_wrap(err, "state Secret \"%s\"", chunk->object);
    }
    encoded = doc_member(doc_member(secret, "data"), SECRET_KEY_CONFIG);
    if (!json_is_string(encoded))
        return error_set(err, ERROR_INVALID, "state Secret \"%s\": data.config: missing",
                         chunk->object);
    if (base64_decode(json_string_value(encoded), json_string_length(encoded), ret_bytes, err) < 0)
        return error_wrap(err, "state Secret \"%s\"", chunk->object);
    return 0;
}

/* As the Go program does, except that the generation before the newest is kept. Failures are only
 * logged: they cost space, not data. */
static size_t delete_old_generations(struct restore_source *source, const struct state_set *set)
{
    const char **names = NULL;
    size_t count = state_set_garbage(set, GENERATIONS_KEPT, false, &names);
    size_t removed = 0;

    for (size_t i = 0; i < count; i++) {
        struct kube_request request = {.verb = KUBE_DELETE,
                                       .resource = KUBE_SECRETS,
                                       .namespace_name = source->namespace_name,
                                       .name = names[i],
                                       .grace_seconds = -1};
        struct error err = {0};

        if (kube_perform(source->kube, &request, NULL, &err) == 0 || err.kind == ERROR_NOT_FOUND)
            removed++;
        else
            log_error("could not delete old state Secret", log_text("secret", names[i]),
                      log_text("error", err.text));
    }
    free(names);
    return removed;
}

/* ---- the interface ---- */

static void on_skip(void *data, const struct state_generation *generation, const struct error *err)
{
    struct restore_counts *counts = data;

    counts->skipped++;
    log_error("skipped unusable state generation", log_text("uuid", generation->uuid),
              log_number("sequence", generation->sequence),
              log_number("chunks", generation->chunk_count), log_text("error", err->text));
}

static int restore_from(struct restore_source *source, const struct options *options,
                        const struct volume *volume, struct state_set *set,
                        struct restore_counts *counts, struct error *err)
{
    struct state_source chunks = {.read_chunk = read_secret, .data = source};
    struct state_restored restored = {0};
    const char *name = NULL;
    cleanup_close int parent = volume_open_parent(volume, options->state_path, &name, err);

    if (parent < 0)
        return -1;
    if (source->kube ? list_secrets(source, options, set, err) < 0
                     : state_set_add_directory(set, source->directory_fd, err) < 0)
        return -1;
    state_set_arrange(set);
    if (!source->kube)
        chunks = state_source_directory(&source->directory_fd);
    if (state_restore(set, &chunks, parent, name, on_skip, counts, &restored, err) < 0)
        return error_wrap(err, "restore the state of item \"%s/%s\"", options->item_namespace,
                          options->item_name);
    if (restored.generation) {
        counts->uuid = xstrdup(restored.generation->uuid);
        counts->sequence = restored.generation->sequence;
    }
    counts->entries = restored.entries;
    counts->bytes = restored.bytes;
    if (source->kube)
        counts->removed = delete_old_generations(source, set);
    return 0;
}

int restore_state(struct restore_source *source, const struct options *options,
                  const struct volume *volume, struct restore_counts *ret_counts, struct error *err)
{
    struct restore_counts counts = {0};
    struct state_set set = {0};
    int result = 0;

    (void)snprintf(counts.source, sizeof(counts.source), "%s",
                   source->kube                ? "secrets"
                   : source->directory_fd >= 0 ? "mounted"
                                               : "none");
    if (source->kube || source->directory_fd >= 0)
        result = restore_from(source, options, volume, &set, &counts, err);
    state_set_done(&set);
    if (result < 0) {
        restore_counts_done(&counts);
        return -1;
    }
    *ret_counts = counts;
    return 0;
}

void restore_counts_done(struct restore_counts *counts)
{
    free(counts->uuid);
    *counts = (struct restore_counts){0};
}
