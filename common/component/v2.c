/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/component/component_name.h"
#include "common/component/descriptor.h"
#include "common/component/element.h"
#include "common/data/doc.h"

static int check_head(const json_t *component, struct error *err)
{
    static const char *const lists[] = {"repositoryContexts", "sources", "componentReferences",
                                        "resources"};
    const char *name = NULL;
    const char *version = NULL;
    const char *provider = NULL;

    if (!json_is_object(component))
        return error_set(err, ERROR_INVALID, "expected an object");
    if (doc_want_text_required(component, "name", &name, err) < 0 ||
        doc_want_text_required(component, "version", &version, err) < 0 ||
        doc_want_text_required(component, "provider", &provider, err) < 0)
        return -1;
    if (!component_name_is_valid(name))
        return error_set(err, ERROR_INVALID, "name: invalid component name \"%.300s\"", name);
    if (!version_is_valid(version))
        return error_set(err, ERROR_INVALID, "version: invalid version \"%.300s\"", version);
    if (!*provider)
        return error_set(err, ERROR_INVALID, "provider: must not be empty");
    for (size_t i = 0; i < array_length(lists); i++) {
        if (!doc_member(component, lists[i]))
            return error_set(err, ERROR_INVALID, "%s: missing", lists[i]);
    }
    return 0;
}

static int convert_lists(json_t *to, const json_t *from, struct error *err)
{
    static const struct {
        const char *key;
        enum element_kind kind;
    } lists[] = {{"sources", ELEMENT_SOURCE},
                 {"componentReferences", ELEMENT_REFERENCE},
                 {"resources", ELEMENT_RESOURCE}};

    for (size_t i = 0; i < array_length(lists); i++) {
        json_t *list = json_object_get(from, lists[i].key);

        if (!json_is_null(list) && !json_is_array(list))
            return error_set(err, ERROR_INVALID, "%s: expected an array", lists[i].key);
        if (element_list_convert(list, lists[i].kind, err) < 0)
            return error_wrap(err, "%s", lists[i].key);
        (void)json_object_set_new(to, lists[i].key,
                                  json_is_null(list) ? json_array() : json_incref(list));
    }
    return 0;
}

static int copy_component(json_t *to, const json_t *from, struct error *err)
{
    static const char *const texts[] = {"name", "version", "provider", "creationTime"};
    json_t *contexts = NULL;
    json_t *labels = NULL;

    if (check_head(from, err) < 0)
        return -1;
    for (size_t i = 0; i < array_length(texts); i++) {
        const json_t *text = doc_member(from, texts[i]);

        if (json_is_string(text))
            (void)json_object_set(to, texts[i], doc_writable(text));
    }
    if (element_labels(doc_member(from, "labels"), &labels, err) < 0)
        return -1;
    if (labels)
        (void)json_object_set_new(to, "labels", labels);
    if (element_contexts(doc_member(from, "repositoryContexts"), &contexts, err) < 0)
        return -1;
    (void)json_object_set_new(to, "repositoryContexts", contexts);
    return convert_lists(to, from, err);
}

int descriptor_from_v2(const json_t *doc, json_t **ret_doc, struct error *err)
{
    cleanup_json json_t *result = json_object();
    json_t *component = json_object();
    json_t *signatures = NULL;

    doc_set_text(result, "meta.schemaVersion", "v2");
    (void)json_object_set_new(result, "component", component);
    if (copy_component(component, doc_member(doc, "component"), err) < 0)
        return error_wrap(err, "component");
    if (element_signatures(doc_member(doc, "signatures"), &signatures, err) < 0)
        return -1;
    if (signatures)
        (void)json_object_set_new(result, "signatures", signatures);
    *ret_doc = json_incref(result);
    return 0;
}
