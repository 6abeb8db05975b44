/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/tar_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/archive/gzip.h"
#include "common/base/memory.h"
#include "common/base/number.h"

/* Names of 4 KiB twice, and attributes as Go may copy them. */
enum { BLOCK_SIZE = 512, PAX_MAX = 64 * 1024 };
enum { SIZE_AT = 124, SIZE_LENGTH = 12, CHECKSUM_AT = 148, CHECKSUM_LENGTH = 8, TYPE_AT = 156 };
enum { MAGIC_AT = 257, HOLES_AT = 386, HOLES_LENGTH = 109 };

struct walk {
    const struct tar_text_options *options;
    struct tar_text_budget *budget;
    struct gzip *gzip;
    const char *piece; /* of the tar stream */
    size_t left;       /* of piece */
};

static int set_damaged(struct error *err, const char *what)
{
    return error_set(err, ERROR_INVALID, "archive is damaged: %s", what);
}

static int set_too_large(struct error *err)
{
    return error_set(err, ERROR_TOO_LARGE, "archive is more than may be looked at");
}

static int set_several_sizes(struct error *err)
{
    return error_set(err, ERROR_INVALID, "archive has a file of more than one size");
}

/* ---- Bytes ---- */

/* The next piece: 1, or 0 at the end of the stream. */
static int next_piece(struct walk *walk, struct error *err)
{
    const void *bytes = NULL;
    ssize_t size = gzip_read(walk->gzip, &bytes, err);

    if (size <= 0)
        return (int)size;
    if ((size_t)size > walk->budget->unpacked)
        return set_too_large(err);
    walk->budget->unpacked -= (size_t)size;
    walk->piece = bytes;
    walk->left = (size_t)size;
    return 1;
}

/* Some of the next bytes, max at most, at least one. */
static int take_some(struct walk *walk, size_t max, const char **ret_bytes, size_t *ret_size,
                     struct error *err)
{
    int found = walk->left ? 1 : next_piece(walk, err);

    if (found < 0)
        return -1;
    if (found == 0)
        return set_damaged(err, "it is cut");
    *ret_size = walk->left < max ? walk->left : max;
    *ret_bytes = walk->piece;
    walk->piece += *ret_size;
    walk->left -= *ret_size;
    return 0;
}

static int take(struct walk *walk, char *into, size_t size, struct error *err)
{
    while (size) {
        const char *bytes = NULL;
        size_t some = 0;

        if (take_some(walk, size, &bytes, &some, err) < 0)
            return -1;
        memcpy(into, bytes, some);
        into += some;
        size -= some;
    }
    return 0;
}

static int skip(struct walk *walk, size_t size, struct error *err)
{
    while (size) {
        const char *bytes = NULL;
        size_t some = 0;

        if (take_some(walk, size, &bytes, &some, err) < 0)
            return -1;
        size -= some;
    }
    return 0;
}

/* Up to the next block, behind size bytes of data. */
static int skip_padding(struct walk *walk, size_t size, struct error *err)
{
    return skip(walk, (BLOCK_SIZE - size % BLOCK_SIZE) % BLOCK_SIZE, err);
}

/* ---- Headers ---- */

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\0';
}

/* Octal digits with blanks around them; none are 0, as everybody reads it. */
static bool parse_octal(const char *field, size_t length, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t at = 0;

    while (at < length && field[at] == ' ')
        at++;
    for (; at < length && field[at] >= '0' && field[at] <= '7'; at++)
        number = number << 3 | (uint64_t)(field[at] - '0');
    while (at < length && is_blank(field[at]))
        at++;
    *ret_number = number;
    return at == length;
}

/* GNU's way to say more: the first bit is set, the rest is a number, the highest byte first. */
static bool parse_base_256(const char *field, size_t length, uint64_t *ret_number)
{
    uint64_t number = (unsigned char)field[0] & 0x7f;

    for (size_t i = 1; i < length; i++) {
        if (number >> 56)
            return false; /* negative, or more than there is in the world */
        number = number << 8 | (unsigned char)field[i];
    }
    *ret_number = number;
    return true;
}

static bool parse_number(const char *field, size_t length, uint64_t *ret_number)
{
    return (unsigned char)field[0] & 0x80 ? parse_base_256(field, length, ret_number)
                                          : parse_octal(field, length, ret_number);
}

/* Of the bytes, the field itself counted as blanks; some old writers took them as signed. */
static bool is_checksum_right(const char *block)
{
    uint64_t expected = 0;
    int64_t sum = 0, signed_sum = 0;

    if (!parse_octal(block + CHECKSUM_AT, CHECKSUM_LENGTH, &expected))
        return false;
    for (size_t i = 0; i < BLOCK_SIZE; i++) {
        bool is_own = i >= CHECKSUM_AT && i < CHECKSUM_AT + CHECKSUM_LENGTH;
        char byte = is_own ? ' ' : block[i];

        sum += (unsigned char)byte;
        signed_sum += (signed char)byte;
    }
    return (int64_t)expected == sum || (int64_t)expected == signed_sum;
}

static bool is_zeros(const char *bytes, size_t size)
{
    static const char zeros[BLOCK_SIZE];

    return memcmp(bytes, zeros, size) == 0;
}

/* GNU's headers have room for the first holes of a file, and some look there whatever its type. */
static bool has_holes(const char *block)
{
    return memcmp(block + MAGIC_AT, "ustar ", 6) == 0 && !is_zeros(block + HOLES_AT, HOLES_LENGTH);
}

/* "<length> <key>=<value>\n", one after the other. What they say of names and times does not matter
 * here, but a file whose size is not that of its header would be read at the wrong place. */
static int check_records(const char *records, size_t size, struct error *err)
{
    static const char sparse[] = "GNU.sparse.";

    while (size) {
        uint64_t length = 0;
        size_t digits = number_scan(records, size, &length);
        const char *key = records + digits + 1, *equals = NULL;

        if (!digits || length < digits + 2 || records[digits] != ' ' || records[length - 1] != '\n')
            return set_damaged(err, "a pax header is none");
        equals = memchr(key, '=', length - digits - 1);
        if (!equals)
            return set_damaged(err, "a pax header is none");
        if (strncmp(key, "size=", 5) == 0 || strncmp(key, sparse, strlen(sparse)) == 0)
            return set_several_sizes(err);
        records += length;
        size -= length;
    }
    return 0;
}

static int read_pax(struct walk *walk, size_t size, struct error *err)
{
    cleanup_free char *records = NULL;

    if (size > PAX_MAX)
        return set_too_large(err);
    records = xcalloc(size + 1, 1);
    if (take(walk, records, size, err) < 0 || check_records(records, size, err) < 0)
        return -1;
    return skip_padding(walk, size, err);
}

/* ---- Files ---- */

/* The text, as far as it is one: *ret_size is 0 where it is none, and all bytes are taken. */
static int collect(struct walk *walk, size_t size, char *text, size_t max, size_t *ret_size,
                   struct error *err)
{
    size_t used = 0;

    while (size) {
        const char *bytes = NULL;
        size_t some = 0;

        if (take_some(walk, size, &bytes, &some, err) < 0)
            return -1;
        size -= some;
        if (memchr(bytes, '\0', some)) {
            explicit_bzero(text, used);
            *ret_size = 0;
            return skip(walk, size, err);
        }
        if (some > max - used)
            return set_too_large(err);
        memcpy(text + used, bytes, some);
        used += some;
    }
    *ret_size = used;
    return 0;
}

static int read_file(struct walk *walk, size_t size, struct error *err)
{
    size_t max = size < walk->budget->text ? size : walk->budget->text;
    char *text = xcalloc(max + 1, 1);
    size_t used = 0;
    int result = collect(walk, size, text, max, &used, err);

    if (result == 0 && used) {
        walk->budget->text -= used;
        walk->options->on_text(walk->options->data, text, used);
    }
    explicit_bzero(text, max);
    free(text);
    return result < 0 ? -1 : skip_padding(walk, size, err);
}

/* What stands behind a header of this type. */
static int read_body(struct walk *walk, char type, size_t size, struct error *err)
{
    switch (type) {
    case '\0':
    case '0':
        return read_file(walk, size, err);
    case '1':
    case '2':
    case '5':
        return size ? set_damaged(err, "a link or a directory has a size") : 0;
    case 'x':
    case 'g':
        return read_pax(walk, size, err);
    case 'L':
    case 'K':
        return skip(walk, size, err) < 0 ? -1 : skip_padding(walk, size, err);
    default:
        return error_set(err, ERROR_INVALID, "archive has an entry that state never has");
    }
}

/* 1: an entry was passed, 0: the blocks that end an archive. */
static int read_entry(struct walk *walk, struct error *err)
{
    char block[BLOCK_SIZE];
    uint64_t size = 0;

    if (take(walk, block, sizeof(block), err) < 0)
        return -1;
    if (is_zeros(block, sizeof(block))) {
        if (take(walk, block, sizeof(block), err) < 0)
            return -1;
        return is_zeros(block, sizeof(block)) ? 0 : set_damaged(err, "it goes on behind its end");
    }
    if (!is_checksum_right(block))
        return set_damaged(err, "a header has another checksum than it says");
    if (!parse_number(block + SIZE_AT, SIZE_LENGTH, &size))
        return set_damaged(err, "a size is none");
    if (has_holes(block))
        return set_several_sizes(err);
    if (size > walk->left + walk->budget->unpacked)
        return set_too_large(err);
    return read_body(walk, block[TYPE_AT], (size_t)size, err) < 0 ? -1 : 1;
}

int tar_text_find(const struct tar_text_options *options, struct tar_text_budget *budget,
                  struct error *err)
{
    struct walk walk = {.options = options, .budget = budget};
    int result = 1;

    walk.gzip = gzip_new(options->read, options->source, options->is_go_state_tolerated);
    while (result > 0)
        result = read_entry(&walk, err);
    /* To the end of the stream: its checksum is compared there. */
    while (result == 0 && (result = next_piece(&walk, err)) > 0)
        result = 0;
    gzip_free(walk.gzip);
    return result;
}
