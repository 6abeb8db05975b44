/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/export.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/file.h"
#include "common/data/doc.h"

/* The next character that is not white space, or 0. */
static char next_visible(const char *text, size_t size, size_t *at)
{
    while (*at < size && strchr(" \t\r\n", text[*at]))
        (*at)++;
    return *at < size ? text[(*at)++] : '\0';
}

/* JSON may be indented with tabs, which YAML forbids, and the JSON parser has better messages. */
static bool looks_like_json(const char *text, size_t size)
{
    size_t at = 0;
    char first = next_visible(text, size, &at);
    char second = next_visible(text, size, &at);

    return first == '{' && (second == '"' || second == '}');
}

static int parse(const char *text, size_t size, json_t **ret_doc, struct error *err)
{
    struct error json_err = {0};

    if (!looks_like_json(text, size))
        return doc_parse_yaml(text, size, EXPORT_MAX_BYTES, ret_doc, err);
    if (doc_parse_json(text, size, EXPORT_MAX_BYTES, ret_doc, &json_err) == 0)
        return 0;
    if (doc_parse_yaml(text, size, EXPORT_MAX_BYTES, ret_doc, err) == 0)
        return 0;
    *err = json_err;
    return -1;
}

int export_check(const char *text, size_t size, bool *ret_is_empty, struct error *err)
{
    cleanup_json json_t *doc = NULL;

    if (parse(text, size, &doc, err) < 0)
        return error_wrap(err, "neither JSON nor YAML");
    if (!json_is_object(doc) && !json_is_null(doc))
        return error_set(err, ERROR_INVALID,
                         "line 1, column 1: expected an object (key: value), got %s",
                         doc_type_name(doc));
    *ret_is_empty = json_is_null(doc);
    return 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int read_whole(const struct volume_place *place, struct buffer *bytes, struct error *err)
{
    struct stat before = {0};
    struct stat after = {0};
    cleanup_close int fd = beneath_open_file(place->root_fd, place->path, &before, err);

    if (fd < 0)
        return -1;
    /* Checked before reading: main can create a huge sparse file at no cost. */
    if (before.st_size > EXPORT_MAX_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "%lld bytes are more than the maximum of %d",
                         (long long)before.st_size, (int)EXPORT_MAX_BYTES);
    if (file_read_all(fd, "exports", bytes, err) < 0)
        return -1;
    if (fstat(fd, &after) < 0)
        return error_set_errno(err, errno, "stat");
    if (!is_same(&before, &after) || (off_t)bytes->size != before.st_size)
        return error_set(err, ERROR_CONFLICT, "changed while it was read");
    return 0;
}

int export_read(const struct volume_place *place, struct buffer *ret_bytes, struct error *err)
{
    bool is_empty = false;

    buffer_init(ret_bytes, EXPORT_MAX_BYTES);
    if (read_whole(place, ret_bytes, err) < 0 ||
        export_check(ret_bytes->data ? ret_bytes->data : "", ret_bytes->size, &is_empty, err) < 0) {
        buffer_done(ret_bytes);
        return err->kind == ERROR_NOT_FOUND ? -1 : error_wrap(err, "$" ENV_EXPORTS_PATH);
    }
    if (!is_empty)
        return 0;
    buffer_done(ret_bytes);
    return error_set(err, ERROR_NOT_FOUND, "$" ENV_EXPORTS_PATH ": the file is empty");
}
