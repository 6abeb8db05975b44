/* SPDX-License-Identifier: Apache-2.0 */
#include "init/chart_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

enum {
    LINE_MAX_BYTES = 1024 * 1024,
    VERSIONS_SHOWN_MAX = 5,
};

enum place {
    PLACE_START,   /* nothing but comments and the document marker was seen */
    PLACE_BEFORE,  /* before "entries:" */
    PLACE_ENTRIES, /* below it, in other charts */
    PLACE_CHART,   /* in the list of the chart */
    PLACE_AFTER,   /* behind it: the rest is skipped */
    PLACE_WHOLE,   /* not block YAML: everything is kept */
};

struct chart_index {
    char *name;
    enum place place;
    size_t indent; /* of the names of charts */
    struct buffer line, kept;
};

struct chart_index *chart_index_new(const char *name)
{
    struct chart_index *index = xcalloc(1, sizeof(*index));

    index->name = xstrdup(name);
    buffer_init(&index->line, LINE_MAX_BYTES);
    buffer_init(&index->kept, CHART_INDEX_ENTRIES_MAX);
    return index;
}

void chart_index_free(struct chart_index *index)
{
    if (!index)
        return;
    free(index->name);
    buffer_done(&index->line);
    buffer_done(&index->kept);
    free(index);
}

/* ---- Lines ---- */

static bool is_blank(const char *text)
{
    return !*text || *text == '\r' || *text == '#';
}

/* Whether text is this key, plain or in quotes, followed by a colon. */
static bool is_key(const char *text, const char *key)
{
    char quote = *text == '"' || *text == '\'' ? *text : '\0';
    size_t length = strlen(key);

    if (quote)
        text++;
    if (strncmp(text, key, length) != 0)
        return false;
    text += length;
    if (quote && *text++ != quote)
        return false;
    return *text == ':';
}

static int keep(struct chart_index *index, const char *line, struct error *err)
{
    if (buffer_append(&index->kept, line, strlen(line), err) < 0 ||
        buffer_append(&index->kept, "\n", 1, err) < 0)
        return error_set(err, ERROR_TOO_LARGE,
                         "index.yaml: the entries of chart \"%s\" exceed %d bytes", index->name,
                         CHART_INDEX_ENTRIES_MAX);
    return 0;
}

/* A line below "entries:" that is not part of the chart. */
static int take_entry_line(struct chart_index *index, const char *line, size_t indent,
                           struct error *err)
{
    const char *text = line + indent;

    if (indent == 0 && *text != '-') {
        index->place = PLACE_AFTER;
        return 0;
    }
    if (index->indent == 0)
        index->indent = indent;
    if (indent != index->indent || !is_key(text, index->name))
        return 0;
    index->place = PLACE_CHART;
    return keep(index, text, err); /* "name:" and, rarely, a value on the same line */
}

static int take_line(struct chart_index *index, const char *line, struct error *err)
{
    size_t indent = strspn(line, " ");
    const char *text = line + indent;

    if (index->place == PLACE_AFTER || (index->place != PLACE_WHOLE && is_blank(text)))
        return 0;
    switch (index->place) {
    case PLACE_START:
        if (*text == '{') {
            index->place = PLACE_WHOLE;
            return keep(index, line, err);
        }
        index->place = PLACE_BEFORE;
        break;
    case PLACE_WHOLE:
        return keep(index, line, err);
    case PLACE_ENTRIES:
        return take_entry_line(index, line, indent, err);
    case PLACE_CHART:
        /* A list may have the indentation of its key. */
        if (indent > index->indent || (indent == index->indent && *text == '-'))
            return keep(index, line, err);
        index->place = PLACE_AFTER;
        return 0;
    case PLACE_BEFORE:
    case PLACE_AFTER:
        break;
    }
    if (indent == 0 && is_key(text, "entries"))
        index->place = PLACE_ENTRIES;
    return 0;
}

int chart_index_add(struct chart_index *index, const char *bytes, size_t size, struct error *err)
{
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t length = end ? (size_t)(end - bytes) : size;

        if (index->place != PLACE_AFTER && buffer_append(&index->line, bytes, length, err) < 0)
            return error_set(err, ERROR_TOO_LARGE, "index.yaml: a line exceeds %d bytes",
                             LINE_MAX_BYTES);
        if (!end)
            return 0;
        if (take_line(index, index->line.data ? index->line.data : "", err) < 0)
            return -1;
        buffer_clear(&index->line);
        bytes = end + 1;
        size -= length + 1;
    }
    return 0;
}

/* ---- The entry ---- */

static const char *without_v(const char *version)
{
    return *version == 'v' ? version + 1 : version;
}

static const json_t *find_version(const json_t *list, const char *version, bool is_exact)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *found = doc_text_or(entry, "version", "");

        if (strcmp(is_exact ? found : without_v(found), is_exact ? version : without_v(version)) ==
            0)
            return entry;
    }
    return NULL;
}

static int fail_missing(const struct chart_index *index, const json_t *list, const char *version,
                        struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    struct error ignored = {0};

    buffer_init(&text, 256);
    if (json_array_size(list) == 0)
        return error_set(err, ERROR_NOT_FOUND, "the repository has no chart \"%s\"", index->name);
    for (size_t i = 0; i < json_array_size(list) && i < VERSIONS_SHOWN_MAX; i++)
        (void)!buffer_append_text(&text, &ignored, "%s%s", i ? ", " : "",
                                  doc_text_or(json_array_get(list, i), "version", "?"));
    return error_set(err, ERROR_NOT_FOUND,
                     "the repository has no version \"%s\" of chart \"%s\", but %s%s", version,
                     index->name, text.data ? text.data : "others",
                     json_array_size(list) > VERSIONS_SHOWN_MAX ? " and others" : "");
}

int chart_index_find(struct chart_index *index, const char *version, json_t **ret_entry,
                     struct error *err)
{
    cleanup_json json_t *doc = NULL;
    const json_t *list = NULL;
    const json_t *entry = NULL;

    if (index->line.size > 0) {
        if (take_line(index, index->line.data, err) < 0)
            return -1;
        buffer_clear(&index->line);
    }
    if (index->place == PLACE_START || index->place == PLACE_BEFORE)
        return error_set(err, ERROR_INVALID,
                         "index.yaml has no \"entries\": is this a chart repository?");
    if (doc_parse_yaml(index->kept.data ? index->kept.data : "", index->kept.size,
                       CHART_INDEX_ENTRIES_MAX, &doc, err) < 0)
        return error_wrap(err, "index.yaml: entries of chart \"%s\"", index->name);
    list = index->place == PLACE_WHOLE ? doc_member(doc_member(doc, "entries"), index->name)
                                       : doc_member(doc, index->name);
    entry = find_version(list, version, true);
    if (!entry)
        entry = find_version(list, version, false);
    if (!entry)
        return fail_missing(index, list, version, err);
    if (!json_is_string(json_array_get(doc_member(entry, "urls"), 0)))
        return error_set(err, ERROR_INVALID, "index.yaml: chart \"%s\" %s has no URL", index->name,
                         version);
    *ret_entry = json_incref(doc_writable(entry));
    return 0;
}
