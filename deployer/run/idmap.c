/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/idmap.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/run/process.h"

enum { SUBID_FILE_MAX = 1024 * 1024, IDS_NEEDED = 65536 };

static bool parse_number(const char *text, size_t length, unsigned long *ret_number)
{
    uint64_t number = 0;

    if (length == 0 || number_scan(text, UINT32_MAX, &number) != length)
        return false;
    *ret_number = (unsigned long)number;
    return true;
}

/* "name:first:count" */
static bool parse_line(const char *line, size_t length, const char *user, uid_t uid,
                       struct idmap_range *ret_range)
{
    const char *first = memchr(line, ':', length);
    const char *count = first ? memchr(first + 1, ':', length - (size_t)(first + 1 - line)) : NULL;
    unsigned long number = 0;
    size_t name_length = 0;

    if (!count)
        return false;
    name_length = (size_t)(first - line);
    if (!(user && strlen(user) == name_length && memcmp(user, line, name_length) == 0) &&
        !(parse_number(line, name_length, &number) && number == uid))
        return false;
    return parse_number(first + 1, (size_t)(count - first - 1), &ret_range->first) &&
           parse_number(count + 1, length - (size_t)(count + 1 - line), &ret_range->count);
}

int idmap_find_range(const char *text, const char *user, uid_t uid, unsigned long needed,
                     struct idmap_range *ret_range, struct error *err)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        struct idmap_range range = {0};

        if (parse_line(text, length, user, uid, &range) && range.count >= needed) {
            *ret_range = range;
            return 0;
        }
        text += length + (text[length] == '\n');
    }
    return error_set(err, ERROR_NOT_FOUND, "no range of at least %lu ids for user '%s' (%lu)",
                     needed, user ? user : "?", (unsigned long)uid);
}

static int map_ids(const char *program, const char *file, const char *user, pid_t pid, uid_t own,
                   struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_free char *target = xasprintf("%ld", (long)pid);
    cleanup_free char *self = xasprintf("%lu", (unsigned long)own);
    cleanup_free char *first = NULL;
    cleanup_free char *count = NULL;
    struct idmap_range range = {0};

    buffer_init(&text, SUBID_FILE_MAX);
    if (doc_read_file(file, SUBID_FILE_MAX, &text, err) < 0 ||
        idmap_find_range(text.data ? text.data : "", user, getuid(), IDS_NEEDED, &range, err) < 0) {
        (void)error_wrap(err, "read '%s'", file);
        return error_wrap(err,
                          "a run as a plain user needs %d subordinate ids (as root: "
                          "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s)",
                          IDS_NEEDED, user ? user : "USER");
    }
    first = xasprintf("%lu", range.first);
    count = xasprintf("%lu", range.count);
    if (process_check(
            (const char *const[]){program, target, "0", self, "1", "1", first, count, NULL}, err) <
        0) {
        if (err->kind == ERROR_NOT_FOUND)
            return error_set(err, ERROR_NOT_FOUND,
                             "'%s' is missing; a run as a plain user needs the package 'uidmap'",
                             program);
        return error_wrap(err, "map the ids of the run's namespace");
    }
    return 0;
}

int idmap_write(pid_t pid, struct error *err)
{
    const struct passwd *entry = getpwuid(getuid());
    cleanup_free char *user = entry ? xstrdup(entry->pw_name) : NULL;

    if (map_ids("newuidmap", "/etc/subuid", user, pid, getuid(), err) < 0)
        return -1;
    return map_ids("newgidmap", "/etc/subgid", user, pid, getgid(), err);
}
