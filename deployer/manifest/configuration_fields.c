/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that several parts of a provider configuration have in common. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "deployer/manifest/configuration_parts.h"
#include "deployer/validation/validate.h"

const char *const CONFIG_REFERENCE_FIELDS[] = {"apiVersion", "kind", "name", "namespace", NULL};

void config_each(const struct fields *parent, const char *key, const char *const *known,
                 config_element_fn *each, void *data)
{
    const json_t *list = field_array(parent, key);
    cleanup_free char *path = field_path(parent, key);

    if (json_array_size(list) > MANIFEST_LIST_MAX) {
        mistakes_add(parent->mistakes, MISTAKE_TOO_LONG, path,
                     "must not have more than %d elements", MANIFEST_LIST_MAX);
        return;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        cleanup_free char *where = path_index(path, i);
        const struct fields fields = {json_array_get(list, i), where, parent->mistakes};

        if (!json_is_object(fields.object)) {
            mistakes_add_type(parent->mistakes, where, "an object", fields.object);
            continue;
        }
        mistakes_add_unknown(parent->mistakes, where, fields.object, known);
        each(&fields, data);
    }
}

struct fields config_section(const struct fields *parent, const char *key, const char *const *known,
                             char **ret_path)
{
    struct fields fields = {field_object(parent, key), NULL, parent->mistakes};

    fields.path = *ret_path = field_path(parent, key);
    if (fields.object)
        mistakes_add_unknown(parent->mistakes, fields.path, fields.object, known);
    return fields;
}

void config_warn_unused(const struct fields *fields, const char *key, const char *why)
{
    cleanup_free char *path = NULL;

    if (!field_any(fields, key))
        return;
    path = field_path(fields, key);
    mistakes_add(fields->mistakes, MISTAKE_UNKNOWN, path, "has no effect: %s", why);
}

char *config_required(const struct fields *fields, const char *key, const char *what)
{
    const char *text = field_text(fields, key);
    cleanup_free char *path = NULL;

    if (text && *text)
        return xstrdup(text);
    if (!text && field_any(fields, key))
        return NULL; /* wrong type, already reported */
    path = field_path(fields, key);
    mistakes_add(fields->mistakes, MISTAKE_REQUIRED, path, "%s", what);
    return NULL;
}

struct object_ref config_reference(const struct fields *fields)
{
    return (struct object_ref){
        .api_version = config_required(fields, "apiVersion", "apiVersion of the object"),
        .kind = config_required(fields, "kind", "kind of the object"),
        .name = config_required(fields, "name", "name of the object"),
        .namespace_name = field_text_copy(fields, "namespace", NULL),
    };
}

struct jsonpath *config_path(const struct fields *fields, const char *key, char **ret_text)
{
    cleanup_free char *text = config_required(fields, key, "JSONPath of the value");
    struct jsonpath *path = NULL;
    struct error err = {0};

    if (text && jsonpath_parse(text, &path, &err) < 0) {
        cleanup_free char *where = field_path(fields, key);

        mistakes_add(fields->mistakes, MISTAKE_INVALID, where, "%s", err.text);
    }
    if (ret_text)
        *ret_text = steal(&text);
    return path;
}

char *config_target_name(const struct fields *fields)
{
    const char *name = field_text(fields, "targetName");
    cleanup_free char *path = NULL;

    if (!name)
        return NULL;
    path = field_path(fields, "targetName");
    if (!*name)
        mistakes_add(fields->mistakes, MISTAKE_INVALID, path,
                     "\"\": must be the name of a Target; leave the field out for the item's own");
    else
        validate_name(name, path, fields->mistakes);
    return xstrdup(name);
}

char **config_names(const struct fields *fields, const char *key)
{
    cleanup_json json_t *list = field_text_list(fields, key);
    size_t count = json_array_size(list);
    char **names = NULL;

    if (count == 0)
        return NULL;
    names = xcalloc(count + 1, sizeof(*names));
    for (size_t i = 0; i < count; i++)
        names[i] = xstrdup(json_string_value(json_array_get(list, i)));
    return names;
}

const json_t *config_labels(const struct fields *fields, const char *key)
{
    const json_t *labels = field_object(fields, key);
    cleanup_free char *path = field_path(fields, key);

    if (labels)
        validate_node_selector(labels, path, fields->mistakes);
    return labels;
}
