/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a file to a tar+gzip archive without packing the archive again. */
#pragma once

#include "common/archive/pack.h"

/* Writes one file in a form that is added to a tar+gzip archive by being written in front of it: a
 * gzip member of its own, without the mark at the end of an archive. */
int leading_file_pack(const char *name, const char *text, pack_write_fn *write, void *data,
                      struct error *err) must_check;
