/* SPDX-License-Identifier: Apache-2.0 */
/* v3alpha1 has the content of v2 under other names: it is rearranged, then read as v2. */
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/component/descriptor.h"
#include "common/data/doc.h"

enum { PROVIDER_MAX_BYTES = 1024 * 1024 };

static int only_keys(const json_t *object, const char *path, const char *const *keys,
                     struct error *err)
{
    const char *name = NULL;
    json_t *value = NULL;

    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "%s: expected an object", path);
    doc_foreach(object, name, value)
    {
        const char *const *known = keys;

        while (*known && strcmp(*known, name) != 0)
            known++;
        if (!*known)
            return error_set(err, ERROR_INVALID, "%s: unknown field \"%.100s\"", path, name);
    }
    return 0;
}

static int append_member(struct buffer *text, const json_t *object, const char *key,
                         struct error *err)
{
    const json_t *value = doc_member(object, key);
    cleanup_free char *dumped = NULL;

    if (!value || json_is_null(value))
        return 0;
    dumped = doc_dump_sorted(value);
    return buffer_append_text(text, err, "%s\"%s\":%s",
                              text->data[text->size - 1] == '{' ? "" : ",", key, dumped);
}

/* A provider with labels is one JSON text in v2, in the order of Go's fields. */
static int provider_text(const json_t *provider, char **ret_text, struct error *err)
{
    static const char *const label_keys[] = {"name", "value", "version", "signing", "merge"};
    const json_t *labels = doc_member(provider, "labels");
    cleanup_buffer struct buffer text = {0};

    buffer_init(&text, PROVIDER_MAX_BYTES);
    if (buffer_append_text(&text, err, "{") < 0 ||
        append_member(&text, provider, "name", err) < 0 ||
        buffer_append_text(&text, err, ",\"labels\":[") < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(labels); i++) {
        if (buffer_append_text(&text, err, "%s{", i > 0 ? "," : "") < 0)
            return -1;
        for (size_t k = 0; k < array_length(label_keys); k++) {
            if (append_member(&text, json_array_get(labels, i), label_keys[k], err) < 0)
                return -1;
        }
        if (buffer_append_text(&text, err, "}") < 0)
            return -1;
    }
    if (buffer_append_text(&text, err, "]}") < 0)
        return -1;
    *ret_text = buffer_take(&text);
    return 0;
}

static int set_provider(json_t *component, const json_t *metadata, struct error *err)
{
    const json_t *provider = doc_member(metadata, "provider");
    const char *name = doc_text(provider, "name");
    cleanup_free char *text = NULL;

    if (!name || !*name)
        return error_set(err, ERROR_INVALID, "metadata.provider: a name is required");
    if (json_array_size(doc_member(provider, "labels")) == 0) {
        (void)json_object_set_new(component, "provider", json_string(name));
        return 0;
    }
    if (provider_text(provider, &text, err) < 0)
        return error_wrap(err, "metadata.provider");
    (void)json_object_set_new(component, "provider", json_string(text));
    return 0;
}

static void share(json_t *to, const char *to_key, const json_t *from, const char *from_key)
{
    const json_t *value = doc_member(from, from_key);

    if (value)
        (void)json_object_set(to, to_key, doc_writable(value));
}

static void share_list(json_t *to, const char *to_key, const json_t *from, const char *from_key)
{
    (void)json_object_set_new(to, to_key, json_null());
    share(to, to_key, from, from_key);
}

int descriptor_from_v3(const json_t *doc, json_t **ret_doc, struct error *err)
{
    static const char *const metadata_keys[] = {"name",   "version",      "provider",
                                                "labels", "creationTime", NULL};
    static const char *const spec_keys[] = {"sources", "references", "resources", NULL};
    const json_t *metadata = doc_member(doc, "metadata");
    const json_t *spec = doc_member(doc, "spec");
    cleanup_json json_t *v2 = json_object();
    json_t *component = json_object();

    (void)json_object_set_new(v2, "component", component);
    if (strcmp(doc_text_or(doc, "kind", ""), "ComponentVersion") != 0)
        return error_set(err, ERROR_INVALID, "kind: expected \"ComponentVersion\"");
    if (only_keys(metadata, "metadata", metadata_keys, err) < 0 ||
        (spec && only_keys(spec, "spec", spec_keys, err) < 0) ||
        set_provider(component, metadata, err) < 0)
        return -1;
    share(component, "name", metadata, "name");
    share(component, "version", metadata, "version");
    share(component, "labels", metadata, "labels");
    share(component, "creationTime", metadata, "creationTime");
    share_list(component, "repositoryContexts", doc, "repositoryContexts");
    share_list(component, "sources", spec, "sources");
    share_list(component, "componentReferences", spec, "references");
    share_list(component, "resources", spec, "resources");
    share(v2, "signatures", doc, "signatures");
    return descriptor_from_v2(v2, ret_doc, err);
}
