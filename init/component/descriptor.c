/* SPDX-License-Identifier: Apache-2.0 */
#include "init/component/descriptor.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "init/component/element.h"

#define SCHEMA_V2 "v2"
#define API_VERSION_V3 "ocm.software/v3alpha1"

struct descriptor {
    json_t *doc;
};

int descriptor_from_doc(const json_t *doc, struct descriptor **ret_descriptor, struct error *err)
{
    const char *schema = doc_text(doc, "meta.schemaVersion");
    const char *api = doc_text(doc, "apiVersion");
    json_t *v2 = NULL;

    if (!json_is_object(doc))
        return error_set(err, ERROR_INVALID, "component descriptor: expected an object");
    if (schema && api)
        return error_set(err, ERROR_INVALID,
                         "component descriptor: has both meta.schemaVersion and apiVersion");
    if (schema && strcmp(schema, SCHEMA_V2) == 0) {
        if (descriptor_from_v2(doc, &v2, err) < 0)
            return error_wrap(err, "component descriptor");
    } else if (api && strcmp(api, API_VERSION_V3) == 0) {
        if (descriptor_from_v3(doc, &v2, err) < 0)
            return error_wrap(err, "component descriptor");
    } else {
        return error_set(err, ERROR_INVALID,
                         "component descriptor: schema version '%.100s' is not supported",
                         schema ? schema
                         : api  ? api
                                : "");
    }
    *ret_descriptor = xcalloc(1, sizeof(**ret_descriptor));
    (*ret_descriptor)->doc = v2;
    return 0;
}

int descriptor_parse(const char *text, size_t size, struct descriptor **ret_descriptor,
                     struct error *err)
{
    cleanup_json json_t *doc = NULL;

    if (doc_parse_yaml(text, size, DESCRIPTOR_MAX_BYTES, &doc, err) < 0)
        return error_wrap(err, "component descriptor");
    return descriptor_from_doc(doc, ret_descriptor, err);
}

void descriptor_free(struct descriptor *descriptor)
{
    if (!descriptor)
        return;
    json_decref(descriptor->doc);
    free(descriptor);
}

const char *descriptor_name(const struct descriptor *descriptor)
{
    return doc_text(descriptor->doc, "component.name");
}

const char *descriptor_version(const struct descriptor *descriptor)
{
    return doc_text(descriptor->doc, "component.version");
}

const json_t *descriptor_doc(const struct descriptor *descriptor)
{
    return descriptor->doc;
}

const json_t *descriptor_references(const struct descriptor *descriptor)
{
    return doc_get(descriptor->doc, "component.componentReferences");
}

const json_t *descriptor_context(const struct descriptor *descriptor)
{
    const json_t *contexts = doc_get(descriptor->doc, "component.repositoryContexts");

    return json_array_get(contexts, json_array_size(contexts) - 1);
}

int descriptor_resource(const struct descriptor *descriptor, const char *name,
                        const json_t **ret_resource, struct error *err)
{
    const json_t *resources = doc_get(descriptor->doc, "component.resources");
    size_t namesakes = 0;

    *ret_resource = element_by_name(resources, name);
    if (*ret_resource)
        return 0;
    for (size_t i = 0; i < json_array_size(resources); i++) {
        if (strcmp(doc_text_or(json_array_get(resources, i), "name", ""), name) == 0)
            namesakes++;
    }
    if (namesakes > 0)
        return error_set(err, ERROR_NOT_FOUND,
                         "no resource of component '%s:%s' is identified by the name '%.200s' "
                         "alone (%zu have it, told apart by version or extra identity)",
                         descriptor_name(descriptor), descriptor_version(descriptor), name,
                         namesakes);
    return error_set(err, ERROR_NOT_FOUND, "component '%s:%s' has no resource '%.200s'",
                     descriptor_name(descriptor), descriptor_version(descriptor), name);
}
