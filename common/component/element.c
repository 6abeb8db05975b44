/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/element.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/component/component_name.h"
#include "common/component/typed.h"
#include "common/data/doc.h"

static bool is_absent(const json_t *value)
{
    return !value || json_is_null(value);
}

/* Shares the value; absent and empty values are omitted, as in Go. */
static void share(json_t *to, const json_t *from, const char *key)
{
    const json_t *value = doc_member(from, key);

    if (is_absent(value) || (json_is_object(value) && json_object_size(value) == 0) ||
        (json_is_string(value) && json_string_length(value) == 0))
        return;
    (void)json_object_set(to, key, doc_writable(value));
}

static int want_array(const json_t *list, struct error *err)
{
    if (!is_absent(list) && !json_is_array(list))
        return error_set(err, ERROR_INVALID, "expected an array");
    return 0;
}

int element_labels(const json_t *labels, json_t **ret_labels, struct error *err)
{
    cleanup_json json_t *result = json_array();

    if (want_array(labels, err) < 0)
        return error_wrap(err, "labels");
    for (size_t i = 0; i < json_array_size(labels); i++) {
        const json_t *label = json_array_get(labels, i);
        const char *name = doc_text(label, "name");
        const json_t *value = doc_member(label, "value");
        json_t *kept = NULL;

        if (!name || !*name)
            return error_set(err, ERROR_INVALID, "labels[%zu]: name: missing", i);
        for (size_t j = 0; j < i; j++) {
            if (strcmp(doc_text_or(json_array_get(labels, j), "name", ""), name) == 0)
                return error_set(err, ERROR_INVALID, "labels: duplicate name \"%.200s\"", name);
        }
        kept = json_object();
        (void)json_object_set_new(kept, "name", json_string(name));
        (void)json_object_set_new(kept, "value",
                                  value ? json_incref(doc_writable(value)) : json_null());
        (void)json_array_append_new(result, kept);
    }
    *ret_labels = json_array_size(result) > 0 ? json_incref(result) : NULL;
    return 0;
}

static int copy_labels(json_t *to, const json_t *from, struct error *err)
{
    json_t *labels = NULL;

    if (element_labels(doc_member(from, "labels"), &labels, err) < 0)
        return -1;
    if (labels)
        (void)json_object_set_new(to, "labels", labels);
    return 0;
}

static int copy_digest(json_t *to, const json_t *from, struct error *err)
{
    const json_t *digest = doc_member(from, "digest");
    json_t *kept = NULL;

    if (is_absent(digest))
        return 0;
    if (!json_is_object(digest))
        return error_set(err, ERROR_INVALID, "digest: expected an object");
    kept = json_object();
    share(kept, digest, "hashAlgorithm");
    share(kept, digest, "normalisationAlgorithm");
    share(kept, digest, "value");
    (void)json_object_set_new(to, "digest", kept);
    return 0;
}

/* Copies a required string. */
static int copy_text(json_t *to, const json_t *from, const char *key, struct error *err)
{
    const char *text = NULL;

    if (doc_want_text_required(from, key, &text, err) < 0)
        return -1;
    if (!*text)
        return error_set(err, ERROR_INVALID, "%s: must not be empty", key);
    share(to, from, key);
    return 0;
}

static int copy_access(json_t *to, const json_t *from, struct error *err)
{
    const json_t *access = doc_member(from, "access");

    if (!json_is_object(access) || !typed_text(access, "type"))
        return error_set(err, ERROR_INVALID, "access: expected an object with a type");
    (void)json_object_set(to, "access", doc_writable(access));
    return 0;
}

static int copy_identity(json_t *to, const json_t *from, struct error *err)
{
    const json_t *extra = doc_member(from, "extraIdentity");
    const char *key = NULL;
    json_t *value = NULL;

    if (copy_text(to, from, "name", err) < 0 || copy_text(to, from, "version", err) < 0)
        return -1;
    if (!element_name_is_valid(doc_text(from, "name")))
        return error_set(err, ERROR_INVALID, "name: invalid element name \"%.200s\"",
                         doc_text(from, "name"));
    if (!is_absent(extra) && !json_is_object(extra))
        return error_set(err, ERROR_INVALID, "extraIdentity: expected an object");
    doc_foreach(extra, key, value)
    {
        if (!json_is_string(value))
            return error_set(err, ERROR_INVALID, "extraIdentity: \"%.200s\": expected a string",
                             key);
    }
    share(to, from, "extraIdentity");
    return 0;
}

static int copy_kind(json_t *to, const json_t *from, enum element_kind kind, struct error *err)
{
    const char *relation = NULL;

    switch (kind) {
    case ELEMENT_REFERENCE:
        if (copy_text(to, from, "componentName", err) < 0)
            return -1;
        if (!component_name_is_valid(doc_text(from, "componentName")))
            return error_set(err, ERROR_INVALID, "componentName: invalid component name \"%.300s\"",
                             doc_text(from, "componentName"));
        return copy_digest(to, from, err);
    case ELEMENT_SOURCE:
        return copy_text(to, from, "type", err) < 0 ? -1 : copy_access(to, from, err);
    case ELEMENT_RESOURCE:
        if (copy_text(to, from, "type", err) < 0 || copy_access(to, from, err) < 0 ||
            copy_text(to, from, "relation", err) < 0)
            return -1;
        relation = doc_text(from, "relation");
        if (strcmp(relation, "local") != 0 && strcmp(relation, "external") != 0)
            return error_set(err, ERROR_INVALID,
                             "relation: expected \"local\" or \"external\", found \"%.100s\"",
                             relation);
        return copy_digest(to, from, err);
    }
    return error_set(err, ERROR_INTERNAL, "unknown kind of element");
}

/* The identity of an element as text. */
static char *identity_of(const json_t *element)
{
    static const char *const keys[] = {"name", "version", "extraIdentity"};
    cleanup_json json_t *identity = json_object();

    for (size_t i = 0; i < array_length(keys); i++)
        share(identity, element, keys[i]);
    return doc_dump_sorted(identity);
}

struct identity {
    char *text;
    size_t index;
};

static int compare_identities(const void *left, const void *right)
{
    const struct identity *a = left;
    const struct identity *b = right;
    int order = strcmp(a->text, b->text);

    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* Sorts, because a list may have tens of thousands of elements. */
static int check_identities(const json_t *list, struct error *err)
{
    size_t count = json_array_size(list);
    cleanup_free struct identity *sorted = xcalloc(count + 1, sizeof(*sorted));
    size_t duplicate = count;

    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct identity){identity_of(json_array_get(list, i)), i};
    qsort(sorted, count, sizeof(*sorted), compare_identities);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i - 1].text, sorted[i].text) == 0 && sorted[i].index < duplicate)
            duplicate = sorted[i].index;
    }
    for (size_t i = 0; i < count; i++)
        free(sorted[i].text);
    if (duplicate == count)
        return 0;
    return error_set(err, ERROR_INVALID, "[%zu]: duplicate identity of \"%s\"", duplicate,
                     doc_text(json_array_get(list, duplicate), "name"));
}

int element_list_convert(json_t *list, enum element_kind kind, struct error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *element = json_array_get(list, i);
        cleanup_json json_t *converted = json_object();

        if (copy_identity(converted, element, err) < 0 ||
            copy_labels(converted, element, err) < 0 ||
            copy_kind(converted, element, kind, err) < 0)
            return error_wrap(err, "[%zu]", i);
        (void)json_array_set(list, i, converted);
    }
    return check_identities(list, err);
}

int element_signatures(const json_t *signatures, json_t **ret_signatures, struct error *err)
{
    cleanup_json json_t *result = json_array();

    if (want_array(signatures, err) < 0)
        return error_wrap(err, "signatures");
    for (size_t i = 0; i < json_array_size(signatures); i++) {
        const json_t *from = json_array_get(signatures, i);
        const json_t *value = doc_member(from, "signature");
        json_t *kept = json_object();
        json_t *kept_value = json_object();

        (void)json_array_append_new(result, kept);
        (void)json_object_set_new(kept, "signature", kept_value);
        share(kept, from, "name");
        if (copy_digest(kept, from, err) < 0)
            return error_wrap(err, "signatures[%zu]", i);
        share(kept_value, value, "algorithm");
        share(kept_value, value, "value");
        share(kept_value, value, "mediaType");
    }
    *ret_signatures = json_array_size(result) > 0 ? json_incref(result) : NULL;
    return 0;
}

int element_contexts(const json_t *contexts, json_t **ret_contexts, struct error *err)
{
    if (want_array(contexts, err) < 0)
        return error_wrap(err, "repositoryContexts");
    if (json_array_size(contexts) == 0)
        return error_set(err, ERROR_INVALID, "repositoryContexts: at least one is required");
    for (size_t i = 0; i < json_array_size(contexts); i++) {
        if (!typed_text(json_array_get(contexts, i), "type"))
            return error_set(err, ERROR_INVALID,
                             "repositoryContexts[%zu]: expected an object with a type", i);
    }
    *ret_contexts = json_incref(doc_writable(contexts));
    return 0;
}

/* Whether the element has all of these attributes, and no other extra identity. */
static bool has_identity(const json_t *element, const json_t *identity)
{
    const json_t *extra = doc_member(element, "extraIdentity");
    size_t matched = 0;
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(identity, key, value)
    {
        const json_t *own = json_object_get(extra, key);

        if (strcmp(key, "name") == 0)
            continue;
        matched += own ? 1 : 0;
        if (!own && strcmp(key, "version") == 0)
            own = doc_member(element, "version");
        if (!own || !json_equal(own, value))
            return false;
    }
    return matched == json_object_size(extra);
}

const json_t *element_find(const json_t *list, const char *name, const json_t *identity,
                           size_t *ret_same_name)
{
    const json_t *found = NULL;
    size_t candidates = 0;

    *ret_same_name = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *element = json_array_get(list, i);

        if (strcmp(doc_text_or(element, "name", ""), name) != 0)
            continue;
        (*ret_same_name)++;
        if (!has_identity(element, identity))
            continue;
        candidates++;
        found = element;
    }
    /* With two candidates the version is part of both identities, so neither is the wanted one. */
    return candidates == 1 ? found : NULL;
}
