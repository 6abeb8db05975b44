/* SPDX-License-Identifier: Apache-2.0 */
/* The text files of a gzipped tar, looked at and not unpacked: without a file system, and without
 * libarchive, for the controller is privileged and the bytes are its users'. What no writer of
 * state (ours, Go's) writes is told as damage; nothing is guessed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/archive/unpack.h"

/* What may still be looked at; counted down, so that several archives can share one. */
struct tar_text_budget {
    size_t unpacked; /* of the tar stream: headers, padding and all kinds of files */
    size_t text;     /* of text files */
};

/* Borrowed, and wiped afterwards. At least one byte, no NUL among them and one behind them. */
typedef void tar_text_fn(void *data, const char *text, size_t size);

struct tar_text_options {
    unpack_read_fn *read; /* the packed bytes */
    void *source;
    bool is_go_state_tolerated; /* as of unpack_stream() */
    tar_text_fn *on_text;
    void *data;
};

/* Hands on every regular file that has no NUL in it: one that has is no text. Memory and time are
 * bounded by the budget, whatever the archive says. ERROR_INVALID: damaged, or none of ours;
 * ERROR_TOO_LARGE: the budget does not suffice. What was found until then has been handed on. The
 * source is read to its end unless Go's tail is tolerated. */
int tar_text_find(const struct tar_text_options *options, struct tar_text_budget *budget,
                  struct error *err) must_check;
