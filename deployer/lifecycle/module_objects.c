/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/module_objects.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/images.h"
#include "deployer/lifecycle/names.h"

struct collection {
    json_t *objects;
    json_t *seen; /* set of identities */
};

static bool is_list(const json_t *object)
{
    const char *kind = doc_text_or(object, "kind", "");
    size_t length = strlen(kind);

    return length >= 4 && strcmp(kind + length - 4, "List") == 0 &&
           json_is_array(doc_get(object, "items"));
}

static int collect(struct collection *collection, json_t *object, struct error *err)
{
    static const char *const required[] = {"apiVersion", "kind", "metadata.name"};
    cleanup_free char *identity = NULL;

    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "expected an object, got %s", doc_type_name(object));
    for (size_t i = 0; i < array_length(required); i++) {
        const char *text = NULL;

        if (doc_want_text_required(object, required[i], &text, err))
            return -1;
        if (!*text)
            return error_set(err, ERROR_INVALID, "%s: is empty", required[i]);
    }
    if (json_array_size(collection->objects) >= MODULE_OBJECTS_MAX)
        return error_set(err, ERROR_TOO_LARGE, "the module has more than %d objects",
                         MODULE_OBJECTS_MAX);
    identity = xasprintf(
        "%s %s %s %s", doc_text_or(object, "apiVersion", ""), doc_text_or(object, "kind", ""),
        doc_text_or(object, "metadata.namespace", ""), doc_text_or(object, "metadata.name", ""));
    if (json_object_get(collection->seen, identity))
        return 0;
    json_object_set_new(collection->seen, identity, json_true());
    json_array_append(collection->objects, object);
    return 0;
}

static int collect_document(struct collection *collection, json_t *document, struct error *err)
{
    size_t i;
    json_t *item;

    if (!is_list(document))
        return collect(collection, document, err);
    json_array_foreach(json_object_get(document, "items"), i,
                       item) if (collect(collection, item, err)) return error_wrap(err,
                                                                                   "items[%zu]", i);
    return 0;
}

int module_objects_parse(const char *text, size_t size, json_t **ret_objects, struct error *err)
{
    cleanup_json json_t *documents = NULL, *objects = json_array(), *seen = json_object();
    struct collection collection = {objects, seen};
    size_t i;
    json_t *document;

    if (doc_parse_yaml_stream(text, size, MODULE_BYTES_MAX, &documents, err))
        return -1;
    json_array_foreach(documents, i,
                       document) if (collect_document(&collection, document,
                                                      err)) return error_wrap(err, "document %zu",
                                                                              i + 1);
    *ret_objects = json_incref(objects);
    return 0;
}

static void annotate(json_t *object, const char *map, const char *key, const char *value)
{
    cleanup_free char *path = xasprintf("metadata.%s", map);

    if (!json_is_object(doc_get(object, path)))
        doc_set_new(object, path, json_object());
    json_object_set_new(doc_writable(doc_get(object, path)), key, doc_new_text(value));
}

int module_object_for(const json_t *object, const struct module_owner *owner, const json_t *images,
                      json_t **ret_object, struct error *err)
{
    static const char disclaimer[] =
        "DO NOT EDIT - This resource is managed by Kyma.\n"
        "Any modifications are discarded and the resource is reverted to the original state.";
    cleanup_free char *owned_by = xasprintf("%s/%s", owner->namespace_name, owner->manifest_name);
    cleanup_json json_t *copy = json_deep_copy(object);

    annotate(copy, "labels", KYMA_LABEL_MANAGED_BY, KYMA_MANAGED_BY_CLUSTER);
    annotate(copy, "labels", KYMA_LABEL_COMPONENT, owner->manifest_name);
    annotate(copy, "labels", "app.kubernetes.io/part-of", "Kyma");
    annotate(copy, "annotations", KYMA_ANNOTATION_OWNED_BY, owned_by);
    annotate(copy, "annotations", KYMA_ANNOTATION_DISCLAIMER, disclaimer);
    if (images_localize(copy, images, err))
        return -1;
    *ret_object = json_incref(copy);
    return 0;
}
