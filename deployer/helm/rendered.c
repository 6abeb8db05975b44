/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/helm/rendered.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"

enum { FILE_BYTES_MAX = 16 * 1024 * 1024 };

void rendered_done(struct rendered *rendered)
{
    for (size_t i = 0; i < rendered->count; i++) {
        free(rendered->files[i].name);
        wipe_free(rendered->files[i].text);
    }
    free(rendered->files);
    free(rendered->chart);
    free(rendered->values);
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

static void replace(char **place, const char *text, size_t size)
{
    free(*place);
    *place = xstrndup(text, size);
}

void rendered_add(void *data, const char *name, const char *text, size_t size)
{
    struct rendered *rendered = data;
    const char *object_file = below(name, DIR_HELM_RENDERED);
    const char *chart_file = below(name, DIR_HELM_CHART);

    if (object_file) { /* also without a text: it is an error, which add_file() reports */
        rendered->files =
            xreallocarray(rendered->files, rendered->count + 1, sizeof(*rendered->files));
        rendered->files[rendered->count++] =
            (struct rendered_file){.name = xstrdup(object_file),
                                   .text = text ? xmemdup(text, size + 1) : NULL,
                                   .size = size};
    } else if (text && chart_file && strcmp(chart_file, FILE_CHART_METADATA) == 0) {
        replace(&rendered->chart, text, size);
    } else if (text && chart_file && strcmp(chart_file, FILE_CHART_VALUES) == 0) {
        replace(&rendered->values, text, size);
    }
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

json_t *helm_merge_values(const json_t *defaults, const json_t *values)
{
    json_t *merged = json_is_object(defaults) ? json_deep_copy(defaults) : json_object();
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(values, key, value)
    {
        const json_t *old = json_object_get(merged, key);

        if (json_is_null(value))
            (void)json_object_del(merged, key);
        else if (json_is_object(value) && json_is_object(old))
            (void)json_object_set_new(merged, key, helm_merge_values(old, value));
        else
            (void)json_object_set_new(merged, key, json_deep_copy(value));
    }
    return merged;
}

static int parse(const char *name, const char *text, json_t **ret_doc, struct error *err)
{
    if (!text)
        return 0;
    if (doc_parse_yaml(text, strlen(text), FILE_BYTES_MAX, ret_doc, err) < 0)
        return error_wrap(err, "%s of the chart", name);
    return 0;
}

json_t *helm_chart_fields(const json_t *object)
{
    json_t *copy = json_object();
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(object, key, value)
    {
        cleanup_free char *name = xstrdup(key);

        if (*name >= 'a' && *name <= 'z')
            *name = (char)(*name - 'a' + 'A');
        (void)json_object_set_new(copy, name, json_deep_copy(value));
    }
    return copy;
}

int rendered_values(const struct rendered *rendered, const struct helm_config *helm,
                    json_t **ret_values, struct error *err)
{
    cleanup_json json_t *chart = NULL;
    cleanup_json json_t *defaults = NULL;

    if (parse(FILE_CHART_METADATA, rendered->chart, &chart, err) < 0 ||
        parse(FILE_CHART_VALUES, rendered->values, &defaults, err) < 0)
        return -1;
    *ret_values =
        json_pack("{s:o,s:o,s:{s:s,s:s,s:s}}", "Values", helm_merge_values(defaults, helm->values),
                  "Chart", helm_chart_fields(chart), "Release", "Name", helm->release, "Namespace",
                  helm->namespace_name, "Service", "Helm");
    return 0;
}

int helm_value_exports(const struct manifest_config *config, const json_t *values,
                       json_t **ret_exports, struct error *err)
{
    cleanup_json json_t *exports = config->value_export_count > 0 ? json_object() : NULL;

    for (size_t i = 0; i < config->value_export_count; i++) {
        const struct value_export *export = &config->value_exports[i];
        cleanup_json json_t *found = NULL;

        if (jsonpath_find(export->path, values, JSONPATH_MISSING_IS_ERROR, &found, err) < 0)
            return error_set(err, ERROR_INVALID,
                             "export \"%s\": the values of the chart have nothing at %s",
                             export->key, export->path_text);
        if (json_array_size(found) != 1)
            return error_set(err, ERROR_INVALID, "export \"%s\": %s finds %zu values, not one",
                             export->key, export->path_text, json_array_size(found));
        export_place(exports, export->key, json_array_get(found, 0));
    }
    *ret_exports = steal(&exports);
    return 0;
}

int rendered_config(struct rendered *rendered, const json_t *document, const char *item_name,
                    struct manifest_config **ret_config, json_t **ret_exports, struct error *err)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_helm_config struct helm_config *helm = helm_config_read(document, &mistakes);
    cleanup_manifest_config struct manifest_config *config =
        manifest_config_for_chart(document, &mistakes);
    cleanup_json json_t *values = NULL;

    if (mistakes_fail(&mistakes, err) < 0 ||
        rendered_objects(rendered, helm, item_name, config, err) < 0 ||
        rendered_values(rendered, helm, &values, err) < 0 ||
        helm_value_exports(config, values, ret_exports, err) < 0)
        return -1;
    *ret_config = steal(&config);
    return 0;
}
