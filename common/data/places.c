/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/places.h"

#include <jansson.h>
#include <string.h>
#include <yaml.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

/* Longer paths are not found; those around them are. */
enum { PATH_MAX_BYTES = 64 * 1024 };

struct places {
    /* Per document: path -> null, or [key line, key column, line, column] once it is found. */
    json_t *documents;
};

struct places *places_new(void)
{
    struct places *places = xcalloc(1, sizeof(*places));

    places->documents = json_array();
    return places;
}

void places_free(struct places *places)
{
    if (!places)
        return;
    json_decref(places->documents);
    free(places);
}

/* ---- paths ---- */

bool place_key_is_quoted(const char *key)
{
    return strpbrk(key, ".[]/") || !*key;
}

/* The length of the path around this one; 0 for the document. */
static size_t parent_length(const char *path, size_t length)
{
    if (length == 0)
        return 0;
    if (path[length - 1] == ']') {
        while (length > 0 && path[length - 1] != '[')
            length--;
        return length > 0 ? length - 1 : 0;
    }
    if (path[length - 1] == '"') {
        for (length--; length > 0 && path[length - 1] != '"';)
            length--;
        length = length > 0 ? length - 1 : 0;
        return length > 0 ? length - 1 : 0;
    }
    while (length > 0 && path[length - 1] != '.')
        length--;
    return length > 0 ? length - 1 : 0;
}

void places_want(struct places *places, size_t document, const char *path)
{
    size_t length = strlen(path);
    json_t *wanted = NULL;

    while (json_array_size(places->documents) <= document)
        (void)json_array_append_new(places->documents, json_object());
    wanted = json_array_get(places->documents, document);
    for (;;) {
        if (!json_object_getn(wanted, path, length))
            (void)json_object_setn_new_nocheck(wanted, path, length, json_null());
        if (length == 0)
            break;
        length = parent_length(path, length);
    }
}

/* ---- search ---- */

struct search {
    yaml_parser_t parser;
    yaml_event_t event;
    json_t *wanted; /* of the current document; NULL: nothing */
    struct buffer path;
    size_t depth;
};

static bool next(struct search *search)
{
    yaml_event_delete(&search->event);
    return yaml_parser_parse(&search->parser, &search->event);
}

static bool is_collection(const struct search *search)
{
    return search->event.type == YAML_MAPPING_START_EVENT ||
           search->event.type == YAML_SEQUENCE_START_EVENT;
}

/* "key:" without a value. Its mark may be behind the end of the text. */
static bool is_empty(const struct search *search)
{
    return search->event.type == YAML_SCALAR_EVENT && search->event.data.scalar.length == 0;
}

/* The current event begins the value at the current path. */
static void note(struct search *search, const yaml_mark_t *key)
{
    const char *path = search->path.data ? search->path.data : "";
    const yaml_mark_t *mark =
        key && (is_collection(search) || is_empty(search)) ? key : &search->event.start_mark;
    const json_t *found = json_object_getn(search->wanted, path, search->path.size);

    if (!key)
        key = mark;
    /* The first one counts: YAML text with a duplicate key is refused elsewhere. */
    if (json_is_null(found))
        (void)json_object_setn_new_nocheck(
            search->wanted, path, search->path.size,
            json_pack("[IIII]", (json_int_t)key->line + 1, (json_int_t)key->column + 1,
                      (json_int_t)mark->line + 1, (json_int_t)mark->column + 1));
}

static bool visit(struct search *search);

/* Visits the value at path + "." + key, or at path + [index] if key is NULL. */
static bool visit_at(struct search *search, const char *key, size_t index, const yaml_mark_t *mark)
{
    const char *quote = key && place_key_is_quoted(key) ? "\"" : "";
    size_t size = search->path.size;
    struct error err = {0};
    bool is_fine = false;
    int result = key ? buffer_append_text(&search->path, &err, "%s%s%s%s", size > 0 ? "." : "",
                                          quote, key, quote)
                     : buffer_append_text(&search->path, &err, "[%zu]", index);

    if (result < 0)
        return false;
    note(search, mark);
    is_fine = visit(search);
    search->path.size = size;
    search->path.data[size] = '\0';
    return is_fine;
}

static bool visit_members(struct search *search)
{
    for (;;) {
        cleanup_free char *key = NULL;
        yaml_mark_t mark = {0};

        if (!next(search))
            return false;
        if (search->event.type == YAML_MAPPING_END_EVENT)
            return true;
        /* A key that is not a scalar is refused by the parser of doc.h, and so is the text. */
        if (search->event.type != YAML_SCALAR_EVENT)
            return false;
        key = xstrdup((const char *)search->event.data.scalar.value);
        mark = search->event.start_mark;
        if (!next(search) || !visit_at(search, key, 0, &mark))
            return false;
    }
}

static bool visit_elements(struct search *search)
{
    for (size_t i = 0;; i++) {
        if (!next(search))
            return false;
        if (search->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        if (!visit_at(search, NULL, i, NULL))
            return false;
    }
}

/* Goes through the node that begins with the current event. False: the text ends here. */
static bool visit(struct search *search)
{
    bool is_fine = true;

    if (!is_collection(search))
        return true;
    if (++search->depth > DOC_DEPTH_MAX)
        return false;
    is_fine = search->event.type == YAML_MAPPING_START_EVENT ? visit_members(search)
                                                             : visit_elements(search);
    search->depth--;
    return is_fine;
}

/* doc_parse_yaml_stream() leaves such documents out. */
static bool is_null_document(const yaml_event_t *event)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};

    if (event->type != YAML_SCALAR_EVENT || !event->data.scalar.plain_implicit)
        return false;
    for (size_t i = 0; i < array_length(nulls); i++) {
        if (strcmp(nulls[i], (const char *)event->data.scalar.value) == 0)
            return true;
    }
    return false;
}

static void search_documents(struct search *search, const json_t *documents)
{
    size_t document = 0;

    while (document < json_array_size(documents)) {
        if (!next(search) || search->event.type == YAML_STREAM_END_EVENT)
            return;
        if (search->event.type != YAML_DOCUMENT_START_EVENT)
            continue;
        if (!next(search))
            return;
        if (is_null_document(&search->event))
            continue;
        search->wanted = json_array_get(documents, document++);
        note(search, NULL);
        if (!visit(search))
            return;
    }
}

void places_search(struct places *places, const char *text, size_t size)
{
    struct search search = {0};

    if (!yaml_parser_initialize(&search.parser))
        out_of_memory();
    buffer_init(&search.path, PATH_MAX_BYTES);
    yaml_parser_set_encoding(&search.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&search.parser, (const unsigned char *)text, size);
    search_documents(&search, places->documents);
    yaml_event_delete(&search.event);
    yaml_parser_delete(&search.parser);
    buffer_done(&search.path);
}

struct place places_get(const struct places *places, size_t document, const char *path, bool is_key)
{
    const json_t *wanted = json_array_get(places->documents, document);
    size_t length = strlen(path);
    const json_t *found = json_object_getn(wanted, path, length);

    while (!json_is_array(found) && length > 0) {
        length = parent_length(path, length);
        found = json_object_getn(wanted, path, length);
        is_key = true;
    }
    if (!json_is_array(found))
        return (struct place){1, 1};
    return (struct place){
        (size_t)json_integer_value(json_array_get(found, is_key ? 0 : 2)),
        (size_t)json_integer_value(json_array_get(found, is_key ? 1 : 3)),
    };
}
