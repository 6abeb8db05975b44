/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/object.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/slice.h"
#include "common/kube/client_internal.h"

/* Copies a member if it can be parsed. */
static void copy_member(struct slice object, const char *key, json_t *target)
{
    cleanup_json json_t *parsed = NULL;
    struct slice value = {0};
    struct error ignored = {0};

    if (!slice_member(object, key, &value))
        return;
    if (doc_parse_json(value.text, value.size, KUBE_OBJECT_MAX, &parsed, &ignored) == 0)
        (void)json_object_set(target, key, parsed);
}

/* What is needed to decide whether a DeployItem is ours, to report it as failed, and to clean up.
 */
static const char *const SPEC_KEPT[] = {
    "type", "target", "context", "timeout", "updateOnChangeOnly", NULL};
static const char *const STATUS_KEPT[] = {"phase",
                                          "jobID",
                                          "jobIDFinished",
                                          "jobIDGenerationTime",
                                          "observedGeneration",
                                          "lastReconcileTime",
                                          "transitionTimes",
                                          "deployer",
                                          "conditions",
                                          "firstError",
                                          "lastError",
                                          "lastErrors",
                                          "providerStatus",
                                          "exportRef",
                                          NULL};

static void copy_part(struct slice text, const char *name, const char *const *keys, json_t *object)
{
    cleanup_json json_t *part = json_object();
    struct slice raw = {0};

    if (!slice_member(text, name, &raw))
        return;
    for (; *keys; keys++)
        copy_member(raw, *keys, part);
    if (json_object_size(part))
        (void)json_object_set(object, name, part);
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
    if (!slice_member(text, "metadata", &raw))
        return NULL;
    for (size_t i = 0; i < array_length(kept); i++)
        copy_member(raw, kept[i], metadata);
    copy_part(text, "spec", SPEC_KEPT, object);
    copy_part(text, "status", STATUS_KEPT, object);
    return doc_text(object, "metadata.name") ? steal(&object) : NULL;
}

int kube_object_parse(const char *text, size_t size, const char *const *skipped_members,
                      json_t **ret_object, struct error *ret_fault, struct error *err)
{
    struct error fault = {0};
    cleanup_json json_t *object = NULL;

    if (doc_parse_json_without(text, size, KUBE_OBJECT_MAX, skipped_members, &object, &fault) ==
        0) {
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
    (void)error_wrap(&fault, "object \"%s/%s\"", doc_text_or(object, "metadata.namespace", ""),
                     doc_text(object, "metadata.name"));
    doc_set_text(object, KUBE_UNREADABLE, fault.text);
    *ret_fault = fault;
    *ret_object = steal(&object);
    return 0;
}

static enum kube_line_type type_of(struct slice text)
{
    static const char *const names[] = {
        [KUBE_LINE_ADDED] = "ADDED",     [KUBE_LINE_MODIFIED] = "MODIFIED",
        [KUBE_LINE_DELETED] = "DELETED", [KUBE_LINE_BOOKMARK] = "BOOKMARK",
        [KUBE_LINE_ERROR] = "ERROR",
    };

    for (size_t i = 0; i < array_length(names); i++) {
        if (strlen(names[i]) == text.size && memcmp(text.text, names[i], text.size) == 0)
            return (enum kube_line_type)i;
    }
    return KUBE_LINE_UNKNOWN;
}

/* Only the metadata of deleted objects is needed. */
static const char *const DELETED_SKIPPED_MEMBERS[] = {"metadata.managedFields", "spec", "status",
                                                      NULL};

/* Parses a line that is not an event, for a precise error message. */
static int refuse_line(struct slice text, struct error *err)
{
    cleanup_json json_t *line = NULL;

    if (doc_parse_json(text.text, text.size, KUBE_OBJECT_MAX, &line, err) < 0)
        return error_wrap(err, "watch event");
    return error_set(err, ERROR_INVALID, "watch event without an object");
}

/* Finds type and object of a line in exactly the form that the API server writes,
 * {"type":"ADDED","object":{...}}. The object then ends one byte before the line, so it need not be
 * scanned to find its end. */
static bool read_plain_line(struct slice line, struct slice *ret_type, struct slice *ret_object)
{
    static const char before[] = "{\"type\":\"", between[] = "\",\"object\":";
    const char *at = line.text + sizeof(before) - 1, *end = line.text + line.size;

    if (line.size < sizeof(before) || memcmp(line.text, before, sizeof(before) - 1) != 0)
        return false;
    ret_type->text = at;
    while (at < end && *at >= 'A' && *at <= 'Z')
        at++;
    ret_type->size = (size_t)(at - ret_type->text);
    if ((size_t)(end - at) < sizeof(between) + 2 || memcmp(at, between, sizeof(between) - 1) != 0 ||
        end[-1] != '}')
        return false;
    at += sizeof(between) - 1;
    *ret_object = (struct slice){at, (size_t)(end - at) - 1};
    return *at == '{';
}

/* Copies a string member. Strings with escapes are refused, as names have none. */
static bool read_plain_text(struct slice object, const char *key, char *ret_text, size_t size)
{
    struct slice value = {0};

    if (!slice_member(object, key, &value) || value.size < 2 || value.size - 2 >= size ||
        value.text[0] != '"' || memchr(value.text, '\\', value.size))
        return false;
    memcpy(ret_text, value.text + 1, value.size - 2);
    ret_text[value.size - 2] = '\0';
    return true;
}

bool kube_line_head(const char *text, size_t size, struct kube_head *ret_head)
{
    struct slice type = {0}, object = {0}, metadata = {0};

    *ret_head = (struct kube_head){0};
    if (!read_plain_line((struct slice){text, size}, &type, &object) ||
        !slice_member(object, "metadata", &metadata))
        return false;
    (void)read_plain_text(metadata, "namespace", ret_head->namespace_name,
                          sizeof(ret_head->namespace_name));
    return read_plain_text(metadata, "name", ret_head->name, sizeof(ret_head->name)) &&
           read_plain_text(metadata, "resourceVersion", ret_head->resource_version,
                           sizeof(ret_head->resource_version));
}

/* The same for a line in any other form of JSON. */
static bool read_line(struct slice line, struct slice *ret_type, struct slice *ret_object)
{
    struct slice type = {0};

    if (!slice_member(line, "object", ret_object) || ret_object->size == 0 ||
        ret_object->text[0] != '{')
        return false;
    *ret_type = (struct slice){"", 0};
    if (slice_member(line, "type", &type) && type.size >= 2 && type.text[0] == '"')
        *ret_type = (struct slice){type.text + 1, type.size - 2};
    return true;
}

int kube_line_parse(const char *text, size_t size, const char *const *skipped_members,
                    enum kube_line_type *ret_type, json_t **ret_object, struct error *ret_fault,
                    struct error *err)
{
    const struct slice line = {text, size};
    struct slice type = {0}, object = {0};
    enum kube_line_type found = KUBE_LINE_UNKNOWN;

    if (!read_plain_line(line, &type, &object) && !read_line(line, &type, &object))
        return refuse_line(line, err);
    found = type_of(type);
    if (kube_object_parse(object.text, object.size,
                          skipped_members && found == KUBE_LINE_DELETED ? DELETED_SKIPPED_MEMBERS
                                                                        : skipped_members,
                          ret_object, ret_fault, err) < 0)
        return error_wrap(err, "watch event");
    *ret_type = found;
    return 0;
}
