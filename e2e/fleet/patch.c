/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/patch.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"

json_t *patch_merge(const json_t *target, const json_t *patch)
{
    json_t *result = NULL;
    const char *key = NULL;
    json_t *value = NULL;

    if (!json_is_object(patch))
        return json_deep_copy(patch);
    result = json_is_object(target) ? json_copy(doc_writable(target)) : json_object();
    doc_foreach(patch, key, value)
    {
        if (json_is_null(value))
            (void)json_object_del(result, key);
        else
            (void)json_object_set_new(result, key, patch_merge(doc_member(target, key), value));
    }
    return result;
}

void patch_drop_nulls(json_t *value)
{
    const char *key = NULL;
    json_t *member = NULL;
    void *next = NULL;

    for (size_t i = 0; i < json_array_size(value); i++)
        patch_drop_nulls(json_array_get(value, i));
    json_object_foreach_safe(value, next, key, member)
    {
        if (json_is_null(member))
            (void)json_object_del(value, key);
        else
            patch_drop_nulls(member);
    }
}

/* Replaces ~1 and ~0 in place. */
static void unescape(char *token)
{
    char *out = token;

    for (const char *at = token; *at; at++) {
        if (*at == '~' && (at[1] == '0' || at[1] == '1'))
            *out++ = *++at == '1' ? '/' : '~';
        else
            *out++ = *at;
    }
    *out = '\0';
}

static json_t *child_of(json_t *value, const char *token)
{
    uint64_t index = 0;

    if (json_is_object(value))
        return json_object_get(value, token);
    return number_parse(token, SIZE_MAX, &index) ? json_array_get(value, (size_t)index) : NULL;
}

/* The value that contains the place of the path, and the last token of the path, which belongs to
 * the caller. The path is not "". */
static int find_parent(json_t *root, const char *path, json_t **ret_parent, char **ret_token,
                       struct error *err)
{
    cleanup_free char *copy = xstrdup(path);
    char *rest = copy + 1;
    char *token = NULL;

    if (path[0] != '/')
        return error_set(err, ERROR_INVALID, "invalid JSON pointer \"%s\"", path);
    while ((token = strsep(&rest, "/"))) {
        unescape(token);
        if (!rest) {
            *ret_parent = root;
            *ret_token = xstrdup(token);
            return 0;
        }
        root = child_of(root, token);
        if (!root)
            break;
    }
    return error_set(err, ERROR_INVALID, "path \"%s\" does not exist", path);
}

/* Takes value over. */
static int put(json_t *root, const char *path, json_t *value, bool is_replacing, struct error *err)
{
    cleanup_free char *token = NULL;
    json_t *parent = NULL;
    uint64_t index = 0;
    int result = -1;

    if (find_parent(root, path, &parent, &token, err) < 0) {
        json_decref(value);
        return -1;
    }
    if (is_replacing && !child_of(parent, token))
        json_decref(value);
    else if (json_is_object(parent))
        result = json_object_set_new(parent, token, value);
    else if (json_is_array(parent) && strcmp(token, "-") == 0)
        result = json_array_append_new(parent, value);
    else if (json_is_array(parent) && number_parse(token, json_array_size(parent), &index))
        result = is_replacing ? json_array_set_new(parent, (size_t)index, value)
                              : json_array_insert_new(parent, (size_t)index, value);
    else
        json_decref(value);
    return result == 0 ? 0 : error_set(err, ERROR_INVALID, "path \"%s\" does not exist", path);
}

/* *ret_value is a new reference. */
static int take(json_t *root, const char *path, bool is_removing, json_t **ret_value,
                struct error *err)
{
    cleanup_free char *token = NULL;
    json_t *parent = NULL, *value = NULL;
    uint64_t index = 0;

    if (find_parent(root, path, &parent, &token, err) < 0)
        return -1;
    value = child_of(parent, token);
    if (!value)
        return error_set(err, ERROR_INVALID, "path \"%s\" does not exist", path);
    *ret_value = json_deep_copy(value);
    if (is_removing && json_is_object(parent))
        (void)json_object_del(parent, token);
    else if (is_removing && number_parse(token, SIZE_MAX, &index))
        (void)json_array_remove(parent, (size_t)index);
    return 0;
}

static int operate(json_t *root, const json_t *operation, struct error *err)
{
    const char *name = doc_text_or(operation, "op", "");
    const char *path = doc_text_or(operation, "path", "");
    const json_t *value = doc_member(operation, "value");
    bool is_move = strcmp(name, "move") == 0;
    cleanup_json json_t *taken = NULL;

    if (strcmp(name, "add") == 0 || strcmp(name, "replace") == 0)
        return put(root, path, value ? json_deep_copy(value) : json_null(), name[0] == 'r', err);
    if (strcmp(name, "remove") == 0)
        return take(root, path, true, &taken, err);
    if (is_move || strcmp(name, "copy") == 0) {
        if (take(root, doc_text_or(operation, "from", ""), is_move, &taken, err) < 0)
            return -1;
        return put(root, path, steal(&taken), false, err);
    }
    if (strcmp(name, "test") != 0)
        return error_set(err, ERROR_INVALID, "unknown operation \"%s\"", name);
    if (take(root, path, false, &taken, err) < 0)
        return -1;
    return json_equal(taken, doc_writable(value))
               ? 0
               : error_set(err, ERROR_INVALID, "test of path \"%s\" failed", path);
}

int patch_json(const json_t *target, const json_t *operations, json_t **ret_result,
               struct error *err)
{
    cleanup_json json_t *result = json_deep_copy(target);

    if (!json_is_array(operations))
        return error_set(err, ERROR_INVALID, "a JSON patch must be a list");
    for (size_t i = 0; i < json_array_size(operations); i++) {
        if (operate(result, json_array_get(operations, i), err) < 0)
            return -1;
    }
    *ret_result = steal(&result);
    return 0;
}
