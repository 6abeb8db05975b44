/* SPDX-License-Identifier: Apache-2.0 */
/* Files, look-up by path, and setting by path. For parsing and writing see doc_parse.c, doc_json.c,
 * yaml.c and yaml_dump.c. */
#include "common/data/doc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/base/utf8.h"
#include "common/data/node_pool.h"

void doc_setup(void)
{
    json_set_alloc_funcs(node_take, node_give);
    json_object_seed(0);
}

int doc_read_file(const char *path, size_t max_bytes, struct buffer *ret_data, struct error *err)
{
    cleanup_buffer struct buffer data = {0};
    struct stat status = {0};
    /* O_NONBLOCK, so that opening a FIFO does not block. */
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0)
        return error_set_errno(err, errno, "open \"%s\"", path);
    if (fstat(fd, &status) < 0)
        return error_set_errno(err, errno, "stat \"%s\"", path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_INVALID, "\"%s\" is not a regular file", path);
    buffer_init(&data, max_bytes);
    /* So that data is not NULL for an empty file. */
    if (file_read_all(fd, path, &data, err) < 0 || buffer_append(&data, "", 0, err) < 0)
        return -1;
    buffer_done(ret_data);
    *ret_data = data;
    data = (struct buffer){0};
    return 0;
}

static size_t step_length(const char *path)
{
    return strcspn(path, ".");
}

const json_t *doc_get(const json_t *doc, const char *path)
{
    while (doc && *path) {
        size_t length = step_length(path);

        doc = json_object_getn(doc, path, length);
        path += length + (path[length] == '.');
    }
    return doc;
}

const json_t *doc_member(const json_t *doc, const char *key)
{
    return json_object_get(doc, key);
}

const char *doc_text(const json_t *doc, const char *path)
{
    return json_string_value(doc_get(doc, path));
}

const char *doc_text_or(const json_t *doc, const char *path, const char *fallback)
{
    const char *text = doc_text(doc, path);

    return text ? text : fallback;
}

/* Whole numbers may also be written as 3.0 or 3e2. */
static bool read_integer(const json_t *value, int64_t *ret)
{
    const double exact_max = 9007199254740992.0; /* 2^53: larger doubles are not exact */
    double real = json_real_value(value);

    if (json_is_integer(value)) {
        *ret = json_integer_value(value);
        return true;
    }
    if (!json_is_real(value) || !(real >= -exact_max && real <= exact_max) ||
        (double)(int64_t)real != real)
        return false;
    *ret = (int64_t)real;
    return true;
}

int64_t doc_integer_or(const json_t *doc, const char *path, int64_t fallback)
{
    int64_t value = 0;

    return read_integer(doc_get(doc, path), &value) ? value : fallback;
}

bool doc_bool_or(const json_t *doc, const char *path, bool fallback)
{
    const json_t *value = doc_get(doc, path);

    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

const char *doc_type_name(const json_t *value)
{
    if (!value)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        return "null";
    }
    return "nothing";
}

/* *ret_value is NULL if the value is missing or null. */
static int find(const json_t *doc, const char *path, const json_t **ret_value, struct error *err)
{
    static const char root[] = "document";
    const char *at = path;

    while (doc && !json_is_null(doc) && *at) {
        size_t length = step_length(at);

        if (!json_is_object(doc))
            return error_set(err, ERROR_INVALID, "%.*s: expected an object, got %s",
                             at == path ? (int)strlen(root) : (int)(at - path - 1),
                             at == path ? root : path, doc_type_name(doc));
        doc = json_object_getn(doc, at, length);
        at += length + (at[length] == '.');
    }
    *ret_value = json_is_null(doc) ? NULL : doc;
    return 0;
}

static int expected(struct error *err, const char *path, const char *what, const json_t *value)
{
    return error_set(err, ERROR_INVALID, "%s: expected %s, got %s", path, what,
                     doc_type_name(value));
}

int doc_want_text(const json_t *doc, const char *path, const char **ret_text, struct error *err)
{
    const json_t *value = NULL;

    if (find(doc, path, &value, err) < 0)
        return -1;
    if (value && !json_is_string(value))
        return expected(err, path, "a string", value);
    if (value)
        *ret_text = json_string_value(value);
    return 0;
}

int doc_want_text_required(const json_t *doc, const char *path, const char **ret_text,
                           struct error *err)
{
    const char *text = NULL;

    if (doc_want_text(doc, path, &text, err) < 0)
        return -1;
    if (!text)
        return error_set(err, ERROR_INVALID, "%s: expected a string, but it is missing", path);
    *ret_text = text;
    return 0;
}

int doc_want_integer(const json_t *doc, const char *path, int64_t *ret, struct error *err)
{
    const json_t *value = NULL;

    if (find(doc, path, &value, err) < 0)
        return -1;
    if (value && !read_integer(value, ret))
        return expected(err, path, "a whole number", value);
    return 0;
}

int doc_want_object(const json_t *doc, const char *path, const json_t **ret, struct error *err)
{
    const json_t *value = NULL;

    if (find(doc, path, &value, err) < 0)
        return -1;
    if (value && !json_is_object(value))
        return expected(err, path, "an object", value);
    if (value)
        *ret = value;
    return 0;
}

int doc_want_array(const json_t *doc, const char *path, const json_t **ret, struct error *err)
{
    const json_t *value = NULL;

    if (find(doc, path, &value, err) < 0)
        return -1;
    if (value && !json_is_array(value))
        return expected(err, path, "a list", value);
    if (value)
        *ret = value;
    return 0;
}

void doc_set_new(json_t *doc, const char *path, json_t *value)
{
    for (;;) {
        size_t length = step_length(path);
        json_t *next = NULL;

        if (path[length] != '.') {
            (void)json_object_setn_new_nocheck(doc, path, length, value);
            return;
        }
        next = json_object_getn(doc, path, length);
        if (!json_is_object(next)) {
            next = json_object();
            (void)json_object_setn_new_nocheck(doc, path, length, next);
        }
        doc = next;
        path += length + 1;
    }
}

json_t *doc_new_string(const char *bytes, size_t size)
{
    cleanup_free char *repaired = NULL;
    json_t *value = NULL;

    if (size == 0)
        return json_string("");
    if (!memchr(bytes, '\0', size))
        value = json_stringn(bytes, size);
    if (value)
        return value;
    repaired = utf8_repair(bytes, size);
    return json_stringn_nocheck(repaired, strlen(repaired));
}

json_t *doc_new_text(const char *text)
{
    return doc_new_string(text, strlen(text));
}

void doc_set_text(json_t *doc, const char *path, const char *text)
{
    doc_set_new(doc, path, doc_new_text(text));
}
