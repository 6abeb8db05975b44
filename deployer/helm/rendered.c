/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/helm/rendered.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "deployer/helm/values.h"

enum { FILE_BYTES_MAX = 16 * 1024 * 1024 };

void rendered_done(struct rendered *rendered)
{
    for (size_t i = 0; i < rendered->count; i++) {
        free(rendered->files[i].name);
        wipe_free(rendered->files[i].text);
    }
    free(rendered->files);
    wipe_free(rendered->seen);
    *rendered = (struct rendered){0};
}

/* ---- Files ---- */

/* The rest of a name below a directory of the state, or NULL. */
static const char *below(const char *name, const char *directory)
{
    size_t length = strlen(directory);

    while (strncmp(name, "./", 2) == 0)
        name += 2;
    return strncmp(name, directory, length) == 0 && name[length] == '/' ? name + length + 1 : NULL;
}

/* Whether this is what the template of init rendered: below the directory of the chart. */
static bool is_seen(const char *object_file)
{
    const char *slash = strchr(object_file, '/');

    return slash && strcmp(slash + 1, FILE_HELM_SEEN) == 0;
}

void rendered_add(void *data, const char *name, const char *text, size_t size)
{
    struct rendered *rendered = data;
    const char *object_file = below(name, DIR_HELM_RENDERED);

    if (!object_file)
        return;
    if (text && is_seen(object_file)) {
        wipe_free(rendered->seen);
        rendered->seen = xstrndup(text, size);
        return;
    }
    /* Also without a text: it is an error, which add_file() reports. */
    rendered->files = xreallocarray(rendered->files, rendered->count + 1, sizeof(*rendered->files));
    rendered->files[rendered->count++] = (struct rendered_file){
        .name = xstrdup(object_file), .text = text ? xmemdup(text, size + 1) : NULL, .size = size};
}

/* The order of the archive is that of directories; errors should not depend on it. */
static int compare_files(const void *a, const void *b)
{
    const struct rendered_file *first = a, *second = b;

    return strcmp(first->name, second->name);
}

/* ---- Objects ---- */

/* Whether this is a list object, as the plan expands it. */
static bool is_list(const json_t *object)
{
    const char *kind = doc_text_or(object, "kind", "");
    size_t length = strlen(kind);

    return json_is_array(doc_member(object, "items")) &&
           (length == 0 || (length >= 4 && strcmp(kind + length - 4, "List") == 0));
}

static void complete(json_t *object, const struct helm_config *helm, const char *label)
{
    json_t *metadata = json_object_get(object, "metadata");
    json_t *labels = NULL;

    if (!json_is_object(metadata))
        return; /* the plan reports it */
    /* That of an object without a namespace is dropped by the plan. */
    if (!*doc_text_or(metadata, "namespace", ""))
        (void)json_object_set_new(metadata, "namespace", json_string(helm->namespace_name));
    labels = json_object_get(metadata, "labels");
    if (!labels || json_is_null(labels)) {
        (void)json_object_set_new(metadata, "labels", json_object());
        labels = json_object_get(metadata, "labels");
    }
    if (json_is_object(labels))
        (void)json_object_set_new(labels, LABEL_HELM_ITEM, json_string(label));
}

static void add_document(json_t *document, const char *source, const struct helm_config *helm,
                         const char *label, struct manifest_config *config)
{
    json_t *items = is_list(document) ? json_object_get(document, "items") : NULL;

    for (size_t i = 0; i < json_array_size(items); i++)
        complete(json_array_get(items, i), helm, label);
    if (!items)
        complete(document, helm, label);
    manifest_config_add(config, json_incref(document), POLICY_MANAGE, source);
}

static int add_file(const struct rendered_file *file, const struct helm_config *helm,
                    const char *label, struct manifest_config *config, struct error *err)
{
    cleanup_json json_t *documents = NULL;
    size_t count = 0;

    if (!file->text)
        return error_set(err, ERROR_INVALID,
                         "rendered file \"%s\" has a NUL byte, so it is not YAML: remove the byte "
                         "from the chart's file or template",
                         file->name);
    if (doc_parse_yaml_stream(file->text, file->size, FILE_BYTES_MAX, &documents, err) < 0)
        return error_wrap(err, "rendered file \"%s\"", file->name);
    count = json_array_size(documents);
    for (size_t i = 0; i < count; i++) {
        json_t *document = json_array_get(documents, i);
        cleanup_free char *source =
            count > 1 ? xasprintf("%s (document %zu)", file->name, i + 1) : xstrdup(file->name);

        if (!json_is_object(document))
            return error_set(err, ERROR_INVALID,
                             "rendered file \"%s\": document %zu is not an object, but %s",
                             file->name, i + 1, doc_type_name(document));
        add_document(document, source, helm, label, config);
    }
    return 0;
}

static json_t *namespace_object(const char *name)
{
    return json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
                     "name", name);
}

int rendered_objects(struct rendered *rendered, const struct helm_config *helm,
                     const char *item_name, struct manifest_config *config, struct error *err)
{
    cleanup_free char *label = name_label_value(item_name);

    if (rendered->count > 1)
        qsort(rendered->files, rendered->count, sizeof(*rendered->files), compare_files);
    if (helm->is_namespace_created)
        manifest_config_add(config, namespace_object(helm->namespace_name), POLICY_KEEP,
                            "createNamespace");
    for (size_t i = 0; i < rendered->count; i++) {
        if (add_file(&rendered->files[i], helm, label, config, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- Values ---- */

static int fail_seen(struct error *err)
{
    return error_set(err, ERROR_INVALID,
                     "helm did not render the values of the chart, which are needed for exports");
}

int rendered_values(const struct rendered *rendered, json_t **ret_seen, struct error *err)
{
    const char *text = rendered->seen ? rendered->seen : "";
    cleanup_buffer struct buffer bytes = {0};
    cleanup_json json_t *document = NULL;
    cleanup_json json_t *seen = NULL;
    const char *encoded = NULL;
    json_t *chart = NULL;

    buffer_init(&bytes, FILE_BYTES_MAX);
    if (doc_parse_yaml(text, strlen(text), FILE_BYTES_MAX, &document, err) < 0)
        return fail_seen(err);
    encoded = doc_text_or(document, MEMBER_HELM_SEEN, "");
    if (base64_decode(encoded, strlen(encoded), &bytes, err) < 0 ||
        doc_parse_json(bytes.data ? bytes.data : "", bytes.size, FILE_BYTES_MAX, &seen, err) < 0 ||
        !json_is_object(seen))
        return fail_seen(err);
    chart = helm_chart_fields(json_object_get(seen, "Chart"));
    (void)json_object_set_new(seen, "Chart", chart);
    *ret_seen = steal(&seen);
    return 0;
}

/* The exports from values: NULL if there are none. */
static int read_exports(const struct rendered *rendered, const struct manifest_config *config,
                        json_t **ret_exports, struct error *err)
{
    cleanup_json json_t *seen = NULL;

    if (config->value_export_count == 0)
        return 0;
    if (rendered_values(rendered, &seen, err) < 0)
        return -1;
    return helm_value_exports(config, seen, ret_exports, err);
}

int rendered_config(struct rendered *rendered, const json_t *document, const char *item_name,
                    struct manifest_config **ret_config, json_t **ret_exports, struct error *err)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_helm_config struct helm_config *helm = helm_config_read(document, &mistakes);
    cleanup_manifest_config struct manifest_config *config =
        manifest_config_for_chart(document, &mistakes);

    if (mistakes_fail(&mistakes, err) < 0 ||
        rendered_objects(rendered, helm, item_name, config, err) < 0 ||
        read_exports(rendered, config, ret_exports, err) < 0)
        return -1;
    *ret_config = steal(&config);
    return 0;
}
