/* SPDX-License-Identifier: Apache-2.0 */
/* Finds one chart in the index.yaml of a classic chart repository. An index can have tens of
 * megabytes; only the lines about the chart are kept and parsed. Index files are block YAML, as
 * helm writes them, or JSON. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* Of the entries of the one chart; and of an index that is not block YAML. */
enum { CHART_INDEX_ENTRIES_MAX = 8 * 1024 * 1024 };

struct chart_index;

/* name is copied. */
struct chart_index *chart_index_new(const char *name);
void chart_index_free(struct chart_index *index); /* NULL is fine */
define_cleanup(struct chart_index *, chart_index_free)
#define cleanup_chart_index __attribute__((cleanup(chart_index_freep)))

/* The next bytes of the file. */
int chart_index_add(struct chart_index *index, const char *bytes, size_t size, struct error *err)
    must_check;
/* After the last byte: the entry of this version, a new reference, which has at least one URL.
 * ERROR_NOT_FOUND lists versions that exist. A "v" in front of a version is ignored if there is no
 * such version otherwise, as helm does. */
int chart_index_find(struct chart_index *index, const char *version, json_t **ret_entry,
                     struct error *err) must_check;
