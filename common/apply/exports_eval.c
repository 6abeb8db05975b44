/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/exports_eval.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/names.h"

void export_rule_done(struct export_rule *rule)
{
    free(rule->key);
    free(rule->path_text);
    jsonpath_free(rule->path);
    object_ref_done(&rule->from);
    free(rule->reference_api_version);
    free(rule->reference_kind);
    free(rule->reference_path_text);
    jsonpath_free(rule->reference_path);
    free(rule->target_name);
    *rule = (struct export_rule){0};
}

/* ---- Keys ---- */

/* Reads the next name of a key; *at is then behind it. Returns its length, without escapes. */
static size_t next_name(const char **at, char *ret_name)
{
    size_t length = 0;

    for (; **at && **at != '.'; (*at)++) {
        if (**at == '\\' && (*at)[1])
            (*at)++;
        if (ret_name)
            ret_name[length] = **at;
        length++;
    }
    if (ret_name)
        ret_name[length] = '\0';
    return length;
}

int export_key_check(const char *key, struct error *err)
{
    cleanup_json json_t *text = json_string(key);
    const char *at = key + (key[0] == '.');

    if (!text)
        return error_set(err, ERROR_INVALID, "invalid key of an export: not UTF-8");
    for (size_t count = 1;; at++, count++) {
        if (next_name(&at, NULL) == 0)
            return error_set(
                err, ERROR_INVALID,
                "invalid key \"%.100s\" of an export: expected names separated by dots", key);
        if (count > EXPORT_KEY_NAMES_MAX)
            return error_set(err, ERROR_INVALID,
                             "invalid key \"%.100s\" of an export: more than %d names", key,
                             EXPORT_KEY_NAMES_MAX);
        if (!*at)
            return 0;
    }
}

void export_place(json_t *values, const char *key, const json_t *value)
{
    cleanup_free char *name = xmalloc(strlen(key) + 1);
    cleanup_json json_t *root = json_object();
    const char *at = key + (key[0] == '.');
    json_t *parent = root;

    for (;; at++) {
        json_t *child = NULL;

        (void)next_name(&at, name);
        child = *at ? json_object() : json_deep_copy(value);
        (void)json_object_set_new(parent, name, child);
        if (!*at)
            break;
        parent = child;
    }
    (void)json_object_update_recursive(values, root);
}

const json_t *export_value_at(const json_t *values, const char *key)
{
    cleanup_free char *name = xmalloc(strlen(key) + 1);
    const char *at = key + (key[0] == '.');

    for (;; at++) {
        (void)next_name(&at, name);
        values = json_object_get(values, name);
        if (!*at || !values)
            return values;
    }
}

/* ---- Values ---- */

int export_find(const struct jsonpath *path, const char *path_text, const json_t *object,
                json_t **ret_value, struct error *err)
{
    const char *text = path_text ? path_text : "path";
    cleanup_json json_t *found = NULL;

    if (jsonpath_find(path, object, JSONPATH_MISSING_IS_ERROR, &found, err) < 0)
        return error_wrap(err, "%s", text);
    if (json_array_size(found) > 1)
        return error_set(err, ERROR_INVALID,
                         "%s: found %zu values, but an export is one: use an index or a narrower "
                         "filter",
                         text, json_array_size(found));
    *ret_value = json_incref(json_array_get(found, 0));
    return 0;
}

int export_parse_reference(const struct export_rule *rule, const json_t *value,
                           struct object_ref *ret_ref, struct error *err)
{
    const char *text = rule->path_text ? rule->path_text : "path";
    const char *namespace_name = rule->from.namespace_name;
    const char *name = NULL;

    if (!json_is_object(value))
        return error_set(err, ERROR_INVALID,
                         "%s: expected an object with name and namespace, got %s", text,
                         doc_type_name(value));
    if (doc_want_text_required(value, "name", &name, err) < 0 ||
        doc_want_text(value, "namespace", &namespace_name, err) < 0)
        return error_wrap(err, "%s", text);
    *ret_ref = (struct object_ref){
        .api_version = xstrdup(rule->reference_api_version),
        .kind = xstrdup(rule->reference_kind),
        .namespace_name = namespace_name && namespace_name[0] ? xstrdup(namespace_name) : NULL,
        .name = xstrdup(name),
    };
    return 0;
}

bool export_is_public(const struct export_rule *rule, const struct object_ref *reference)
{
    return strcmp(rule->from.kind, "Secret") != 0 && name_is_dns_subdomain(reference->name) &&
           (!reference->namespace_name || name_is_dns_subdomain(reference->namespace_name));
}

const json_t *export_find_seen(const struct exports_options *options, const struct object_ref *ref)
{
    for (size_t i = 0; options->seen && i < options->seen_count; i++) {
        const json_t *object = options->seen[i];
        struct object_ref found = object_ref_of(object);
        bool is_same = object_ref_is_same_name(&found, ref) &&
                       strcmp(found.api_version, ref->api_version) == 0;

        object_ref_done(&found);
        if (object && is_same)
            return json_object_size(doc_member(object, "status")) == 0 ? object : NULL;
    }
    return NULL;
}
