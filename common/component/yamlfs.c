/* SPDX-License-Identifier: Apache-2.0 */
#include "init/blueprint/yamlfs.h"

#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"

#define KEY_TYPE "$type"
#define BINARY_START "---Start Binary---"
#define BINARY_END "---End Binary---"

enum { LINKS_MAX = 40 };

int yamlfs_open(const json_t *value, json_t **ret_tree, struct error *err)
{
    cleanup_json json_t *tree = NULL;

    if (json_is_string(value)) {
        if (doc_parse_yaml(json_string_value(value), json_string_length(value),
                           YAMLFS_FILE_MAX_BYTES, &tree, err) < 0)
            return -1;
    } else if (value) {
        tree = json_incref(doc_writable(value));
    }
    if (!tree || json_is_null(tree)) {
        *ret_tree = json_object();
        return 0;
    }
    if (!json_is_object(tree))
        return error_set(err, ERROR_INVALID, "expected an object of file names");
    *ret_tree = json_incref(tree);
    return 0;
}

static const char *node_type(const json_t *node)
{
    return json_is_object(node) ? json_string_value(doc_member(node, KEY_TYPE)) : NULL;
}

static bool is_symlink(const json_t *node)
{
    const char *type = node_type(node);

    return type && strcmp(type, "symlink") == 0;
}

bool yamlfs_is_directory(const json_t *node)
{
    const char *type = node_type(node);

    return json_is_object(node) && (!type || strcmp(type, "directory") == 0);
}

const json_t *yamlfs_entries(const json_t *directory)
{
    return node_type(directory) ? doc_member(directory, "value") : directory;
}

/* ---- contents ---- */

/* A line without its surrounding blanks equals text; *ret_next is the line after. */
static bool is_line(const char *line, const char *text, const char **ret_next)
{
    const char *end = line + strcspn(line, "\n");

    *ret_next = *end ? end + 1 : end;
    line += strspn(line, " \t\r");
    while (end > line && strchr(" \t\r", end[-1]))
        end--;
    return (size_t)(end - line) == strlen(text) && strncmp(line, text, strlen(text)) == 0;
}

/* Bytes that are no text stand as base64 between two marker lines. */
static const char *find_binary(const char *text, size_t *ret_size)
{
    const char *start = text + strspn(text, " \t\r\n");
    const char *line = NULL;
    const char *next = NULL;

    if (!is_line(start, BINARY_START, &line))
        return NULL;
    start = line;
    while (*line) {
        if (is_line(line, BINARY_END, &next)) {
            *ret_size = (size_t)(line - start);
            return next[strspn(next, " \t\r\n")] == '\0' ? start : NULL;
        }
        line = next;
    }
    return NULL;
}

static int read_text(const json_t *text, struct buffer *ret_bytes, struct error *err)
{
    size_t size = 0;
    const char *binary = find_binary(json_string_value(text), &size);

    if (binary)
        return base64_decode(binary, size, ret_bytes, err);
    return buffer_append(ret_bytes, json_string_value(text), json_string_length(text), err);
}

static int append_and_free(struct buffer *ret_bytes, char *text, struct error *err)
{
    int result = buffer_append(ret_bytes, text, strlen(text), err);

    free(text);
    return result;
}

static int read_typed(const json_t *node, const char *type, struct buffer *ret_bytes,
                      struct error *err)
{
    const json_t *value = doc_member(node, "value");
    const json_t *binary = doc_member(node, "binary");

    if (strcmp(type, "json") == 0)
        return append_and_free(ret_bytes, doc_dump_sorted(value ? value : json_null()), err);
    if (strcmp(type, "yaml") == 0)
        return append_and_free(ret_bytes, doc_dump_yaml(value ? value : json_null()), err);
    if (!value && json_is_string(binary))
        return base64_decode(json_string_value(binary), json_string_length(binary), ret_bytes, err);
    if (!value)
        return 0;
    if (!json_is_string(value))
        return error_set(err, ERROR_INVALID, "value: expected a string");
    return read_text(value, ret_bytes, err);
}

int yamlfs_read(const json_t *node, struct buffer *ret_bytes, struct error *err)
{
    const char *type = node_type(node);

    if (json_is_string(node))
        return read_text(node, ret_bytes, err);
    if (json_is_null(node))
        return 0;
    if (type && !yamlfs_is_directory(node) && !is_symlink(node))
        return read_typed(node, type, ret_bytes, err);
    /* Go writes such values as the debug text of its printer; what was meant is the value. */
    if (json_is_number(node) || json_is_boolean(node))
        return append_and_free(ret_bytes, doc_dump(node), err);
    return error_set(err, ERROR_INVALID, "is no file");
}

/* ---- paths ---- */

/* A path as a list of entries from the root; "." and ".." are resolved, never above the root. */
static int find_from(const json_t *tree, const char *base, const char *path, unsigned links,
                     const json_t **ret_node, struct error *err);

static int step(const json_t *tree, const char *walked, const char *name, unsigned links,
                const json_t **node, struct error *err)
{
    const json_t *next = NULL;

    if (!yamlfs_is_directory(*node) || !(next = doc_member(yamlfs_entries(*node), name)))
        return error_set(err, ERROR_NOT_FOUND, "'%.200s/%.200s' is not there", walked, name);
    if (is_symlink(next)) {
        const char *target = json_string_value(doc_member(next, "value"));

        if (!target || !*target)
            return error_set(err, ERROR_INVALID, "'%.200s/%.200s' is a symlink to nothing", walked,
                             name);
        if (links == 0)
            return error_set(err, ERROR_INVALID, "'%.200s/%.200s' leads through too many symlinks",
                             walked, name);
        return find_from(tree, walked, target, links - 1, node, err);
    }
    *node = next;
    return 0;
}

/* base/path with "." and ".." taken out, always below the root. */
static char *join_path(const char *base, const char *path)
{
    cleanup_free char *joined = xasprintf("%s/%s", *path == '/' ? "" : base, path);
    char *clean = xcalloc(strlen(joined) + 2, 1);
    size_t used = 0;

    for (const char *at = joined; *(at += strspn(at, "/"));) {
        size_t length = strcspn(at, "/");

        if (length == 2 && strncmp(at, "..", 2) == 0) {
            while (used > 0 && clean[--used] != '/') {
            }
        } else if (!(length == 1 && *at == '.')) {
            clean[used++] = '/';
            memcpy(clean + used, at, length);
            used += length;
        }
        at += length;
    }
    clean[used] = '\0';
    return clean;
}

static int find_from(const json_t *tree, const char *base, const char *path, unsigned links,
                     const json_t **ret_node, struct error *err)
{
    cleanup_free char *clean = join_path(base, path);
    const json_t *node = tree;

    for (char *at = clean; *at;) {
        char *name = at + 1;
        char *end = name + strcspn(name, "/");
        char kept = *end;

        *at = '\0';
        *end = '\0';
        if (step(tree, clean, name, links, &node, err) < 0)
            return -1;
        *at = '/';
        *end = kept;
        at = end;
    }
    *ret_node = node;
    return 0;
}

int yamlfs_find(const json_t *tree, const char *path, const json_t **ret_node, struct error *err)
{
    return find_from(tree, "", path, LINKS_MAX, ret_node, err);
}

/* ---- writing ---- */

struct writing {
    const json_t *tree;
    struct yamlfs_counts counts;
};

static int write_directory(struct writing *writing, const json_t *entries, const char *path,
                           int directory_fd, unsigned depth, struct error *err);

static int write_file(struct writing *writing, const json_t *node, const char *name,
                      int directory_fd, struct error *err)
{
    cleanup_buffer struct buffer bytes = {0};

    buffer_init(&bytes, YAMLFS_FILE_MAX_BYTES);
    if (yamlfs_read(node, &bytes, err) < 0 ||
        beneath_write_file(directory_fd, name, bytes.data ? bytes.data : "", bytes.size, 0666,
                           err) < 0)
        return -1;
    writing->counts.files++;
    writing->counts.bytes += bytes.size;
    return 0;
}

static int write_node(struct writing *writing, const json_t *node, const char *name,
                      const char *path, int directory_fd, unsigned depth, struct error *err)
{
    cleanup_close int fd = -1;

    if (json_is_array(node)) {
        writing->counts.lists++;
        return 0;
    }
    if (is_symlink(node)) {
        if (yamlfs_find(writing->tree, path, &node, err) < 0)
            return -1;
        if (yamlfs_is_directory(node))
            return error_set(err, ERROR_INVALID, "is a symlink to a directory");
    }
    if (!yamlfs_is_directory(node))
        return write_file(writing, node, name, directory_fd, err);
    if (depth >= YAMLFS_DEPTH_MAX)
        return error_set(err, ERROR_TOO_LARGE, "more than %d directories deep", YAMLFS_DEPTH_MAX);
    fd = beneath_make_directories(directory_fd, name, err);
    if (fd < 0)
        return -1;
    return write_directory(writing, yamlfs_entries(node), path, fd, depth + 1, err);
}

static bool is_name(const char *name)
{
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

static int write_directory(struct writing *writing, const json_t *entries, const char *path,
                           int directory_fd, unsigned depth, struct error *err)
{
    const char *name = NULL;
    json_t *node = NULL;

    if (entries && !json_is_object(entries) && !json_is_null(entries))
        return error_set(err, ERROR_INVALID, "'%.300s': a directory's value must be an object",
                         path);
    doc_foreach(entries, name, node)
    {
        cleanup_free char *child = xasprintf("%s/%s", path, name);

        if (!is_name(name))
            return error_set(err, ERROR_INVALID, "'%.300s' is no file name", child);
        if (write_node(writing, node, name, child, directory_fd, depth, err) < 0) {
            /* Named once, by the innermost. */
            return yamlfs_is_directory(node) ? -1 : error_wrap(err, "'%.300s'", child + 1);
        }
    }
    return 0;
}

int yamlfs_write(const json_t *tree, int directory_fd, struct yamlfs_counts *ret_counts,
                 struct error *err)
{
    struct writing writing = {.tree = tree};

    if (!yamlfs_is_directory(tree))
        return error_set(err, ERROR_INVALID, "expected an object of file names");
    if (write_directory(&writing, yamlfs_entries(tree), "", directory_fd, 0, err) < 0)
        return -1;
    *ret_counts = writing.counts;
    return 0;
}
