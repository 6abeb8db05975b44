/* SPDX-License-Identifier: Apache-2.0 */
/* Builds tar archives byte by byte, including malformed ones. For tests and fuzzers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"

struct tar_spec {
    const char *name;
    char type;          /* 0: '0' */
    const char *target; /* of links */
    const char *data;   /* NULL: none */
    unsigned mode;      /* 0: 0644 */
    uint64_t size;      /* 0: that of data; otherwise the size in the header, even if it is wrong */
    const char *pax;    /* records of a pax header before the entry: "path=x\nmtime=1.5\n" */
    const char *gnu_name; /* long name before the entry, as GNU tar has it */
};

void tar_builder_init(struct buffer *tar);
void tar_builder_add(struct buffer *tar, const struct tar_spec *spec);
void tar_builder_add_bytes(struct buffer *tar, const void *bytes, size_t size);
void tar_builder_end(struct buffer *tar);

enum tar_packing { TAR_PLAIN, TAR_GZIP, TAR_ZSTD, TAR_XZ, TAR_BZIP2, TAR_PACKINGS };
/* The packed bytes belong to the caller. */
struct buffer tar_builder_pack(const void *bytes, size_t size, enum tar_packing packing);
