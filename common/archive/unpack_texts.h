/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text files of a gzipped state archive without restoring it. The controller does this
 * with archives of its users, so memory and time are bounded, nothing is written, and compression
 * other than gzip is refused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/archive/unpack.h"

/* What may still be read; counted down, so that several archives can share one budget. */
struct text_budget {
    size_t unpacked; /* bytes of the tar stream, headers and padding included */
    size_t text;     /* bytes of text files */
};

/* text is borrowed and wiped after the call. It has size bytes, at least one, none of them NUL, and
 * a NUL after them; it is NULL for a file that has a NUL in it. name is that of the archive,
 * unchecked. */
typedef void unpack_text_fn(void *data, const char *name, const char *text, size_t size);

struct unpack_texts_options {
    unpack_read_fn *read; /* the packed bytes */
    void *source;
    bool is_go_state_tolerated; /* see struct unpack_options */
    unpack_text_fn *on_text;
    void *data;
};

/* Calls on_text for every regular file that is not empty, in the order of the archive, with the
 * content that unpack_stream() would restore. The source is read to its end.
 *
 * ERROR_INVALID: damaged, or an entry that state never has (device, FIFO, file with holes);
 * ERROR_TOO_LARGE: the budget is used up; or the source's error. on_text has then been called for
 * the files before. */
int unpack_texts(const struct unpack_texts_options *options, struct text_budget *budget,
                 struct error *err) must_check;
