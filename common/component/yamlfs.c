/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/yamlfs.h"

#include <inttypes.h>
#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"

#define KEY_TYPE "$type"
#define BINARY_START "---Start Binary---"
#define BINARY_END "---End Binary---"

/* For one lookup in all, as in the kernel: a limit on their depth alone would allow 2^40. */
enum { SYMLINKS_MAX = 40 };

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
        return error_set(err, ERROR_INVALID, "expected an object that maps file names to content");
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

/* Whether a line equals text, leading and trailing blanks aside. *ret_next is the next line. */
static bool is_line(const char *line, const char *text, const char **ret_next)
{
    const char *end = line + strcspn(line, "\n");

    *ret_next = *end ? end + 1 : end;
    line += strspn(line, " \t\r");
    while (end > line && strchr(" \t\r", end[-1]))
        end--;
    return (size_t)(end - line) == strlen(text) && strncmp(line, text, strlen(text)) == 0;
}

/* Binary content is base64 between two marker lines, with nothing else around it. Returns NULL for
 * content that is plain text. */
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
    /* Go writes the debug output of fmt.Printf here, which no program can use. */
    if (json_is_number(node) || json_is_boolean(node))
        return append_and_free(ret_bytes, doc_dump(node), err);
    return error_set(err, ERROR_INVALID, "not a file");
}

/* ---- paths ---- */

struct search {
    const json_t *tree;
    unsigned symlinks; /* followed so far */
};

static int find_from(struct search *search, const char *base, const char *path,
                     const json_t **ret_node, struct error *err);

/* From the directory *node, which has the path walked, to its entry of this name. */
static int step(struct search *search, const char *walked, const char *name, const json_t **node,
                struct error *err)
{
    const json_t *next = NULL;

    if (!yamlfs_is_directory(*node) || !(next = doc_member(yamlfs_entries(*node), name)))
        return error_set(err, ERROR_NOT_FOUND, "\"%.200s/%.200s\" not found", walked, name);
    if (is_symlink(next)) {
        const char *target = json_string_value(doc_member(next, "value"));

        if (!target || !*target)
            return error_set(err, ERROR_INVALID, "symlink \"%.200s/%.200s\" has no target", walked,
                             name);
        if (++search->symlinks > SYMLINKS_MAX)
            return error_set(err, ERROR_INVALID,
                             "\"%.200s/%.200s\" resolves through more than %d symlinks", walked,
                             name, SYMLINKS_MAX);
        return find_from(search, walked, target, node, err);
    }
    *node = next;
    return 0;
}

/* base/path without "." and "..". ".." at the root stays at the root. Belongs to the caller. */
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

static int find_from(struct search *search, const char *base, const char *path,
                     const json_t **ret_node, struct error *err)
{
    cleanup_free char *clean = join_path(base, path);
    const json_t *node = search->tree;

    for (char *at = clean; *at;) {
        char *name = at + 1;
        char *end = name + strcspn(name, "/");
        char kept = *end;

        *at = '\0';
        *end = '\0';
        if (step(search, clean, name, &node, err) < 0)
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
    struct search search = {.tree = tree};

    return find_from(&search, "", path, ret_node, err);
}

/* ---- writing ---- */

struct writing {
    const json_t *tree;
    const struct archive_limits *limits;
    uint64_t entries;
    struct yamlfs_counts counts;
};

static int write_directory(struct writing *writing, const json_t *entries, const char *path,
                           int directory_fd, unsigned depth, struct error *err);

static int write_file(struct writing *writing, const json_t *node, const char *name,
                      int directory_fd, struct error *err)
{
    cleanup_buffer struct buffer bytes = {0};

    buffer_init(&bytes, YAMLFS_FILE_MAX_BYTES);
    if (yamlfs_read(node, &bytes, err) < 0)
        return -1;
    writing->counts.files++;
    writing->counts.bytes += bytes.size;
    if (writing->counts.bytes > writing->limits->bytes_max)
        return error_set(err, ERROR_TOO_LARGE, "more than %" PRIu64 " bytes in all files together",
                         writing->limits->bytes_max);
    return beneath_write_file(directory_fd, name, bytes.data ? bytes.data : "", bytes.size, 0666,
                              err);
}

static int write_node(struct writing *writing, const json_t *node, const char *name,
                      const char *path, int directory_fd, unsigned depth, struct error *err)
{
    cleanup_close int fd = -1;

    if (json_is_array(node)) {
        writing->counts.lists++;
        return 0;
    }
    if (++writing->entries > writing->limits->entries_max)
        return error_set(err, ERROR_TOO_LARGE, "more than %" PRIu64 " files and directories",
                         writing->limits->entries_max);
    if (is_symlink(node)) {
        if (yamlfs_find(writing->tree, path, &node, err) < 0)
            return -1;
        if (yamlfs_is_directory(node))
            return error_set(err, ERROR_INVALID, "symlinks to directories are not supported");
    }
    if (!yamlfs_is_directory(node))
        return write_file(writing, node, name, directory_fd, err);
    if (depth >= writing->limits->depth_max)
        return error_set(err, ERROR_TOO_LARGE, "nested more than %u directories deep",
                         writing->limits->depth_max);
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
        return error_set(err, ERROR_INVALID, "\"%.300s\": value of a directory must be an object",
                         path);
    doc_foreach(entries, name, node)
    {
        cleanup_free char *child = xasprintf("%s/%s", path, name);

        if (!is_name(name))
            return error_set(err, ERROR_INVALID, "\"%.300s\": invalid file name", child);
        if (write_node(writing, node, name, child, directory_fd, depth, err) < 0) {
            /* An error inside a directory names the whole path already. */
            return yamlfs_is_directory(node) ? -1 : error_wrap(err, "\"%.300s\"", child + 1);
        }
    }
    return 0;
}

int yamlfs_write(const json_t *tree, int directory_fd, const struct archive_limits *limits,
                 struct yamlfs_counts *ret_counts, struct error *err)
{
    struct writing writing = {.tree = tree, .limits = limits};

    if (!yamlfs_is_directory(tree))
        return error_set(err, ERROR_INVALID, "expected an object that maps file names to content");
    if (write_directory(&writing, yamlfs_entries(tree), "", directory_fd, 0, err) < 0)
        return -1;
    *ret_counts = writing.counts;
    return 0;
}
