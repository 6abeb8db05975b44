/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/helm/values.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

#define KEY_GLOBAL "global"

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

/* ---- Merging ---- */

static json_t *merge(const json_t *defaults, const json_t *values)
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
            (void)json_object_set_new(merged, key, merge(old, value));
        else
            (void)json_object_set_new(merged, key, json_deep_copy(value));
    }
    return merged;
}

/* The defaults of a subchart, with what the chart overrides: a null has removed a default. */
static void drop_nulls(json_t *table)
{
    const char *key = NULL;
    json_t *value = NULL;
    void *next = NULL;

    json_object_foreach_safe(table, next, key, value)
    {
        if (json_is_null(value))
            (void)json_object_del(table, key);
        else if (json_is_object(value))
            drop_nulls(value);
    }
}

/* Only helm knows the subcharts of a subchart. It has given each of them a "global". */
static void pass_globals_down(json_t *subchart, const json_t *global)
{
    json_t *own = json_object_get(subchart, KEY_GLOBAL);
    json_t *merged = merge(own, global);
    const char *key = NULL;
    json_t *value = NULL;

    (void)json_object_set_new(subchart, KEY_GLOBAL, merged);
    doc_foreach(subchart, key, value)
    {
        if (strcmp(key, KEY_GLOBAL) != 0 && json_is_object(json_object_get(value, KEY_GLOBAL)))
            pass_globals_down(value, merged);
    }
}

json_t *helm_merge_values(const json_t *defaults, const json_t *values, const json_t *subcharts)
{
    json_t *merged = merge(defaults, values);
    const json_t *global = json_object_get(merged, KEY_GLOBAL);

    for (size_t i = 0; i < json_array_size(subcharts); i++) {
        const char *name = doc_text_or(json_array_get(subcharts, i), "name", "");
        json_t *subchart = json_object_get(merged, name);

        drop_nulls(subchart);
        if (json_is_object(subchart) && json_is_object(global))
            pass_globals_down(subchart, global);
    }
    return merged;
}

/* ---- Exports ---- */

int helm_value_exports(const struct manifest_config *config, const json_t *seen,
                       json_t **ret_exports, struct error *err)
{
    cleanup_json json_t *exports = config->value_export_count > 0 ? json_object() : NULL;

    for (size_t i = 0; i < config->value_export_count; i++) {
        const struct value_export *export = &config->value_exports[i];
        cleanup_json json_t *found = NULL;

        if (jsonpath_find(export->path, seen, JSONPATH_MISSING_IS_ERROR, &found, err) < 0)
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
