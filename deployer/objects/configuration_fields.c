/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that several parts of a provider configuration have in common. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/objects/configuration_parts.h"

void config_each(const struct fields *parent, const char *key, config_element_fn *each, void *data)
{
    const json_t *list = field_array(parent, key);
    cleanup_free char *path = field_path(parent, key);

    for (size_t i = 0; i < json_array_size(list); i++) {
        cleanup_free char *where = path_index(path, i);
        const struct fields fields = {json_array_get(list, i), where, parent->mistakes};

        if (json_is_object(fields.object))
            each(&fields, data);
    }
}

struct fields config_section(const struct fields *parent, const char *key, char **ret_path)
{
    struct fields fields = {field_object(parent, key), NULL, parent->mistakes};

    fields.path = *ret_path = field_path(parent, key);
    return fields;
}

char *config_text(const struct fields *fields, const char *key)
{
    return field_text_copy(fields, key, NULL);
}

struct object_ref config_reference(const struct fields *fields)
{
    return (struct object_ref){
        .api_version = config_text(fields, "apiVersion"),
        .kind = config_text(fields, "kind"),
        .name = config_text(fields, "name"),
        .namespace_name = field_text_copy(fields, "namespace", NULL),
    };
}

struct jsonpath *config_path(const struct fields *fields, const char *key, char **ret_text)
{
    cleanup_free char *text = config_text(fields, key);
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
    return config_text(fields, "targetName");
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
