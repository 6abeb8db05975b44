/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/item/bundle.h"

#include <string.h>
#include <unistd.h>

#include "common/base/buffer.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"

void bundle_init(struct bundle *bundle)
{
    bundle->objects = json_array();
}

void bundle_done(struct bundle *bundle)
{
    json_decref(bundle->objects);
    bundle->objects = NULL;
}

/* stringData takes precedence over data, as in the API server. */
static int fold_string_data(json_t *object, struct error *err)
{
    json_t *texts = json_object_get(object, "stringData");
    const char *key = NULL;
    json_t *text = NULL;

    if (!json_is_object(texts))
        return 0;
    json_object_foreach(texts, key, text)
    {
        cleanup_wipe char *encoded = NULL;

        if (!json_is_string(text))
            return error_set(err, ERROR_INVALID, "stringData.%s: expected a string", key);
        encoded = base64_encode(json_string_value(text), json_string_length(text));
        if (!json_is_object(json_object_get(object, "data")))
            (void)json_object_set_new(object, "data", json_object());
        (void)json_object_set_new(json_object_get(object, "data"), key, json_string(encoded));
    }
    return json_object_del(object, "stringData");
}

int bundle_add_document(struct bundle *bundle, json_t *object, struct error *err)
{
    const char *kind = doc_text(object, "kind");

    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "expected an object");
    if (!kind || !*kind)
        return error_set(err, ERROR_INVALID, "kind is missing");
    if (strcmp(kind, "List") == 0) {
        const json_t *items = doc_member(object, "items");

        for (size_t i = 0; i < json_array_size(items); i++) {
            json_t *item = json_array_get(items, i);

            /* Nested Lists are rejected: they would need a depth limit and kubectl does not write
             * them. */
            if (strcmp(doc_text_or(item, "kind", ""), "List") == 0)
                return error_set(err, ERROR_INVALID, "items[%zu]: a List must not contain a List",
                                 i);
            if (bundle_add_document(bundle, item, err) < 0)
                return error_wrap(err, "items[%zu]", i);
        }
        return 0;
    }
    if (strcmp(kind, "Secret") == 0 && fold_string_data(object, err) < 0)
        return error_wrap(err, "secret \"%s\"", doc_text_or(object, "metadata.name", ""));
    return json_array_append(bundle->objects, object);
}

int bundle_add_text(struct bundle *bundle, const char *origin, const char *text, size_t size,
                    struct error *err)
{
    cleanup_json json_t *docs = NULL;

    if (doc_parse_yaml_stream(text, size, BUNDLE_BYTES_MAX, &docs, err) < 0)
        return error_wrap(err, "\"%s\"", origin);
    for (size_t i = 0; i < json_array_size(docs); i++) {
        if (bundle_add_document(bundle, json_array_get(docs, i), err) < 0)
            return error_wrap(err, "\"%s\", document %zu", origin, i + 1);
    }
    return 0;
}

int bundle_load(struct bundle *bundle, const char *path, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    bool is_standard_input = strcmp(path, "-") == 0;

    buffer_init(&text, BUNDLE_BYTES_MAX);
    if (is_standard_input ? file_read_all(STDIN_FILENO, "standard input", &text, err) < 0
                          : doc_read_file(path, BUNDLE_BYTES_MAX, &text, err) < 0)
        return -1;
    return bundle_add_text(bundle, is_standard_input ? "standard input" : path,
                           text.data ? text.data : "", text.size, err);
}

static bool is_wanted(const json_t *object, const char *kind, const char *namespace_name,
                      const char *name)
{
    const char *have = doc_text(object, "metadata.namespace");

    if (strcmp(doc_text_or(object, "kind", ""), kind) != 0)
        return false;
    if (name && strcmp(doc_text_or(object, "metadata.name", ""), name) != 0)
        return false;
    return !namespace_name || !have || strcmp(have, namespace_name) == 0;
}

const json_t *bundle_find(const struct bundle *bundle, const char *kind, const char *namespace_name,
                          const char *name)
{
    for (size_t i = 0; i < json_array_size(bundle->objects); i++) {
        const json_t *object = json_array_get(bundle->objects, i);

        if (is_wanted(object, kind, namespace_name, name))
            return object;
    }
    return NULL;
}

const json_t *bundle_at(const struct bundle *bundle, const char *kind, size_t index)
{
    for (size_t i = 0; i < json_array_size(bundle->objects); i++) {
        const json_t *object = json_array_get(bundle->objects, i);

        if (is_wanted(object, kind, NULL, NULL) && index-- == 0)
            return object;
    }
    return NULL;
}
