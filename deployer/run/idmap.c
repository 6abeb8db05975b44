/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/idmap.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/run/program.h"

enum { SUBID_FILE_MAX = 1024 * 1024 };
/* SUB_UID_MIN and SUB_UID_MAX of shadow's login.defs, unless an administrator changed them. */
static const unsigned long SUBID_FIRST = 100000, SUBID_LAST = 600100000;

static bool parse_number(const char *text, size_t length, unsigned long *ret_number)
{
    uint64_t number = 0;

    if (length == 0 || number_scan(text, UINT32_MAX, &number) != length)
        return false;
    *ret_number = (unsigned long)number;
    return true;
}

struct entry {
    const char *owner; /* name or number, not terminated */
    size_t owner_length;
    struct idmap_range range;
};

/* Reads the next entry "owner:first:count"; lines of any other form are skipped. */
static bool next_entry(const char **text, struct entry *ret_entry)
{
    while (**text) {
        const char *line = *text;
        size_t length = strcspn(line, "\n");
        const char *first = memchr(line, ':', length);
        const char *count =
            first ? memchr(first + 1, ':', length - (size_t)(first + 1 - line)) : NULL;

        *text += length + (line[length] == '\n');
        if (count &&
            parse_number(first + 1, (size_t)(count - first - 1), &ret_entry->range.first) &&
            parse_number(count + 1, length - (size_t)(count + 1 - line), &ret_entry->range.count)) {
            ret_entry->owner = line;
            ret_entry->owner_length = (size_t)(first - line);
            return true;
        }
    }
    return false;
}

static bool belongs_to(const struct entry *entry, const char *user, uid_t uid)
{
    unsigned long number = 0;

    if (user && strlen(user) == entry->owner_length &&
        memcmp(user, entry->owner, entry->owner_length) == 0)
        return true;
    return parse_number(entry->owner, entry->owner_length, &number) && number == uid;
}

bool idmap_find_range(const char *text, const char *user, uid_t uid, struct idmap_range *ret_range)
{
    struct entry entry = {0};

    while (next_entry(&text, &entry)) {
        if (belongs_to(&entry, user, uid) && entry.range.count >= IDMAP_NEEDED) {
            *ret_range = entry.range;
            return true;
        }
    }
    return false;
}

/* The first id at or after first from which IDMAP_NEEDED ids overlap no entry of text. */
static unsigned long skip_used(const char *text, unsigned long first)
{
    const char *rest = text;
    struct entry entry = {0};

    while (next_entry(&rest, &entry)) {
        if (entry.range.first < first + IDMAP_NEEDED &&
            first < entry.range.first + entry.range.count) {
            first = entry.range.first + entry.range.count;
            rest = text; /* entries are in no order */
        }
    }
    return first;
}

bool idmap_find_free_range(const char *subuid, const char *subgid, struct idmap_range *ret_range)
{
    unsigned long first = SUBID_FIRST;
    unsigned long last_tried = 0;

    while (first != last_tried) {
        last_tried = first;
        first = skip_used(subgid, skip_used(subuid, first));
    }
    if (first + IDMAP_NEEDED - 1 > SUBID_LAST)
        return false;
    *ret_range = (struct idmap_range){.first = first, .count = IDMAP_NEEDED};
    return true;
}

int idmap_find_ranges(const char *subuid, const char *subgid, const char *user, uid_t uid,
                      struct idmap_range *ret_uids, struct idmap_range *ret_gids, struct error *err)
{
    cleanup_free char *number = xasprintf("%lu", (unsigned long)uid);
    cleanup_free char *uids_option = NULL;
    cleanup_free char *gids_option = NULL;
    bool has_uids = idmap_find_range(subuid, user, uid, ret_uids);
    bool has_gids = idmap_find_range(subgid, user, uid, ret_gids);
    struct idmap_range free_range = {0};
    unsigned long last = 0;

    if (has_uids && has_gids)
        return 0;
    if (!idmap_find_free_range(subuid, subgid, &free_range))
        return error_set(err, ERROR_NOT_FOUND,
                         "user \"%s\" has no range of %d subordinate ids in %s, and no such range "
                         "is free",
                         user ? user : number, IDMAP_NEEDED,
                         has_uids ? "/etc/subgid" : "/etc/subuid");
    last = free_range.first + free_range.count - 1;
    uids_option = xasprintf(" --add-subuids %lu-%lu", free_range.first, last);
    gids_option = xasprintf(" --add-subgids %lu-%lu", free_range.first, last);
    return error_set(err, ERROR_NOT_FOUND,
                     "user \"%s\" has no range of %d subordinate ids in %s; add one as root: "
                     "usermod%s%s %s",
                     user ? user : number, IDMAP_NEEDED,
                     has_uids   ? "/etc/subgid"
                     : has_gids ? "/etc/subuid"
                                : "/etc/subuid and /etc/subgid",
                     has_uids ? "" : uids_option, has_gids ? "" : gids_option,
                     user ? user : "USER");
}

/* A missing file holds no ranges. */
static int read_file(const char *path, struct buffer *text, struct error *err)
{
    buffer_init(text, SUBID_FILE_MAX);
    if (doc_read_file(path, SUBID_FILE_MAX, text, err) < 0 && err->kind != ERROR_NOT_FOUND)
        return -1;
    return 0;
}

static int map_ids(const char *program, pid_t pid, unsigned own, const struct idmap_range *range,
                   struct error *err)
{
    cleanup_free char *target = xasprintf("%ld", (long)pid);
    cleanup_free char *self = xasprintf("%u", own);
    cleanup_free char *first = xasprintf("%lu", range->first);
    cleanup_free char *count = xasprintf("%lu", range->count);
    const char *const argv[] = {program, target, "0", self, "1", "1", first, count, NULL};

    if (program_check(argv, err) == 0)
        return 0;
    if (err->kind == ERROR_NOT_FOUND)
        return error_set(err, ERROR_NOT_FOUND,
                         "\"%s\" not found; a run as an unprivileged user needs the package "
                         "\"uidmap\"",
                         program);
    return error_wrap(err, "map the ids of the run's user namespace");
}

int idmap_write(pid_t pid, struct error *err)
{
    const struct passwd *entry = getpwuid(getuid());
    cleanup_free char *user = entry ? xstrdup(entry->pw_name) : NULL;
    cleanup_buffer struct buffer subuid = {0};
    cleanup_buffer struct buffer subgid = {0};
    struct idmap_range uids = {0};
    struct idmap_range gids = {0};

    if (read_file("/etc/subuid", &subuid, err) < 0 || read_file("/etc/subgid", &subgid, err) < 0 ||
        idmap_find_ranges(subuid.data ? subuid.data : "", subgid.data ? subgid.data : "", user,
                          getuid(), &uids, &gids, err) < 0 ||
        map_ids("newuidmap", pid, getuid(), &uids, err) < 0)
        return -1;
    return map_ids("newgidmap", pid, getgid(), &gids, err);
}
