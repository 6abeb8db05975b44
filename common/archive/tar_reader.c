/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/tar_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"

enum { END_SIZE = 2 * 512 };
/* What the headers of one entry may take. libarchive keeps sparse maps as lists of 32 bytes an
 * element, of which four bytes in the archive are enough, so this bounds its memory to a few MiB.
 */
enum { HEADER_MAX = 256 * 1024 };

struct tar_reader {
    struct plain *plain;
    struct archive *archive;
    struct error failure; /* of the source */
    bool has_end;
};

static la_ssize_t read_plain(struct archive *archive, void *data, const void **ret_bytes)
{
    struct tar_reader *reader = data;
    ssize_t size = plain_read(reader->plain, ret_bytes, &reader->failure);

    if (size < 0)
        archive_set_error(archive, EIO, "source");
    return size;
}

/* libarchive's own words name no file of ours and no secret; they can have bytes of the archive. */
static int set_archive_error(struct tar_reader *reader, struct error *err)
{
    const char *text = archive_error_string(reader->archive);

    if (reader->failure.kind != ERROR_NONE) {
        *err = reader->failure;
        return -1;
    }
    return error_set(err, ERROR_INVALID, "archive is damaged: %s",
                     beneath_show(text ? text : "unknown reason").text);
}

int tar_reader_new(struct plain *plain, struct tar_reader **ret_reader, struct error *err)
{
    cleanup_tar_reader struct tar_reader *reader = xcalloc(1, sizeof(*reader));

    reader->plain = plain;
    reader->archive = archive_read_new();
    if (!reader->archive || archive_read_support_format_tar(reader->archive) != ARCHIVE_OK)
        out_of_memory();
    plain_set_allowance(plain, HEADER_MAX);
    if (archive_read_open(reader->archive, reader, NULL, read_plain, NULL) != ARCHIVE_OK)
        return set_archive_error(reader, err);
    *ret_reader = steal(&reader);
    return 0;
}

void tar_reader_free(struct tar_reader *reader)
{
    if (!reader)
        return;
    if (reader->archive)
        (void)archive_read_free(reader->archive);
    free(reader);
}

/* Names are bytes for us. libarchive warns when it can't turn a pax name into the locale's charset
 * and then leaves the bytes as they are, which is what we want; any other warning means that it
 * read something else than what stands there. */
static bool is_charset_warning(struct archive *archive)
{
    const char *text = archive_error_string(archive);

    return text && strstr(text, "can't be converted");
}

static enum tar_kind kind_of(struct archive_entry *entry)
{
    /* A hard link has no type of its own, or that of the file: ask first. */
    if (archive_entry_hardlink(entry))
        return TAR_HARD_LINK;
    switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
        return TAR_FILE;
    case AE_IFDIR:
        return TAR_DIRECTORY;
    case AE_IFLNK:
        return TAR_SYMLINK;
    default:
        return TAR_OTHER;
    }
}

static int fill_entry(struct archive_entry *from, struct tar_entry *ret_entry, struct error *err)
{
    struct tar_entry entry = {
        .kind = kind_of(from),
        .name = archive_entry_pathname(from),
        .mode = archive_entry_perm(from) & 0777,
        .has_mtime = archive_entry_mtime_is_set(from),
        .mtime = {.tv_sec = archive_entry_mtime(from), .tv_nsec = archive_entry_mtime_nsec(from)},
    };
    la_int64_t size = archive_entry_size(from);

    if (!entry.name || !entry.name[0])
        return error_set(err, ERROR_INVALID, "archive has an entry without a name");
    if (size < 0)
        return error_set(err, ERROR_INVALID, "'%s' has a negative size",
                         beneath_show(entry.name).text);
    if (entry.kind != TAR_FILE && size > 0)
        return error_set(err, ERROR_INVALID, "'%s' is no file but has data",
                         beneath_show(entry.name).text);
    entry.size = (uint64_t)size;
    if (entry.kind == TAR_HARD_LINK)
        entry.target = archive_entry_hardlink(from);
    else if (entry.kind == TAR_SYMLINK)
        entry.target = archive_entry_symlink(from);
    if ((entry.kind == TAR_HARD_LINK || entry.kind == TAR_SYMLINK) &&
        (!entry.target || !entry.target[0]))
        return error_set(err, ERROR_INVALID, "link '%s' has no target",
                         beneath_show(entry.name).text);
    *ret_entry = entry;
    return 0;
}

int tar_reader_next(struct tar_reader *reader, struct tar_entry *ret_entry, struct error *err)
{
    struct archive_entry *entry = NULL;
    int result = ARCHIVE_OK;

    /* Skipped here, so that only headers are read below. */
    if (archive_file_count(reader->archive) > 0) {
        plain_set_allowance(reader->plain, UINT64_MAX);
        if (archive_read_data_skip(reader->archive) != ARCHIVE_OK)
            return set_archive_error(reader, err);
        plain_set_allowance(reader->plain, HEADER_MAX);
    }
    result = archive_read_next_header(reader->archive, &entry);
    plain_set_allowance(reader->plain, UINT64_MAX);
    /* libarchive takes a source that fails in the last block for the end. */
    if (result == ARCHIVE_EOF && reader->failure.kind != ERROR_NONE)
        return set_archive_error(reader, err);
    if (result == ARCHIVE_EOF) {
        reader->has_end = archive_filter_bytes(reader->archive, 0) -
                              archive_read_header_position(reader->archive) >=
                          END_SIZE;
        return 0;
    }
    if (result != ARCHIVE_OK && !(result == ARCHIVE_WARN && is_charset_warning(reader->archive)))
        return set_archive_error(reader, err);
    return fill_entry(entry, ret_entry, err) < 0 ? -1 : 1;
}

ssize_t tar_reader_data(struct tar_reader *reader, const void **ret_bytes, uint64_t *ret_offset,
                        struct error *err)
{
    la_int64_t offset = 0;
    size_t size = 0;
    int result = ARCHIVE_OK;

    do {
        result = archive_read_data_block(reader->archive, ret_bytes, &size, &offset);
    } while (result == ARCHIVE_OK && size == 0);
    if (result == ARCHIVE_EOF)
        return 0;
    if (result != ARCHIVE_OK || offset < 0)
        return set_archive_error(reader, err);
    *ret_offset = (uint64_t)offset;
    return (ssize_t)size;
}

bool tar_reader_saw_end(const struct tar_reader *reader)
{
    return reader->has_end;
}
