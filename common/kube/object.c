/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/object.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/client_internal.h"

struct slice {
    const char *text;
    size_t size;
};

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* Past the string that begins at `at`, or NULL if it does not end. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        if (*at == '\\')
            at++;
        else if (*at == '"')
            return at + 1;
    }
    return NULL;
}

/* Past a value of any kind, or NULL if it does not end. What is inside of brackets is only counted.
 */
static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;

    if (at < end && *at == '"')
        return skip_string(at, end);
    if (at < end && *at != '{' && *at != '[') {
        while (at < end && !strchr(",]} \t\r\n", *at))
            at++;
        return at;
    }
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            if (!at)
                return NULL;
            continue;
        }
        if (*at == '{' || *at == '[')
            depth++;
        else if ((*at == '}' || *at == ']') && --depth == 0)
            return at + 1;
        at++;
    }
    return NULL;
}

/* The raw value of a key of the object in text. */
static bool find_member(struct slice object, const char *key, struct slice *ret_value)
{
    const char *end = object.text + object.size;
    const char *at = skip_space(object.text, end);

    if (at == end || *at != '{')
        return false;
    for (at = skip_space(at + 1, end); at < end && *at == '"'; at = skip_space(at + 1, end)) {
        const char *name = at + 1;
        const char *value = NULL;
        size_t name_size = 0;

        at = skip_string(at, end);
        if (!at)
            return false;
        name_size = (size_t)(at - name) - 1;
        at = skip_space(at, end);
        if (at == end || *at != ':')
            return false;
        value = skip_space(at + 1, end);
        at = skip_value(value, end);
        if (!at)
            return false;
        if (name_size == strlen(key) && memcmp(name, key, name_size) == 0) {
            *ret_value = (struct slice){value, (size_t)(at - value)};
            return true;
        }
        at = skip_space(at, end);
        if (at == end || *at != ',')
            return false;
    }
    return false;
}

/* Copies a member that can be read; what cannot is left out. */
static void copy_member(struct slice object, const char *key, json_t *target)
{
    cleanup_json json_t *wrapped = NULL;
    cleanup_free char *text = NULL;
    struct slice value = {0};
    struct error ignored = {0};

    if (!find_member(object, key, &value))
        return;
    /* In an array, so that a value of any kind is a document. */
    text = xasprintf("[%.*s]", (int)value.size, value.text);
    if (doc_parse_json(text, strlen(text), KUBE_OBJECT_MAX, &wrapped, &ignored) == 0)
        (void)json_object_set(target, key, json_array_get(wrapped, 0));
}

static json_t *reduce(struct slice text)
{
    static const char *const kept[] = {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "deletionTimestamp",
        "labels",
        "annotations",
        "finalizers",
        "creationTimestamp",
        "ownerReferences",
    };
    cleanup_json json_t *object = json_object();
    json_t *metadata = json_object();
    struct slice raw = {0};

    (void)json_object_set_new(object, "metadata", metadata);
    copy_member(text, "apiVersion", object);
    copy_member(text, "kind", object);
    if (!find_member(text, "metadata", &raw))
        return NULL;
    for (size_t i = 0; i < array_length(kept); i++)
        copy_member(raw, kept[i], metadata);
    return doc_text(object, "metadata.name") ? steal(&object) : NULL;
}

int kube_object_parse(const char *text, size_t size, json_t **ret_object, struct error *ret_fault,
                      struct error *err)
{
    struct error fault = {0};
    cleanup_json json_t *object = NULL;

    if (doc_parse_json(text, size, KUBE_OBJECT_MAX, &object, &fault) == 0) {
        if (!json_is_object(object))
            return error_set(err, ERROR_INVALID, "not an object");
        *ret_object = steal(&object);
        return 0;
    }
    object = reduce((struct slice){text, size});
    if (!object) {
        *err = fault;
        return -1;
    }
    (void)error_wrap(&fault, "object '%s/%s'", doc_text_or(object, "metadata.namespace", ""),
                     doc_text(object, "metadata.name"));
    *ret_fault = fault;
    *ret_object = steal(&object);
    return 0;
}

static enum kube_line_type type_of(const char *text)
{
    static const char *const names[] = {
        [KUBE_LINE_ADDED] = "ADDED",     [KUBE_LINE_MODIFIED] = "MODIFIED",
        [KUBE_LINE_DELETED] = "DELETED", [KUBE_LINE_BOOKMARK] = "BOOKMARK",
        [KUBE_LINE_ERROR] = "ERROR",
    };

    for (size_t i = 0; text && i < array_length(names); i++) {
        if (strcmp(text, names[i]) == 0)
            return (enum kube_line_type)i;
    }
    return KUBE_LINE_UNKNOWN;
}

int kube_line_parse(const char *text, size_t size, enum kube_line_type *ret_type,
                    json_t **ret_object, struct error *ret_fault, struct error *err)
{
    cleanup_json json_t *line = NULL;
    struct slice raw = {0};
    struct error whole = {0};
    json_t *object = NULL;

    if (doc_parse_json(text, size, KUBE_OBJECT_MAX, &line, &whole) == 0) {
        object = json_object_get(line, "object");
        if (!json_is_object(object))
            return error_set(err, ERROR_INVALID, "a watch event without an object");
        *ret_type = type_of(doc_text(line, "type"));
        *ret_object = json_incref(object);
        return 0;
    }
    line = json_object();
    copy_member((struct slice){text, size}, "type", line);
    if (!find_member((struct slice){text, size}, "object", &raw)) {
        *err = whole;
        return error_wrap(err, "a watch event");
    }
    if (kube_object_parse(raw.text, raw.size, ret_object, ret_fault, err) < 0)
        return error_wrap(err, "a watch event");
    *ret_type = type_of(doc_text(line, "type"));
    return 0;
}
