/* SPDX-License-Identifier: Apache-2.0 */
/* The local run's sink:
 *
 *     state/<sequence>-<uuid>/<number>/{config,metadata.json}    the chunks of a generation
 *     exports                                                    a copy of main's file
 *     result.json                                                the result of the run
 *
 * Everything is written under a temporary name, synced and renamed, so what has its final name is
 * complete. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/state/generation.h"
#include "wait/sink.h"

#define STATE_DIR "state"
#define EXPORTS_FILE "exports"
#define RESULT_FILE "result.json"
#define TEMPORARY_PREFIX ".new-" /* readers ignore names with a leading dot */

struct sink_directory {
    struct sink sink; /* first, so that the pointers can be converted */
    struct clock *clock;
    char *path; /* for messages */
    int fd;
};

/* Names relative to the directory would not tell the user which disk is full. */
static int fail(const struct sink_directory *self, struct error *err)
{
    return error_wrap(err, "store in \"%s\"", self->path);
}

/* ---- files ---- */

static int write_synced(int directory_fd, const char *name, const void *bytes, size_t size,
                        struct error *err)
{
    cleanup_close int fd = openat(
        directory_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, (mode_t)0600);

    if (fd < 0)
        return error_set_errno(err, errno, "create \"%s\"", name);
    if (file_write_all(fd, name, bytes, size, err) < 0)
        return -1;
    if (fsync(fd) < 0)
        return error_set_errno(err, errno, "sync \"%s\"", name);
    return 0;
}

static int rename_synced(int directory_fd, const char *from, const char *to, struct error *err)
{
    if (renameat(directory_fd, from, directory_fd, to) < 0)
        return error_set_errno(err, errno, "rename \"%s\" to \"%s\"", from, to);
    if (fsync(directory_fd) < 0)
        return error_set_errno(err, errno, "sync the directory of \"%s\"", to);
    return 0;
}

/* Atomic: readers see the old or the new content. */
static int replace_file(int directory_fd, const char *name, const void *bytes, size_t size,
                        struct error *err)
{
    cleanup_free char *temporary = xasprintf(TEMPORARY_PREFIX "%s", name);

    if (write_synced(directory_fd, temporary, bytes, size, err) < 0)
        return -1;
    return rename_synced(directory_fd, temporary, name, err);
}

static int open_or_create_directory(int parent_fd, const char *name, struct error *err)
{
    int fd = -1;

    if (mkdirat(parent_fd, name, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, errno, "create directory \"%s\"", name);
    fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, errno, "open directory \"%s\"", name);
    return fd;
}

/* ---- state ---- */

static char *generation_name(const struct generation *generation)
{
    return xasprintf("%" PRId64 "-%s", generation->origin->sequence, generation->uuid);
}

int64_t sink_directory_sequence(const char *name)
{
    uint64_t sequence = 0;
    size_t length = number_scan(name, STATE_SEQUENCE_MAX, &sequence);

    return length > 0 && name[length] == '-' && name[length + 1] ? (int64_t)sequence : 0;
}

static int read_last(struct sink *sink, struct last_generation *ret_last, struct error *err)
{
    struct sink_directory *self = (struct sink_directory *)sink;
    int fd = open_or_create_directory(self->fd, STATE_DIR, err);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry = NULL;

    if (!directory) {
        closep(&fd);
        return fd < 0 ? -1 : error_set_errno(err, errno, "read directory \"%s\"", STATE_DIR);
    }
    *ret_last = (struct last_generation){0};
    while ((entry = readdir(directory))) {
        int64_t sequence = sink_directory_sequence(entry->d_name);

        if (sequence > ret_last->sequence)
            ret_last->sequence = sequence;
    }
    (void)closedir(directory);
    return 0;
}

static int write_chunk(struct sink *sink, const struct generation *generation, int64_t number,
                       const void *bytes, size_t size, struct error *err)
{
    struct sink_directory *self = (struct sink_directory *)sink;
    const struct origin *origin = generation->origin;
    cleanup_free char *name = generation_name(generation);
    cleanup_free char *temporary = xasprintf(TEMPORARY_PREFIX "%s", name);
    cleanup_free char *chunk = xasprintf("%" PRId64, number);
    cleanup_free char *text = NULL;
    cleanup_json json_t *metadata = NULL;
    char created[TIMESTAMP_MAX] = "";
    cleanup_close int state_fd = open_or_create_directory(self->fd, STATE_DIR, err);
    cleanup_close int generation_fd =
        state_fd < 0 ? -1 : open_or_create_directory(state_fd, temporary, err);
    cleanup_close int chunk_fd =
        generation_fd < 0 ? -1 : open_or_create_directory(generation_fd, chunk, err);

    if (chunk_fd < 0)
        return fail(self, err);
    timestamp_format(clock_unix_ms(self->clock), created);
    metadata = json_pack("{s:o, s:s}", "annotations",
                         state_chunk_annotations(generation->summary, number, generation->uuid,
                                                 origin->sequence, origin->job, origin->pod_uid),
                         "creationTimestamp", created);
    text = doc_dump(metadata);
    if (write_synced(chunk_fd, SECRET_KEY_CONFIG, bytes, size, err) < 0 ||
        write_synced(chunk_fd, FILE_STATE_METADATA, text, strlen(text), err) < 0)
        return fail(self, err);
    if (fsync(chunk_fd) < 0 || fsync(generation_fd) < 0) {
        (void)error_set_errno(err, errno, "sync chunk %" PRId64, number);
        return fail(self, err);
    }
    return 0;
}

static int finish_generation(struct sink *sink, const struct generation *generation,
                             struct error *err)
{
    struct sink_directory *self = (struct sink_directory *)sink;
    cleanup_free char *name = generation_name(generation);
    cleanup_free char *temporary = xasprintf(TEMPORARY_PREFIX "%s", name);
    cleanup_close int state_fd = open_or_create_directory(self->fd, STATE_DIR, err);

    if (state_fd < 0 || rename_synced(state_fd, temporary, name, err) < 0)
        return fail(self, err);
    return 0;
}

/* ---- exports and report ---- */

static int put_exports(struct sink *sink, const struct origin *origin, const void *bytes,
                       size_t size, struct error *err)
{
    struct sink_directory *self = (struct sink_directory *)sink;

    (void)origin;
    return replace_file(self->fd, EXPORTS_FILE, bytes, size, err) < 0 ? fail(self, err) : 0;
}

static int clear_exports(struct sink *sink, const struct origin *origin, struct error *err)
{
    struct sink_directory *self = (struct sink_directory *)sink;

    (void)origin;
    if (unlinkat(self->fd, EXPORTS_FILE, 0) == 0 || errno == ENOENT)
        return 0;
    (void)error_set_errno(err, errno, "remove \"%s\" of an earlier run", EXPORTS_FILE);
    return fail(self, err);
}

static json_t *describe_exports(const struct export_outcome *exports)
{
    switch (exports->delivery) {
    case DELIVERY_STORED:
    case DELIVERY_UNCHANGED:
        return json_string("stored");
    case DELIVERY_NONE:
        return json_string("none");
    case DELIVERY_SKIPPED:
        return json_string("skipped");
    case DELIVERY_FAILED:
        break;
    }
    return json_sprintf("failed: %s", exports->err.text);
}

static json_t *describe_state(const struct state_outcome *state)
{
    bool is_unchanged = state->delivery == DELIVERY_UNCHANGED;
    json_t *doc = json_pack("{s:b, s:b, s:I, s:I, s:I, s:I, s:s}", "stored",
                            is_unchanged || state->delivery == DELIVERY_STORED, "unchanged",
                            is_unchanged, "bytes", (json_int_t)state->bytes, "packedBytes",
                            (json_int_t)state->packed_bytes, "files", (json_int_t)state->files,
                            "sequence", (json_int_t)state->sequence, "sha256", state->sha256);

    if (state->delivery == DELIVERY_FAILED)
        (void)json_object_set_new(doc, "error", json_string(state->err.text));
    return doc;
}

static int report(struct sink *sink, const struct observed *observed,
                  const struct state_outcome *state, const struct export_outcome *exports,
                  struct error *err)
{
    struct sink_directory *self = (struct sink_directory *)sink;
    bool is_known = observed->end.kind == MAIN_ENDED;
    cleanup_json json_t *doc = json_pack(
        "{s:o, s:s, s:o, s:o}", "exitCode",
        is_known ? json_integer(observed->end.exit_code) : json_null(), "reason",
        observed->end.reason, "state", describe_state(state), "exports", describe_exports(exports));
    cleanup_free char *text = doc_dump(doc);

    return replace_file(self->fd, RESULT_FILE, text, strlen(text), err) < 0 ? fail(self, err) : 0;
}

static void sink_directory_free(struct sink *sink)
{
    struct sink_directory *self = (struct sink_directory *)sink;

    closep(&self->fd);
    free(self->path);
    free(self);
}

int sink_directory_new(const char *path, struct clock *clock, struct sink **ret_sink,
                       struct error *err)
{
    static const struct sink_operations operations = {
        .read_last = read_last,
        .write_chunk = write_chunk,
        .finish_generation = finish_generation,
        .put_exports = put_exports,
        .clear_exports = clear_exports,
        .report = report,
        .free = sink_directory_free,
    };
    struct sink_directory *self = NULL;
    int fd = -1;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, errno, "create directory \"%s\"", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, errno, "open directory \"%s\"", path);
    self = xcalloc(1, sizeof(*self));
    self->sink.operations = &operations;
    self->clock = clock;
    self->path = xstrdup(path);
    self->fd = fd;
    *ret_sink = &self->sink;
    return 0;
}
