/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/descriptor.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/component/component_name.h"
#include "common/component/element.h"
#include "common/data/doc.h"

#define SCHEMA_V2 "v2"
#define API_VERSION_V3 "ocm.software/v3alpha1"

struct descriptor {
    size_t reference_count;
    json_t *doc; /* in v2 form */
};

/* ---- reading ---- */

/* Converts the lists of doc in place. */
static int build(const json_t *doc, struct descriptor **ret_descriptor, struct error *err)
{
    const char *schema = doc_text(doc, "meta.schemaVersion");
    const char *api = doc_text(doc, "apiVersion");
    json_t *v2 = NULL;

    if (!json_is_object(doc))
        return error_set(err, ERROR_INVALID, "expected an object");
    if (schema && api)
        return error_set(err, ERROR_INVALID, "has both meta.schemaVersion and apiVersion");
    if (schema && strcmp(schema, SCHEMA_V2) == 0) {
        if (descriptor_from_v2(doc, &v2, err) < 0)
            return -1;
    } else if (api && strcmp(api, API_VERSION_V3) == 0) {
        if (descriptor_from_v3(doc, &v2, err) < 0)
            return -1;
    } else {
        return error_set(err, ERROR_INVALID, "unsupported schema version \"%.100s\"",
                         schema ? schema
                         : api  ? api
                                : "");
    }
    *ret_descriptor = xcalloc(1, sizeof(**ret_descriptor));
    (*ret_descriptor)->reference_count = 1;
    (*ret_descriptor)->doc = v2;
    return 0;
}

int descriptor_from_doc(const json_t *doc, struct descriptor **ret_descriptor, struct error *err)
{
    cleanup_json json_t *copy = json_deep_copy(doc);

    return build(copy, ret_descriptor, err) < 0 ? error_wrap(err, "component descriptor") : 0;
}

int descriptor_parse(const char *text, size_t size, struct descriptor **ret_descriptor,
                     struct error *err)
{
    cleanup_json json_t *doc = NULL;

    if (doc_parse_yaml(text, size, DESCRIPTOR_MAX_BYTES, &doc, err) < 0 ||
        build(doc, ret_descriptor, err) < 0)
        return error_wrap(err, "component descriptor");
    return 0;
}

struct descriptor *descriptor_ref(struct descriptor *descriptor)
{
    descriptor->reference_count++;
    return descriptor;
}

void descriptor_free(struct descriptor *descriptor)
{
    if (!descriptor || --descriptor->reference_count > 0)
        return;
    json_decref(descriptor->doc);
    free(descriptor);
}

/* ---- members ---- */

const char *descriptor_name(const struct descriptor *descriptor)
{
    return doc_text(descriptor->doc, "component.name");
}

const char *descriptor_version(const struct descriptor *descriptor)
{
    return doc_text(descriptor->doc, "component.version");
}

int descriptor_check_identity(const struct descriptor *descriptor, const char *component_name,
                              const char *version, struct error *err)
{
    cleanup_free char *wanted = version_tag(version);
    cleanup_free char *found = version_tag(descriptor_version(descriptor));

    if (strcmp(descriptor_name(descriptor), component_name) != 0 || strcmp(wanted, found) != 0)
        return error_set(
            err, ERROR_INVALID, "expected the descriptor of \"%s:%s\", found that of \"%s:%s\"",
            component_name, version, descriptor_name(descriptor), descriptor_version(descriptor));
    return 0;
}

static const json_t *references(const struct descriptor *descriptor)
{
    return doc_get(descriptor->doc, "component.componentReferences");
}

size_t descriptor_reference_count(const struct descriptor *descriptor)
{
    return json_array_size(references(descriptor));
}

json_t *descriptor_reference(const struct descriptor *descriptor, size_t index)
{
    return json_incref(json_array_get(references(descriptor), index));
}

const json_t *descriptor_context(const struct descriptor *descriptor)
{
    const json_t *contexts = doc_get(descriptor->doc, "component.repositoryContexts");

    return json_array_get(contexts, json_array_size(contexts) - 1);
}

const json_t *descriptor_resources(const struct descriptor *descriptor)
{
    return doc_get(descriptor->doc, "component.resources");
}

int descriptor_resource(const struct descriptor *descriptor, const char *name,
                        const json_t *identity, json_t **ret_resource, struct error *err)
{
    size_t same_name = 0;
    const json_t *resource =
        element_find(descriptor_resources(descriptor), name, identity, &same_name);

    if (resource) {
        *ret_resource = json_incref(doc_writable(resource));
        return 0;
    }
    if (same_name > 0)
        return error_set(err, ERROR_NOT_FOUND,
                         "component \"%s:%s\": the name \"%.200s\"%s does not identify one "
                         "resource (%zu have the name and differ in version or extra identity)",
                         descriptor_name(descriptor), descriptor_version(descriptor), name,
                         json_object_size(identity) > 1 ? " with the given attributes" : "",
                         same_name);
    return error_set(err, ERROR_NOT_FOUND, "component \"%s:%s\" has no resource \"%.200s\"",
                     descriptor_name(descriptor), descriptor_version(descriptor), name);
}

/* ---- writing ---- */

struct output {
    json_dump_callback_t sink;
    void *data;
    int result;
};

static void put(struct output *output, const char *text)
{
    if (output->result == 0)
        output->result = output->sink(text, strlen(text), output->data);
}

static void put_value(struct output *output, const json_t *value)
{
    cleanup_free char *text = doc_dump_sorted(value);

    put(output, text);
}

/* Lists element by element, so that the text of a long one is never in memory as a whole. */
static void put_list(struct output *output, const json_t *list)
{
    put(output, "[");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i > 0)
            put(output, ",");
        put_value(output, json_array_get(list, i));
    }
    put(output, "]");
}

static void put_members(struct output *output, const json_t *object, const char *const *keys,
                        const char *separator)
{
    for (; *keys; keys++) {
        const json_t *value = doc_member(object, *keys);

        if (!value)
            continue;
        put(output, separator);
        put(output, *keys);
        put(output, "\":");
        if (json_is_array(value))
            put_list(output, value);
        else
            put_value(output, value);
        separator = ",\"";
    }
}

int descriptor_write(const struct descriptor *descriptor, json_dump_callback_t sink, void *data)
{
    /* All keys that v2.c writes, sorted. */
    static const char *const component_keys[] = {
        "componentReferences", "creationTime", "labels",  "name",    "provider",
        "repositoryContexts",  "resources",    "sources", "version", NULL};
    static const char *const other_keys[] = {"meta", "signatures", NULL};
    struct output output = {.sink = sink, .data = data};

    put(&output, "{\"component\":");
    put_members(&output, doc_member(descriptor->doc, "component"), component_keys, "{\"");
    put(&output, "}");
    put_members(&output, descriptor->doc, other_keys, ",\"");
    put(&output, "}");
    return output.result;
}
