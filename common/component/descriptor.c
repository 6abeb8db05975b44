/* SPDX-License-Identifier: Apache-2.0 */
#include "init/component/descriptor.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc_lists.h"

#define SCHEMA_V2 "v2"
#define API_VERSION_V3 "ocm.software/v3alpha1"

enum { SOURCES, REFERENCES, RESOURCES };

const char *const descriptor_list_keys[DESCRIPTOR_LISTS] = {"sources", "componentReferences",
                                                            "resources"};
static const enum element_kind list_kinds[DESCRIPTOR_LISTS] = {ELEMENT_SOURCE, ELEMENT_REFERENCE,
                                                               ELEMENT_RESOURCE};

/* Those of v2, then those of v3: which schema it is may stand behind the lists. */
static const struct doc_list_path list_paths[2 * DESCRIPTOR_LISTS] = {
    {{"component", "sources"}},   {{"component", "componentReferences"}},
    {{"component", "resources"}}, {{"spec", "sources"}},
    {{"spec", "references"}},     {{"spec", "resources"}},
};

struct descriptor {
    size_t reference_count;
    json_t *doc; /* v2 without its lists */
    struct element_list lists[DESCRIPTOR_LISTS];
};

/* ---- reading ---- */

struct both_lists {
    struct element_list lists[2 * DESCRIPTOR_LISTS];
};

static void both_lists_done(void *data)
{
    struct both_lists *both = data;

    for (size_t i = 0; i < array_length(both->lists); i++)
        element_list_done(&both->lists[i]);
}

static void add_element(void *data, size_t list, const json_t *element)
{
    struct both_lists *both = data;

    element_list_add(&both->lists[list], list_kinds[list % DESCRIPTOR_LISTS], element);
}

static int build(const json_t *doc, struct both_lists *both, struct descriptor **ret_descriptor,
                 struct error *err)
{
    const char *schema = doc_text(doc, "meta.schemaVersion");
    const char *api = doc_text(doc, "apiVersion");
    struct element_list *lists = both->lists;
    json_t *v2 = NULL;

    if (!json_is_object(doc))
        return error_set(err, ERROR_INVALID, "expected an object");
    if (schema && api)
        return error_set(err, ERROR_INVALID, "has both meta.schemaVersion and apiVersion");
    if (schema && strcmp(schema, SCHEMA_V2) == 0) {
        if (descriptor_from_v2(doc, lists, &v2, err) < 0)
            return -1;
    } else if (api && strcmp(api, API_VERSION_V3) == 0) {
        lists += DESCRIPTOR_LISTS;
        if (descriptor_from_v3(doc, lists, &v2, err) < 0)
            return -1;
    } else {
        return error_set(err, ERROR_INVALID, "schema version '%.100s' is not supported",
                         schema ? schema
                         : api  ? api
                                : "");
    }
    *ret_descriptor = xcalloc(1, sizeof(**ret_descriptor));
    (*ret_descriptor)->reference_count = 1;
    (*ret_descriptor)->doc = v2;
    for (size_t i = 0; i < DESCRIPTOR_LISTS; i++) {
        (*ret_descriptor)->lists[i] = lists[i];
        lists[i] = (struct element_list){0};
    }
    return 0;
}

int descriptor_from_doc(const json_t *doc, struct descriptor **ret_descriptor, struct error *err)
{
    struct both_lists both = {0};
    int result = 0;

    for (size_t i = 0; i < array_length(list_paths); i++) {
        const json_t *parent = doc_member(doc, list_paths[i].keys[0]);
        const json_t *list = doc_member(parent, list_paths[i].keys[1]);

        for (size_t k = 0; k < json_array_size(list); k++)
            add_element(&both, i, json_array_get(list, k));
    }
    result = build(doc, &both, ret_descriptor, err);
    both_lists_done(&both);
    return result < 0 ? error_wrap(err, "component descriptor") : 0;
}

int descriptor_parse(const char *text, size_t size, struct descriptor **ret_descriptor,
                     struct error *err)
{
    struct both_lists both = {0};
    const struct doc_lists lists = {.paths = list_paths,
                                    .count = array_length(list_paths),
                                    .tree_max_bytes = DESCRIPTOR_TREE_MAX_BYTES,
                                    .on_begin = both_lists_done,
                                    .on_element = add_element,
                                    .data = &both};
    cleanup_json json_t *doc = NULL;
    int result = doc_parse_yaml_lists(text, size, DESCRIPTOR_MAX_BYTES, &lists, &doc, err);

    if (result == 0)
        result = build(doc, &both, ret_descriptor, err);
    both_lists_done(&both);
    return result < 0 ? error_wrap(err, "component descriptor") : 0;
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
    for (size_t i = 0; i < DESCRIPTOR_LISTS; i++)
        element_list_done(&descriptor->lists[i]);
    json_decref(descriptor->doc);
    free(descriptor);
}

/* ---- what it says ---- */

const char *descriptor_name(const struct descriptor *descriptor)
{
    return doc_text(descriptor->doc, "component.name");
}

const char *descriptor_version(const struct descriptor *descriptor)
{
    return doc_text(descriptor->doc, "component.version");
}

size_t descriptor_reference_count(const struct descriptor *descriptor)
{
    return descriptor->lists[REFERENCES].count;
}

json_t *descriptor_reference(const struct descriptor *descriptor, size_t index)
{
    return element_list_get(&descriptor->lists[REFERENCES], index);
}

const json_t *descriptor_context(const struct descriptor *descriptor)
{
    const json_t *contexts = doc_get(descriptor->doc, "component.repositoryContexts");

    return json_array_get(contexts, json_array_size(contexts) - 1);
}

int descriptor_resource(const struct descriptor *descriptor, const char *name,
                        json_t **ret_resource, struct error *err)
{
    size_t namesakes = 0;
    json_t *resource = element_by_name(&descriptor->lists[RESOURCES], name, &namesakes);

    if (resource) {
        *ret_resource = resource;
        return 0;
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

/* "key": value, behind a comma unless it is the first. */
static void put_member(struct output *output, const char *key, const json_t *value, bool is_first)
{
    cleanup_free char *text = value ? doc_dump_sorted(value) : NULL;

    put(output, is_first ? "\"" : ",\"");
    put(output, key);
    put(output, "\":");
    if (text)
        put(output, text);
}

static void put_list(struct output *output, const struct element_list *list)
{
    put(output, "[");
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            put(output, ",");
        put(output, list->items[i].json);
    }
    put(output, "]");
}

static void put_component(struct output *output, const struct descriptor *descriptor)
{
    /* All that v2.c makes, sorted. */
    static const struct {
        const char *key;
        int list; /* -1: none */
    } members[] = {{"componentReferences", REFERENCES},
                   {"creationTime", -1},
                   {"labels", -1},
                   {"name", -1},
                   {"provider", -1},
                   {"repositoryContexts", -1},
                   {"resources", RESOURCES},
                   {"sources", SOURCES},
                   {"version", -1}};
    const json_t *component = doc_member(descriptor->doc, "component");

    for (size_t i = 0; i < array_length(members); i++) {
        const json_t *value = doc_member(component, members[i].key);

        if (members[i].list < 0 && !value)
            continue;
        put_member(output, members[i].key, value, i == 0);
        if (members[i].list >= 0)
            put_list(output, &descriptor->lists[members[i].list]);
    }
}

int descriptor_write(const struct descriptor *descriptor, json_dump_callback_t sink, void *data)
{
    const json_t *signatures = doc_member(descriptor->doc, "signatures");
    struct output output = {.sink = sink, .data = data};

    put(&output, "{\"component\":{");
    put_component(&output, descriptor);
    put(&output, "}");
    put_member(&output, "meta", doc_member(descriptor->doc, "meta"), false);
    if (signatures)
        put_member(&output, "signatures", signatures, false);
    put(&output, "}");
    return output.result;
}
