/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses of Environments and DeployerRegistrations. They are written with server-side apply,
 * so that what the agent writes into the same status stays. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/registrations/kinds.h"
#include "deployer/registrations/manager.h"

enum { ENVIRONMENTS_MAX = 100, MESSAGE_MAX = 1000 };

#define CONDITION_VALID "Valid"
#define CONDITION_BLOCKED "Blocked"

/* A write under way. */
struct status_write {
    struct manager *manager;
    struct status_write *next;
    struct kube_call *call;
    enum source source;
    char *key;
};

void report_touch(struct manager *manager, char kind, const char *name)
{
    cleanup_free char *key = xasprintf("%c/%s", kind, name);

    (void)json_object_set_new(manager->reports, key, json_true());
    if (!loop_timer_is_running(&manager->report_timer))
        loop_timer_start(&manager->report_timer, MANAGER_REPORT_MS);
}

/* ---- conditions ---- */

static const json_t *find_condition(const json_t *status, const char *type)
{
    const json_t *conditions = doc_member(status, "conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        if (strcmp(doc_text_or(json_array_get(conditions, i), "type", ""), type) == 0)
            return json_array_get(conditions, i);
    }
    return NULL;
}

/* The transition time changes with the status only. */
static void add_condition(json_t *conditions, const json_t *object, const char *now,
                          const char *type, const char *status, const char *reason,
                          const char *message)
{
    const json_t *old = find_condition(doc_member(object, "status"), type);
    const char *since = now;
    cleanup_free char *text = xstrndup(message, MESSAGE_MAX);

    if (old && strcmp(doc_text_or(old, "status", ""), status) == 0)
        since = doc_text_or(old, "lastTransitionTime", now);
    (void)json_array_append_new(
        conditions,
        json_pack("{s:s,s:s,s:s,s:o,s:s,s:I}", "type", type, "status", status, "reason", reason,
                  "message", doc_new_text(text), "lastTransitionTime", since, "observedGeneration",
                  (json_int_t)doc_integer_or(object, "metadata.generation", 0)));
}

static void add_valid(json_t *conditions, const json_t *object, const char *now,
                      const struct mistakes *mistakes)
{
    cleanup_free char *text = mistakes->errors > 0 ? mistakes_text(mistakes) : xstrdup("");

    add_condition(conditions, object, now, CONDITION_VALID, mistakes->errors ? "False" : "True",
                  mistakes->errors ? "Invalid" : "Valid", text);
}

/* ---- Environment ---- */

static json_t *environment_status(struct manager *manager, const json_t *environment,
                                  const char *now)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_free char *summary = NULL;
    cleanup_free char *message = xstrdup("");
    const char *name = doc_text_or(environment, "metadata.name", "");
    const char *registration = NULL;
    json_t *of_environments = NULL;
    json_t *conditions = json_array();
    int64_t ready = 0;
    int64_t total = 0;

    environment_check(environment, &mistakes);
    add_valid(conditions, environment, now, &mistakes);
    doc_foreach(manager->results, registration, of_environments)
    {
        const json_t *result = json_object_get(of_environments, name);
        const char *reason = doc_text_or(result, "message", "");

        if (!result)
            continue;
        total++;
        ready += json_is_true(doc_member(result, "ready"));
        if (!json_is_true(doc_member(result, "ready")) && !*message) {
            free(message);
            message = xasprintf("%s: %s%s%s", registration, doc_text_or(result, "phase", ""),
                                *reason ? ": " : "", reason);
        }
    }
    add_condition(conditions, environment, now, CONDITION_DEPLOYERS_READY,
                  ready == total ? "True" : "False",
                  ready == total ? "AllReady" : "DeployersNotReady", message);
    summary = xasprintf("%lld/%lld", (long long)ready, (long long)total);
    return json_pack("{s:I,s:o,s:{s:I,s:I,s:s}}", "observedGeneration",
                     (json_int_t)doc_integer_or(environment, "metadata.generation", 0),
                     "conditions", conditions, "deployers", "ready", (json_int_t)ready, "total",
                     (json_int_t)total, "summary", summary);
}

/* ---- DeployerRegistration ---- */

static json_t *entry_of(const json_t *result)
{
    return json_pack("{s:s,s:s,s:s,s:s}", "name", doc_text_or(result, "name", ""), "installation",
                     doc_text_or(result, "installation", ""), "phase",
                     doc_text_or(result, "phase", ""), "message",
                     doc_text_or(result, "message", ""));
}

/* Environments in which it is not ready come first, because the list is limited. */
static json_t *entries_of(const json_t *results)
{
    json_t *entries = json_array();
    const char *environment = NULL;
    json_t *result = NULL;

    for (int round = 0; round < 2; round++) {
        doc_foreach(results, environment, result)
        {
            if (json_is_true(doc_member(result, "ready")) == (round == 1) &&
                json_array_size(entries) < ENVIRONMENTS_MAX)
                (void)json_array_append_new(entries, entry_of(result));
        }
    }
    return entries;
}

/* For clients of v0.98. Absent without a problem, so that it is cleared. */
static void add_last_error(json_t *status, const json_t *registration, const char *reason,
                           const char *message, const char *now)
{
    const json_t *old = doc_get(registration, "status.lastError");
    bool is_same = strcmp(doc_text_or(old, "message", ""), message) == 0;
    const char *since = is_same ? doc_text_or(old, "lastTransitionTime", now) : now;

    if (*reason)
        (void)json_object_set_new(status, "lastError",
                                  json_pack("{s:s,s:s,s:s,s:s,s:s}", "operation", "getInstallation",
                                            "reason", reason, "message", message,
                                            "lastTransitionTime", since, "lastUpdateTime", since));
}

static json_t *registration_status(struct manager *manager, const json_t *registration,
                                   const char *now)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_free char *problem = NULL;
    cleanup_free char *summary = NULL;
    const char *environment = NULL;
    const char *blocked = NULL;
    const char *blocked_message = "";
    json_t *result = NULL;
    json_t *status = NULL;
    json_t *conditions = json_array();
    const json_t *results =
        doc_member(manager->results, doc_text_or(registration, "metadata.name", ""));
    size_t ready = 0;

    registration_check(registration, &mistakes);
    problem = mistakes.errors > 0 ? mistakes_text(&mistakes) : xstrdup("");
    add_valid(conditions, registration, now, &mistakes);
    doc_foreach(results, environment, result)
    {
        ready += json_is_true(doc_member(result, "ready"));
        if (!blocked && json_is_true(doc_member(result, "blocked"))) {
            blocked = doc_text_or(result, "phase", "");
            blocked_message = doc_text_or(result, "message", "");
        }
    }
    add_condition(conditions, registration, now, CONDITION_BLOCKED, blocked ? "True" : "False",
                  blocked ? blocked : "NotBlocked", blocked_message);
    add_condition(conditions, registration, now, CONDITION_READY,
                  ready == json_object_size(results) ? "True" : "False",
                  ready == json_object_size(results) ? "AllReady" : "NotReady", "");
    summary = xasprintf("%zu/%zu", ready, json_object_size(results));
    status = json_pack("{s:I,s:s,s:o,s:o}", "observedGeneration",
                       (json_int_t)doc_integer_or(registration, "metadata.generation", 0), "ready",
                       summary, "conditions", conditions, "environments", entries_of(results));
    add_last_error(status, registration,
                   mistakes.errors ? "Invalid"
                   : blocked       ? blocked
                                   : "",
                   mistakes.errors ? problem : blocked_message, now);
    return status;
}

/* ---- writing ---- */

/* Whether the stored status has all that we want to write. What others wrote does not count. */
static bool is_written(const json_t *object, const json_t *wanted)
{
    const json_t *status = doc_member(object, "status");
    const char *key = NULL;
    json_t *value = NULL;

    if (!!doc_member(status, "lastError") != !!doc_member(wanted, "lastError") &&
        strcmp(doc_text_or(object, "kind", ""), KIND_DEPLOYER_REGISTRATION) == 0)
        return false;
    doc_foreach(wanted, key, value)
    {
        if (strcmp(key, "conditions") == 0) {
            for (size_t i = 0; i < json_array_size(value); i++) {
                const json_t *condition = json_array_get(value, i);

                if (!json_equal(condition,
                                find_condition(status, doc_text_or(condition, "type", ""))))
                    return false;
            }
        } else if (!json_equal(value, doc_member(status, key))) {
            return false;
        }
    }
    return true;
}

static void write_free(struct status_write *write)
{
    struct status_write **at = &write->manager->status_writes;

    while (*at != write)
        at = &(*at)->next;
    *at = write->next;
    kube_cancel(write->call);
    free(write->key);
    free(write);
}

static void on_written(void *data, json_t *object, const struct error *err)
{
    struct status_write *write = data;

    write->call = NULL;
    if (err->kind == ERROR_NONE)
        known_answer(write->manager, write->source, object);
    else if (err->kind != ERROR_NOT_FOUND) {
        log_error("status not written, retrying", log_text("object", write->key),
                  log_text("error", err->text));
        report_touch(write->manager, write->key[0], write->key + 2);
    }
    write_free(write);
}

static bool is_under_way(const struct manager *manager, const char *key)
{
    for (const struct status_write *write = manager->status_writes; write; write = write->next) {
        if (strcmp(write->key, key) == 0)
            return true;
    }
    return false;
}

static void report(struct manager *manager, const char *key)
{
    bool is_environment = key[0] == 'e';
    enum source source = is_environment ? SOURCE_ENVIRONMENTS : SOURCE_REGISTRATIONS;
    const json_t *object = manager_find(manager, source, key + 2);
    cleanup_json json_t *status = NULL;
    cleanup_json json_t *body = NULL;
    char now[TIMESTAMP_MAX] = {0};
    struct status_write *write = NULL;
    struct error err = {0};
    struct kube_request request = {.verb = KUBE_APPLY,
                                   .resource = is_environment ? KUBE_ENVIRONMENTS
                                                              : KUBE_DEPLOYER_REGISTRATIONS,
                                   .name = key + 2,
                                   .subresource = "status",
                                   .field_manager = REGISTRATIONS_FIELD_MANAGER,
                                   .skipped_members = KNOWN_SKIPPED,
                                   .may_send = manager_may_send,
                                   .may_send_data = manager,
                                   .on_done = on_written};

    if (!object)
        return;
    if (is_under_way(manager, key)) {
        report_touch(manager, key[0], key + 2);
        return;
    }
    timestamp_format(clock_unix_ms(loop_clock(manager->loop)), now);
    status = is_environment ? environment_status(manager, object, now)
                            : registration_status(manager, object, now);
    if (is_written(object, status))
        return;
    body = json_pack("{s:s,s:s,s:{s:s},s:O}", "apiVersion", LANDSCAPER_API_VERSION, "kind",
                     is_environment ? KIND_ENVIRONMENT : KIND_DEPLOYER_REGISTRATION, "metadata",
                     "name", key + 2, "status", status);
    write = xcalloc(1, sizeof(*write));
    write->manager = manager;
    write->source = source;
    write->key = xstrdup(key);
    write->next = manager->status_writes;
    manager->status_writes = write;
    request.body = body;
    request.data = write;
    if (kube_start(manager->kube, &request, &write->call, &err) < 0)
        write_free(write);
}

void report_all(void *data)
{
    struct manager *manager = data;
    cleanup_json json_t *keys = NULL;
    const char *key = NULL;
    json_t *value = NULL;

    if (!manager_may_write(manager)) {
        loop_timer_start(&manager->report_timer, MANAGER_LOOK_AGAIN_MS);
        return;
    }
    keys = manager->reports;
    manager->reports = json_object();
    doc_foreach(keys, key, value)
    {
        report(manager, key);
    }
}

void report_stop(struct manager *manager)
{
    while (manager->status_writes)
        write_free(manager->status_writes);
}
