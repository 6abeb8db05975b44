/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/data/doc.h"
#include "init/component/descriptor.h"
#include "init/component/element.h"
#include "init/component/names.h"

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
        return error_set(err, ERROR_INVALID, "name: '%.300s' is no component name", name);
    if (!version_is_valid(version))
        return error_set(err, ERROR_INVALID, "version: '%.300s' is no version", version);
    if (!*provider)
        return error_set(err, ERROR_INVALID, "provider: must not be empty");
    for (size_t i = 0; i < array_length(lists); i++) {
        if (!doc_member(component, lists[i]))
            return error_set(err, ERROR_INVALID, "%s: is missing", lists[i]);
    }
    return 0;
}

static int check_lists(const json_t *component, const struct element_list lists[],
                       struct error *err)
{
    for (size_t i = 0; i < DESCRIPTOR_LISTS; i++) {
        const char *key = descriptor_list_keys[i];
        const json_t *list = doc_member(component, key);

        if (!json_is_null(list) && !json_is_array(list))
            return error_set(err, ERROR_INVALID, "%s: expected an array", key);
        if (element_list_check(&lists[i], err) < 0)
            return error_wrap(err, "%s", key);
    }
    return 0;
}

static int copy_component(json_t *to, const json_t *from, const struct element_list lists[],
                          struct error *err)
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
    return check_lists(from, lists, err);
}

int descriptor_from_v2(const json_t *doc, const struct element_list lists[], json_t **ret_doc,
                       struct error *err)
{
    cleanup_json json_t *result = json_object();
    json_t *component = json_object();
    json_t *signatures = NULL;

    doc_set_text(result, "meta.schemaVersion", "v2");
    (void)json_object_set_new(result, "component", component);
    if (copy_component(component, doc_member(doc, "component"), lists, err) < 0)
        return error_wrap(err, "component");
    if (element_signatures(doc_member(doc, "signatures"), &signatures, err) < 0)
        return -1;
    if (signatures)
        (void)json_object_set_new(result, "signatures", signatures);
    *ret_doc = json_incref(result);
    return 0;
}
