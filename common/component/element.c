/* SPDX-License-Identifier: Apache-2.0 */
#include "init/component/element.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "init/component/names.h"

enum { IDENTITY_SIZE = sizeof(((struct element_text *)NULL)->identity) };

static bool is_absent(const json_t *value)
{
    return !value || json_is_null(value);
}

/* Shares the value; absent and empty ones are left out, as Go leaves them out. */
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
            return error_set(err, ERROR_INVALID, "labels[%zu]: has no name", i);
        for (size_t j = 0; j < i; j++) {
            if (strcmp(doc_text_or(json_array_get(labels, j), "name", ""), name) == 0)
                return error_set(err, ERROR_INVALID, "labels: '%.200s' is there twice", name);
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

/* A text that must be there. */
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
        return error_set(err, ERROR_INVALID, "name: '%.200s' is no valid element name",
                         doc_text(from, "name"));
    if (!is_absent(extra) && !json_is_object(extra))
        return error_set(err, ERROR_INVALID, "extraIdentity: expected an object");
    doc_foreach(extra, key, value)
    {
        if (!json_is_string(value))
            return error_set(err, ERROR_INVALID, "extraIdentity: '%.200s': expected a string", key);
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
            return error_set(err, ERROR_INVALID, "componentName: '%.300s' is no component name",
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
            return error_set(err, ERROR_INVALID, "relation: '%.100s' is neither local nor external",
                             relation);
        return copy_digest(to, from, err);
    }
    return error_set(err, ERROR_INTERNAL, "unknown kind of element");
}

/* Of what tells elements of one list apart. */
static void hash_identity(const json_t *element, char ret_identity[static IDENTITY_SIZE])
{
    static const char *const keys[] = {"name", "version", "extraIdentity"};
    cleanup_json json_t *identity = json_object();
    cleanup_free char *text = NULL;
    char hex[DIGEST_HEX_MAX] = {0};

    for (size_t i = 0; i < array_length(keys); i++)
        share(identity, element, keys[i]);
    text = doc_dump_sorted(identity);
    digest_sha256_hex(text, strlen(text), hex);
    memcpy(ret_identity, hex, IDENTITY_SIZE - 1);
    ret_identity[IDENTITY_SIZE - 1] = '\0';
}

void element_list_add(struct element_list *list, enum element_kind kind, const json_t *element)
{
    cleanup_json json_t *kept = json_object();
    cleanup_free char *json = NULL;
    struct element_text *item = NULL;

    if (list->failure.kind != ERROR_NONE)
        return;
    if (copy_identity(kept, element, &list->failure) < 0 ||
        copy_labels(kept, element, &list->failure) < 0 ||
        copy_kind(kept, element, kind, &list->failure) < 0) {
        (void)error_wrap(&list->failure, "[%zu]", list->count);
        return;
    }
    if (list->count == list->capacity) {
        list->capacity = list->capacity > 0 ? list->capacity * 2 : 16;
        list->items = xreallocarray(list->items, list->capacity, sizeof(*list->items));
    }
    item = &list->items[list->count++];
    /* Copied, because what grew while it was written has room to spare. */
    json = doc_dump_sorted(kept);
    item->json = xstrdup(json);
    hash_identity(kept, item->identity);
}

static int compare_identities(const void *left, const void *right)
{
    const struct element_text *const *a = left;
    const struct element_text *const *b = right;
    int order = strcmp((*a)->identity, (*b)->identity);

    /* The same ones in the order of the list. */
    return order != 0 ? order : (*a > *b) - (*a < *b);
}

int element_list_check(const struct element_list *list, struct error *err)
{
    cleanup_free const struct element_text **sorted = NULL;
    const struct element_text *second = NULL;
    cleanup_json json_t *element = NULL;

    if (list->failure.kind != ERROR_NONE) {
        *err = list->failure;
        return -1;
    }
    sorted = xcalloc(list->count + 1, sizeof(struct element_text *));
    for (size_t i = 0; i < list->count; i++)
        sorted[i] = &list->items[i];
    qsort(sorted, list->count, sizeof(struct element_text *), compare_identities);
    for (size_t i = 1; i < list->count; i++) {
        if (strcmp(sorted[i - 1]->identity, sorted[i]->identity) == 0 &&
            (!second || sorted[i] < second))
            second = sorted[i];
    }
    if (!second)
        return 0;
    element = element_list_get(list, (size_t)(second - list->items));
    return error_set(err, ERROR_INVALID, "[%zu]: '%s' is there twice",
                     (size_t)(second - list->items), doc_text(element, "name"));
}

json_t *element_list_get(const struct element_list *list, size_t index)
{
    const char *text = list->items[index].json;
    struct error impossible = {0};
    json_t *element = NULL;

    /* We have written it ourselves. */
    if (doc_parse_json(text, strlen(text), SIZE_MAX, &element, &impossible) < 0)
        abort();
    return element;
}

void element_list_done(struct element_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].json);
    free(list->items);
    *list = (struct element_list){0};
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

json_t *element_by_name(const struct element_list *list, const char *name, size_t *ret_namesakes)
{
    cleanup_json json_t *found = NULL;
    size_t candidates = 0;

    *ret_namesakes = 0;
    for (size_t i = 0; i < list->count; i++) {
        cleanup_json json_t *element = element_list_get(list, i);

        if (strcmp(doc_text_or(element, "name", ""), name) != 0)
            continue;
        (*ret_namesakes)++;
        if (json_object_size(doc_member(element, "extraIdentity")) > 0 || ++candidates > 1)
            continue;
        found = json_incref(element);
    }
    /* Twice: then the version is part of both identities, and neither is just the name. */
    return candidates == 1 ? json_incref(found) : NULL;
}
