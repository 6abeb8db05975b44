/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/unpack_links.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"

enum { TEXT_MAX = 1 << 20, HOPS_MAX = 40 };

void link_table_done(struct link_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->links[i].path);
        free(table->links[i].target);
    }
    free(table->links);
    *table = (struct link_table){0};
}

int link_table_add(struct link_table *table, const char *path, const char *target, bool is_hard,
                   struct error *err)
{
    size_t bytes = strlen(path) + strlen(target) + sizeof(struct link);

    if (bytes > TEXT_MAX - table->text_bytes)
        return error_set(err, ERROR_TOO_LARGE, "archive has too many links");
    if (table->count == table->capacity) {
        table->capacity = table->capacity ? table->capacity * 2 : 16;
        table->links = xreallocarray(table->links, table->capacity, sizeof(*table->links));
    }
    table->links[table->count] = (struct link){.path = xstrdup(path),
                                               .target = xstrdup(target),
                                               .is_hard = is_hard,
                                               .order = table->count};
    table->count++;
    table->text_bytes += bytes;
    return 0;
}

static int compare_links(const void *left, const void *right)
{
    const struct link *a = left, *b = right;
    int order = strcmp(a->path, b->path);

    if (order)
        return order;
    return a->order < b->order ? -1 : 1;
}

/* Returns 1 to keep the link, 0 if a later file replaced it. */
static int is_free(int root_fd, const char *path, struct error *err)
{
    cleanup_close int parent_fd = -1;
    struct stat stat = {0};
    const char *name = NULL;

    parent_fd = beneath_open_parent(root_fd, path, true, &name, err);
    if (parent_fd < 0)
        return -1;
    if (fstatat(parent_fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT
                   ? 1
                   : error_set_errno(err, errno, "stat \"%s\"", beneath_show(path).text);
    if (S_ISDIR(stat.st_mode))
        return error_set(err, ERROR_INVALID, "\"%s\" is both a link and a directory",
                         beneath_show(path).text);
    return 0;
}

int link_table_settle(struct link_table *table, int root_fd, struct error *err)
{
    size_t kept = 0;

    if (table->count)
        qsort(table->links, table->count, sizeof(*table->links), compare_links);
    for (size_t i = 0; i < table->count; i++) {
        struct link *link = &table->links[i];
        bool is_last = i + 1 == table->count || strcmp(link->path, link[1].path) != 0;
        int keep = is_last ? is_free(root_fd, link->path, err) : 0;

        if (keep < 0) {
            /* Entries up to here were moved to the front or dropped. */
            memmove(&table->links[kept], link, (table->count - i) * sizeof(*link));
            table->count -= i - kept;
            return -1;
        }
        if (keep) {
            table->links[kept++] = *link;
        } else {
            free(link->path);
            free(link->target);
        }
    }
    table->count = kept;
    table->is_sorted = true;
    return 0;
}

static int compare_path(const void *key, const void *element)
{
    return strcmp(key, ((const struct link *)element)->path);
}

static const struct link *find_link(const struct link_table *table, const char *path)
{
    if (!table->count)
        return NULL;
    return bsearch(path, table->links, table->count, sizeof(*table->links), compare_path);
}

static int set_leads_out(struct error *err, const struct link *link)
{
    return error_set(err, ERROR_INVALID, "link \"%s\" points outside of the archive, to \"%s\"",
                     beneath_show(link->path).text, beneath_show(link->target).text);
}

/* State of a resolution: done is resolved and free of links, rest is not yet resolved. */
struct walk {
    struct buffer done, rest;
};

static void walk_done(struct walk *walk)
{
    buffer_done(&walk->done);
    buffer_done(&walk->rest);
}
#define cleanup_walk __attribute__((cleanup(walk_done)))

/* Prepends the target of a link to rest. */
static int follow(struct walk *walk, const struct link *link, struct error *err)
{
    cleanup_free char *rest = buffer_take(&walk->rest);
    char *slash = walk->done.data ? strrchr(walk->done.data, '/') : NULL;

    if (link->target[0] == '/')
        return set_leads_out(err, link);
    if (link->is_hard || !slash)
        buffer_clear(&walk->done);
    else
        walk->done.data[walk->done.size = (size_t)(slash - walk->done.data)] = '\0';
    return buffer_append_text(&walk->rest, err, "%s/%s", link->target, rest);
}

/* Moves one component from rest to done. */
static int take_step(struct walk *walk, const struct link *link, struct error *err)
{
    const char *rest = walk->rest.data ? walk->rest.data : "";
    size_t length = strcspn(rest, "/");
    char *slash = NULL;

    if (length == 2 && memcmp(rest, "..", 2) == 0) {
        if (!walk->done.size)
            return set_leads_out(err, link);
        slash = strrchr(walk->done.data, '/');
        walk->done.size = slash ? (size_t)(slash - walk->done.data) : 0;
        walk->done.data[walk->done.size] = '\0';
    } else if (length && !(length == 1 && rest[0] == '.')) {
        if ((walk->done.size && buffer_append(&walk->done, "/", 1, err) < 0) ||
            buffer_append(&walk->done, rest, length, err) < 0)
            return -1;
    }
    buffer_consume(&walk->rest, length + strspn(rest + length, "/"));
    return 0;
}

/* Resolves until rest is empty and done is not a link. */
static int walk_links(struct walk *walk, const struct link_table *table, const struct link *link,
                      struct error *err)
{
    const struct link *next = link;
    int hops = 0;

    do {
        if (next) {
            if (++hops > HOPS_MAX)
                return error_set(err, ERROR_INVALID, "link \"%s\" is part of a loop",
                                 beneath_show(link->path).text);
            if (follow(walk, next, err) < 0)
                return -1;
        }
        if (take_step(walk, link, err) < 0)
            return -1;
        next = walk->done.size ? find_link(table, walk->done.data) : NULL;
    } while (next || walk->rest.size);
    return 0;
}

int link_table_resolve(const struct link_table *table, const struct link *link, char **ret_path,
                       struct error *err)
{
    cleanup_walk struct walk walk = {0};

    buffer_init(&walk.done, BENEATH_PATH_MAX);
    buffer_init(&walk.rest, (size_t)4 * BENEATH_PATH_MAX);
    if (buffer_append_text(&walk.done, err, "%s", link->path) < 0 ||
        walk_links(&walk, table, link, err) < 0)
        return -1;
    if (!walk.done.size)
        return error_set(err, ERROR_INVALID, "link \"%s\" does not point to a file",
                         beneath_show(link->path).text);
    *ret_path = buffer_take(&walk.done);
    return 0;
}
