/* SPDX-License-Identifier: Apache-2.0 */
#include "common/state/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>

#include "common/archive/beneath.h"
#include "common/archive/unpack.h"
#include "common/base/memory.h"
#include "common/state/stream.h"

static int unpack_generation(const struct state_generation *generation,
                             const struct state_source *source, int root_fd,
                             struct unpack_counts *ret_counts, struct error *err)
{
    const struct unpack_options options = {
        .policy = UNPACK_STATE,
        .limits = &ARCHIVE_LIMITS_STATE,
        .is_go_state_tolerated = !generation->is_ours,
    };
    cleanup_state_stream struct state_stream stream = {0};

    state_stream_init(&stream, generation, source);
    if (unpack_stream(root_fd, &options, state_stream_read, &stream, ret_counts, err) < 0)
        return -1;
    return state_stream_check(&stream, err);
}

/* Renames temporary to name and removes what had that name. */
static int put_in_place(int parent_fd, const char *temporary, const char *name, struct error *err)
{
    if (renameat2(parent_fd, temporary, parent_fd, name, RENAME_EXCHANGE) == 0)
        return beneath_remove_tree(parent_fd, temporary, err);
    if (errno != ENOENT && errno != EINVAL)
        return error_set_errno(err, errno, "rename the restored state to \"%s\"", name);
    /* ENOENT: name does not exist. EINVAL: the file system does not support RENAME_EXCHANGE, so the
     * replacement is not atomic. */
    if (errno == EINVAL && beneath_remove_tree(parent_fd, name, err) < 0)
        return -1;
    if (renameat(parent_fd, temporary, parent_fd, name) < 0)
        return error_set_errno(err, errno, "rename the restored state to \"%s\"", name);
    return 0;
}

static int restore_generation(const struct state_generation *generation,
                              const struct state_source *source, int parent_fd, const char *name,
                              struct unpack_counts *ret_counts, struct error *err)
{
    char temporary[BENEATH_TEMPORARY_SIZE];
    cleanup_close int root_fd = -1;
    struct error ignored = {0};

    if (!generation->is_complete)
        return error_set(err, ERROR_INVALID, "incomplete: chunks are missing or inconsistent");
    beneath_temporary_name(temporary);
    root_fd = beneath_make_directories(parent_fd, temporary, err);
    if (root_fd < 0)
        return -1;
    if (unpack_generation(generation, source, root_fd, ret_counts, err) < 0) {
        (void)!beneath_remove_tree(parent_fd, temporary, &ignored);
        return -1;
    }
    if (put_in_place(parent_fd, temporary, name, err) < 0) {
        (void)!beneath_remove_tree(parent_fd, temporary, &ignored);
        /* Not the fault of this generation: prevents a fallback to an older one. */
        err->kind = ERROR_INTERNAL;
        return -1;
    }
    return 0;
}

/* Whether the generation itself is damaged, so that the previous one is tried. */
static bool is_generation_at_fault(const struct error *err)
{
    switch (err->kind) {
    case ERROR_INVALID:
    case ERROR_NOT_FOUND:
    case ERROR_TOO_LARGE:
        return true;
    case ERROR_NONE:
    case ERROR_DENIED:
    case ERROR_EXISTS:
    case ERROR_CONFLICT:
    case ERROR_GONE:
    case ERROR_TEMPORARY:
    case ERROR_CANCELLED:
    case ERROR_INTERNAL:
        break;
    }
    return false;
}

int state_restore(const struct state_set *set, const struct state_source *source, int parent_fd,
                  const char *name, state_skip_fn *on_skip, void *data,
                  struct state_restored *ret_restored, struct error *err)
{
    struct state_restored restored = {0};
    size_t lost_count = 0;
    struct error first = {0};

    for (size_t i = 0; i < set->generation_count; i++) {
        const struct state_generation *generation = &set->generations[i];
        struct unpack_counts counts = {0};
        struct error failure = {0};

        if (restore_generation(generation, source, parent_fd, name, &counts, &failure) == 0) {
            restored = (struct state_restored){
                .generation = generation, .entries = counts.entries, .bytes = counts.bytes};
            *ret_restored = restored;
            return 0;
        }
        if (!is_generation_at_fault(&failure)) {
            *err = failure;
            return error_wrap(err, "restore state \"%s\"", beneath_show(generation->uuid).text);
        }
        if (on_skip)
            on_skip(data, generation, &failure);
        if (!state_generation_is_interrupted(generation) && lost_count++ == 0)
            first = failure;
    }
    if (lost_count)
        return error_set(
            err, ERROR_INVALID,
            "none of %zu generations of the state can be restored; the newest one: %s; delete the "
            "state Secrets to start without state",
            lost_count, first.text);
    *ret_restored = restored;
    return 0;
}
