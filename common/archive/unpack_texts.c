/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/unpack_texts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/archive/tar_reader.h"
#include "common/base/memory.h"

static int set_over_budget(struct error *err)
{
    return error_set(err, ERROR_TOO_LARGE, "archive has more text than may be read");
}

/* Collects the file up to its first NUL. */
static int collect(struct tar_reader *reader, const struct tar_entry *entry, char *text, size_t max,
                   size_t *ret_size, bool *ret_is_binary, struct error *err)
{
    const void *bytes = NULL;
    uint64_t offset = 0, end = 0;
    size_t used = 0;
    ssize_t size = 0;

    while ((size = tar_reader_data(reader, &bytes, &offset, err)) > 0) {
        if (offset != end)
            break;
        end += (uint64_t)size;
        if (memchr(bytes, '\0', (size_t)size)) {
            *ret_is_binary = true;
            return 0;
        }
        if ((size_t)size > max - used)
            return set_over_budget(err);
        memcpy(text + used, bytes, (size_t)size);
        used += (size_t)size;
    }
    if (size < 0)
        return -1;
    if (end != entry->size)
        return error_set(err, ERROR_INVALID, "archive has a file with holes");
    *ret_size = used;
    return 0;
}

static int read_file(const struct unpack_texts_options *options, struct text_budget *budget,
                     struct tar_reader *reader, const struct tar_entry *entry, struct error *err)
{
    size_t max = entry->size < budget->text ? (size_t)entry->size : budget->text;
    char *text = xcalloc(max + 1, 1);
    size_t used = 0;
    bool is_binary = false;
    int result = collect(reader, entry, text, max, &used, &is_binary, err);

    if (result == 0 && is_binary)
        options->on_text(options->data, entry->name, NULL, 0);
    if (result == 0 && used) {
        text[used] = '\0';
        budget->text -= used;
        options->on_text(options->data, entry->name, text, used);
    }
    explicit_bzero(text, max);
    free(text);
    return result;
}

static int read_entries(const struct unpack_texts_options *options, struct text_budget *budget,
                        struct plain *plain, struct error *err)
{
    cleanup_tar_reader struct tar_reader *reader = NULL;
    struct tar_entry entry = {0};
    int found = 0;

    if (tar_reader_new(plain, &reader, err) < 0)
        return -1;
    while ((found = tar_reader_next(reader, &entry, err)) > 0) {
        if (entry.kind == TAR_OTHER)
            return error_set(err, ERROR_INVALID, "archive has a device, FIFO or socket");
        if (entry.kind == TAR_FILE && read_file(options, budget, reader, &entry, err) < 0)
            return -1;
    }
    if (found < 0)
        return -1;
    if (!tar_reader_saw_end(reader))
        return error_set(err, ERROR_INVALID, "archive is truncated");
    return plain_drain(plain, err);
}

int unpack_texts(const struct unpack_texts_options *options, struct text_budget *budget,
                 struct error *err)
{
    const struct plain_options plain_options = {
        .limits = &ARCHIVE_LIMITS_STATE,
        .is_tail_tolerated = options->is_go_state_tolerated,
        .is_gzip_only = true,
        .plain_max = budget->unpacked,
    };
    cleanup_plain struct plain *plain = NULL;
    int result = 0;

    if (plain_new(&plain_options, options->read, options->source, &plain, err) < 0)
        return -1;
    result = read_entries(options, budget, plain, err);
    budget->unpacked -= (size_t)plain_bytes(plain);
    return result;
}
