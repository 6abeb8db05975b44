/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/item/status.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/validation/text.h"

static void set_time(json_t *object, const char *key, int64_t unix_ms)
{
    char text[TIMESTAMP_MAX];

    timestamp_format(unix_ms, text);
    (void)json_object_set_new(object, key, json_string(text));
}

static bool is_same_text(const json_t *a, const json_t *b, const char *key)
{
    return strcmp(doc_text_or(a, key, ""), doc_text_or(b, key, "")) == 0;
}

/* Messages about quotas contain changing numbers: with other numbers it is the same error. */
static bool is_same_error(const json_t *a, const json_t *b)
{
    json_t *codes_a = json_object_get(a, "codes");
    json_t *codes_b = json_object_get(b, "codes");

    if (json_array_size(codes_a) != json_array_size(codes_b) ||
        (json_array_size(codes_a) > 0 && !json_equal(codes_a, codes_b)))
        return false;
    return is_same_text(a, b, "operation") && is_same_text(a, b, "reason") &&
           text_is_same_but_for_numbers(doc_text_or(a, "message", ""),
                                        doc_text_or(b, "message", ""));
}

static json_t *error_new(const struct status_error *error)
{
    size_t size = strlen(error->message);
    json_t *codes = json_array();
    json_t *object = json_pack(
        "{s:s,s:s,s:o}", "operation", error->operation, "reason", error->reason, "message",
        doc_new_string(error->message, text_cut(error->message, size, STATUS_MESSAGE_MAX)));

    for (size_t i = 0; i < array_length(error->codes) && error->codes[i]; i++)
        (void)json_array_append_new(codes, json_string(error->codes[i]));
    if (json_array_size(codes) > 0)
        (void)json_object_set(object, "codes", codes);
    json_decref(codes);
    return object;
}

static void remember(json_t *status, json_t *error)
{
    json_t *list = json_object_get(status, "lastErrors");

    if (!json_is_array(list)) {
        list = json_array();
        (void)json_object_set_new(status, "lastErrors", list);
    }
    /* Replace the same error instead of repeating it. */
    if (json_array_size(list) > 0 &&
        is_same_error(json_array_get(list, json_array_size(list) - 1), error))
        (void)json_array_set_new(list, json_array_size(list) - 1, json_deep_copy(error));
    else
        (void)json_array_append_new(list, json_deep_copy(error));
    while (json_array_size(list) > STATUS_LAST_ERRORS_MAX)
        (void)json_array_remove(list, 0);
}

bool status_set_error(json_t *status, const struct status_error *error, int64_t now_unix_ms)
{
    const json_t *last = json_object_get(status, "lastError");
    cleanup_json json_t *next = error_new(error);
    const char *transition = doc_text(last, "lastTransitionTime");
    bool is_changed = !json_is_object(last) || !is_same_error(last, next);

    if (!is_changed && is_same_text(last, next, "message") && transition &&
        doc_text(last, "lastUpdateTime"))
        return false;
    set_time(next, "lastTransitionTime", now_unix_ms);
    set_time(next, "lastUpdateTime", now_unix_ms);
    if (transition && is_same_text(last, next, "operation"))
        (void)json_object_set_new(next, "lastTransitionTime", json_string(transition));
    (void)json_object_set_new(status, "lastError", json_deep_copy(next));
    if (!json_is_object(json_object_get(status, "firstError")))
        (void)json_object_set_new(status, "firstError", json_deep_copy(next));
    remember(status, next);
    return is_changed;
}

void status_clear_error(json_t *status)
{
    (void)json_object_del(status, "lastError");
}

void status_reset_errors(json_t *status)
{
    (void)json_object_del(status, "lastError");
    (void)json_object_del(status, "firstError");
    (void)json_object_del(status, "lastErrors");
}

static json_t *find_condition(json_t *conditions, const char *type)
{
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        json_t *condition = json_array_get(conditions, i);

        if (strcmp(doc_text_or(condition, "type", ""), type) == 0)
            return condition;
    }
    return NULL;
}

static bool is_kept(const json_t *condition, const json_t *next, const char *key)
{
    return doc_text(condition, key) && is_same_text(condition, next, key);
}

void status_set_condition(json_t *status, const char *type, const json_t *next, int64_t now_unix_ms)
{
    json_t *conditions = json_object_get(status, "conditions");
    json_t *condition = NULL;
    bool is_transition = false;

    if (!json_is_array(conditions)) {
        conditions = json_array();
        (void)json_object_set_new(status, "conditions", conditions);
    }
    condition = find_condition(conditions, type);
    if (!condition) {
        condition = json_pack("{s:s}", "type", type);
        (void)json_array_append_new(conditions, condition);
    }
    is_transition =
        !is_kept(condition, next, "status") || !doc_text(condition, "lastTransitionTime");
    if (!is_transition && is_kept(condition, next, "reason") &&
        is_kept(condition, next, "message") && doc_text(condition, "lastUpdateTime"))
        return;
    (void)json_object_update(condition, doc_writable(next));
    set_time(condition, "lastUpdateTime", now_unix_ms);
    if (is_transition)
        set_time(condition, "lastTransitionTime", now_unix_ms);
}

const json_t *status_condition(const json_t *status, const char *type)
{
    return find_condition(json_object_get(status, "conditions"), type);
}

void status_remove_condition(json_t *status, const char *type)
{
    json_t *conditions = json_object_get(status, "conditions");

    for (size_t i = json_array_size(conditions); i > 0; i--) {
        if (strcmp(doc_text_or(json_array_get(conditions, i - 1), "type", ""), type) == 0)
            (void)json_array_remove(conditions, i - 1);
    }
}

bool status_is_failed(const char *phase)
{
    return strcmp(phase, PHASE_FAILED) == 0 || strcmp(phase, PHASE_DELETE_FAILED) == 0;
}

bool status_is_final(const char *phase)
{
    return strcmp(phase, PHASE_SUCCEEDED) == 0 || status_is_failed(phase);
}

const char *status_failed_phase(bool is_deleting)
{
    return is_deleting ? PHASE_DELETE_FAILED : PHASE_FAILED;
}
