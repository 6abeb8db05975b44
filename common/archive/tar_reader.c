/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/tar_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/file.h"
#include "common/base/memory.h"

enum { END_SIZE = 2 * 512 };
/* Limit for the headers of one entry. libarchive stores sparse maps as lists with 32 bytes per
 * element, which needs as little as four bytes in the archive, so this bounds its memory to a few
 * MiB. */
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

/* Messages of libarchive contain no local paths or secrets, but may contain bytes of the archive.
 */
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

/* Names are treated as bytes. libarchive warns if it can't convert a pax name to the locale's
 * charset and keeps the bytes, as wanted. After any other warning the entry may not be what the
 * archive says. */
static bool is_charset_warning(struct archive *archive)
{
    const char *text = archive_error_string(archive);

    return text && strstr(text, "can't be converted");
}

static enum tar_kind kind_of(struct archive_entry *entry)
{
    /* First, since a hard link may also have the type of its target. */
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
        .mode = archive_entry_perm(from) & 07777,
        .uid = (uid_t)archive_entry_uid(from),
        .gid = (gid_t)archive_entry_gid(from),
        .has_mtime = archive_entry_mtime_is_set(from),
        .mtime = {.tv_sec = archive_entry_mtime(from), .tv_nsec = archive_entry_mtime_nsec(from)},
    };
    la_int64_t size = archive_entry_size(from);

    if (!entry.name || !entry.name[0])
        return error_set(err, ERROR_INVALID, "archive has an entry without a name");
    if (size < 0)
        return error_set(err, ERROR_INVALID, "\"%s\" has a negative size",
                         beneath_show(entry.name).text);
    if (entry.kind != TAR_FILE && size > 0)
        return error_set(err, ERROR_INVALID, "\"%s\" is not a file but has data",
                         beneath_show(entry.name).text);
    entry.size = (uint64_t)size;
    if (entry.kind == TAR_HARD_LINK)
        entry.target = archive_entry_hardlink(from);
    else if (entry.kind == TAR_SYMLINK)
        entry.target = archive_entry_symlink(from);
    if ((entry.kind == TAR_HARD_LINK || entry.kind == TAR_SYMLINK) &&
        (!entry.target || !entry.target[0]))
        return error_set(err, ERROR_INVALID, "link \"%s\" has no target",
                         beneath_show(entry.name).text);
    *ret_entry = entry;
    return 0;
}

int tar_reader_next(struct tar_reader *reader, struct tar_entry *ret_entry, struct error *err)
{
    struct archive_entry *entry = NULL;
    int result = ARCHIVE_OK;

    /* Skip data explicitly, so that the allowance below applies to headers only. */
    if (archive_file_count(reader->archive) > 0) {
        plain_set_allowance(reader->plain, UINT64_MAX);
        if (archive_read_data_skip(reader->archive) != ARCHIVE_OK)
            return set_archive_error(reader, err);
        plain_set_allowance(reader->plain, HEADER_MAX);
    }
    result = archive_read_next_header(reader->archive, &entry);
    plain_set_allowance(reader->plain, UINT64_MAX);
    /* libarchive reports a source that fails in the last block as the end of the archive. */
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

int tar_reader_write_file(struct tar_reader *reader, const struct tar_entry *entry, int fd,
                          struct error *err)
{
    struct beneath_shown shown = beneath_show(entry->name);
    const void *bytes = NULL;
    uint64_t offset = 0;
    ssize_t size = 0;

    while ((size = tar_reader_data(reader, &bytes, &offset, err)) > 0) {
        if (offset > entry->size || (uint64_t)size > entry->size - offset)
            return error_set(err, ERROR_INVALID, "\"%s\" has more data than its size", shown.text);
        if (lseek(fd, (off_t)offset, SEEK_SET) < 0)
            return error_set_errno(err, errno, "write \"%s\"", shown.text);
        if (file_write_all(fd, shown.text, bytes, (size_t)size, err) < 0)
            return -1;
    }
    if (size < 0)
        return -1;
    /* A hole at the end of the file has no data that would extend it. */
    if (ftruncate(fd, (off_t)entry->size) < 0)
        return error_set_errno(err, errno, "write \"%s\"", shown.text);
    return 0;
}

bool tar_reader_saw_end(const struct tar_reader *reader)
{
    return reader->has_end;
}
