/* SPDX-License-Identifier: Apache-2.0 */
/* Composes libyaml's events to a json_t tree. Aliases are copied, never shared, so that a tree is a
 * tree for everyone who changes or writes it; the copies are what the budget counts. Problems are
 * told by line and column and never quote the text. */
#include "common/data/doc.h"

#include <string.h>
#include <yaml.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc_budget.h"
#include "common/data/doc_number.h"
#include "common/data/scalar.h"

enum { ALIAS_NODES_MAX = 100000 };

static const char tag_prefix[] = "tag:yaml.org,2002:";

struct composer {
    yaml_parser_t parser;
    yaml_event_t event; /* the one in hand; next_event() releases it */
    bool has_event;
    json_t *anchors; /* name -> value */
    size_t depth;
    struct doc_budget aliases;
    struct error *err;
};

static void composer_done(struct composer *composer)
{
    if (composer->has_event)
        yaml_event_delete(&composer->event);
    yaml_parser_delete(&composer->parser);
    json_decref(composer->anchors);
}

static int fail_at(struct composer *composer, yaml_mark_t mark, enum error_kind kind,
                   const char *text)
{
    return error_set(composer->err, kind, "line %zu, column %zu: %s", mark.line + 1,
                     mark.column + 1, text);
}

static int fail(struct composer *composer, const char *text)
{
    return fail_at(composer, composer->event.start_mark, ERROR_INVALID, text);
}

static int next_event(struct composer *composer)
{
    const yaml_parser_t *parser = &composer->parser;

    if (composer->has_event)
        yaml_event_delete(&composer->event);
    composer->has_event = false;
    if (yaml_parser_parse(&composer->parser, &composer->event)) {
        composer->has_event = true;
        return 0;
    }
    if (parser->error == YAML_MEMORY_ERROR)
        abort();
    if (parser->error == YAML_READER_ERROR)
        return error_set(composer->err, ERROR_INVALID, "byte %zu: %s", parser->problem_offset + 1,
                         parser->problem);
    return fail_at(composer, parser->problem_mark, ERROR_INVALID, parser->problem);
}

/* "str" of "tag:yaml.org,2002:str"; "" without a tag; the tag itself if it is another's. */
static const char *short_tag(const yaml_char_t *tag)
{
    const char *text = (const char *)tag;

    if (!text)
        return "";
    return strncmp(text, tag_prefix, strlen(tag_prefix)) == 0 ? text + strlen(tag_prefix) : text;
}

static int compose_text(struct composer *composer, const char *text, size_t length,
                        json_t **ret_value)
{
    if (memchr(text, '\0', length))
        return fail(composer, "NUL characters are not allowed");
    *ret_value = json_stringn(text, length);
    return *ret_value ? 0 : fail(composer, "not UTF-8");
}

static int compose_binary(struct composer *composer, const char *text, size_t length,
                          json_t **ret_value)
{
    cleanup_buffer struct buffer bytes = {0};
    struct error ignored = {0};

    buffer_init(&bytes, length);
    if (base64_decode(text, length, &bytes, &ignored) < 0)
        return fail(composer, "!!binary is not base64");
    return compose_text(composer, bytes.data ? bytes.data : "", bytes.size, ret_value);
}

static int compose_resolved(struct composer *composer, const struct scalar *scalar,
                            json_t **ret_value)
{
    switch (scalar->type) {
    case SCALAR_NULL:
        *ret_value = json_null();
        return 0;
    case SCALAR_BOOLEAN:
        *ret_value = json_boolean(scalar->boolean);
        return 0;
    case SCALAR_INTEGER:
        *ret_value = json_integer(scalar->integer);
        return 0;
    case SCALAR_REAL:
        *ret_value = json_real(scalar->real);
        return 0;
    case SCALAR_NOT_FINITE:
        return fail(composer, "infinity and not-a-number have no place in JSON");
    case SCALAR_STRING:
        break;
    }
    return compose_text(composer, (const char *)composer->event.data.scalar.value,
                        composer->event.data.scalar.length, ret_value);
}

static bool fits_tag(const char *tag, struct scalar *scalar)
{
    if (strcmp(tag, "null") == 0)
        return scalar->type == SCALAR_NULL;
    if (strcmp(tag, "bool") == 0)
        return scalar->type == SCALAR_BOOLEAN;
    if (strcmp(tag, "int") == 0)
        return scalar->type == SCALAR_INTEGER;
    if (scalar->type == SCALAR_INTEGER)
        *scalar = (struct scalar){.type = SCALAR_REAL, .real = (double)scalar->integer};
    return scalar->type == SCALAR_REAL || scalar->type == SCALAR_NOT_FINITE;
}

static int compose_scalar(struct composer *composer, json_t **ret_value)
{
    const char *text = (const char *)composer->event.data.scalar.value;
    size_t length = composer->event.data.scalar.length;
    const char *tag = short_tag(composer->event.data.scalar.tag);
    struct scalar scalar = {.type = SCALAR_STRING};

    if (strcmp(tag, "binary") == 0)
        return compose_binary(composer, text, length, ret_value);
    if (strcmp(tag, "null") == 0 || strcmp(tag, "bool") == 0 || strcmp(tag, "int") == 0 ||
        strcmp(tag, "float") == 0) {
        scalar = scalar_resolve(text, length);
        if (!fits_tag(tag, &scalar))
            return fail(composer, "the value does not fit its tag");
    } else if (!*tag) {
        if (composer->event.data.scalar.plain_implicit)
            scalar = scalar_resolve(text, length);
    } else if (strcmp(tag, "str") != 0 && strcmp(tag, "timestamp") != 0 && strcmp(tag, "!") != 0) {
        return fail(composer, "this tag is not known; known are !!str, !!int, !!float, !!bool, "
                              "!!null, !!binary, !!timestamp, !!map, !!seq");
    }
    return compose_resolved(composer, &scalar, ret_value);
}

static int compose_alias(struct composer *composer, json_t **ret_value)
{
    const char *name = (const char *)composer->event.data.alias.anchor;
    const json_t *value = json_object_get(composer->anchors, name);

    if (!value)
        return fail(composer, "this alias has no anchor before it, or is part of its own value");
    if (!doc_budget_take(&composer->aliases, value))
        return fail_at(composer, composer->event.start_mark, ERROR_TOO_LARGE,
                       "aliases make the document too large");
    if (composer->depth + doc_height(value) > DOC_DEPTH_MAX)
        return fail(composer, "too many levels");
    *ret_value = json_deep_copy(value);
    return 0;
}

static int compose_node(struct composer *composer, json_t **ret_value);

static int check_collection(struct composer *composer, const yaml_char_t *tag, const char *allowed)
{
    const char *name = short_tag(tag);

    if (*name && strcmp(name, allowed) != 0 && strcmp(name, "!") != 0)
        return fail(composer, "this tag is not known for a list or a mapping");
    if (++composer->depth > DOC_DEPTH_MAX)
        return fail(composer, "too many levels");
    return 0;
}

static int compose_sequence(struct composer *composer, json_t **ret_value)
{
    cleanup_json json_t *array = json_array();

    if (check_collection(composer, composer->event.data.sequence_start.tag, "seq") < 0)
        return -1;
    for (;;) {
        json_t *item = NULL;

        if (next_event(composer) < 0)
            return -1;
        if (composer->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (compose_node(composer, &item) < 0)
            return -1;
        (void)json_array_append_new(array, item);
    }
    composer->depth--;
    *ret_value = steal(&array);
    return 0;
}

static char *key_text(const json_t *key)
{
    char real[DOC_REAL_MAX] = {0};
    size_t length = 0;

    switch (json_typeof(key)) {
    case JSON_STRING:
        return xstrdup(json_string_value(key));
    case JSON_INTEGER:
        return xasprintf("%lld", (long long)json_integer_value(key));
    case JSON_REAL:
        doc_format_real(json_real_value(key), real);
        length = strlen(real);
        /* Go writes a whole number as a key without ".0". */
        if (length > 2 && strcmp(real + length - 2, ".0") == 0)
            real[length - 2] = '\0';
        return xstrdup(real);
    case JSON_TRUE:
        return xstrdup("true");
    case JSON_FALSE:
        return xstrdup("false");
    case JSON_OBJECT:
    case JSON_ARRAY:
    case JSON_NULL:
        break;
    }
    return NULL;
}

static bool is_merge_key(const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT && event->data.scalar.plain_implicit &&
           strcmp((const char *)event->data.scalar.value, "<<") == 0;
}

/* The value of a merge key, as a list of mappings in *merges. */
static int compose_merge(struct composer *composer, json_t *merges)
{
    cleanup_json json_t *value = NULL;
    yaml_mark_t mark = {0};
    json_t *item = NULL;
    size_t index = 0;

    if (next_event(composer) < 0)
        return -1;
    mark = composer->event.start_mark;
    if (compose_node(composer, &value) < 0)
        return -1;
    if (json_is_object(value)) {
        (void)json_array_append(merges, value);
        return 0;
    }
    if (!json_is_array(value))
        return fail_at(composer, mark, ERROR_INVALID, "only mappings can be merged");
    json_array_foreach(value, index, item)
    {
        if (!json_is_object(item))
            return fail_at(composer, mark, ERROR_INVALID, "only mappings can be merged");
        (void)json_array_append(merges, item);
    }
    return 0;
}

static int compose_member(struct composer *composer, json_t *object)
{
    cleanup_json json_t *key = NULL;
    cleanup_free char *name = NULL;
    yaml_mark_t mark = composer->event.start_mark;
    json_t *value = NULL;

    if (compose_node(composer, &key) < 0)
        return -1;
    name = key_text(key);
    if (!name)
        return fail_at(composer, mark, ERROR_INVALID, "this can't be a key");
    if (json_object_get(object, name))
        return fail_at(composer, mark, ERROR_INVALID, "a key appears twice in one mapping");
    if (next_event(composer) < 0 || compose_node(composer, &value) < 0)
        return -1;
    (void)json_object_set_new_nocheck(object, name, value);
    return 0;
}

static int compose_mapping(struct composer *composer, json_t **ret_value)
{
    cleanup_json json_t *object = json_object();
    cleanup_json json_t *merges = json_array();
    json_t *merge = NULL;
    size_t index = 0;

    if (check_collection(composer, composer->event.data.mapping_start.tag, "map") < 0)
        return -1;
    for (;;) {
        if (next_event(composer) < 0)
            return -1;
        if (composer->event.type == YAML_MAPPING_END_EVENT)
            break;
        if ((is_merge_key(&composer->event) ? compose_merge(composer, merges)
                                            : compose_member(composer, object)) < 0)
            return -1;
    }
    /* The mapping's own keys win, then those that are merged first. */
    json_array_foreach(merges, index, merge)
    {
        (void)json_object_update_missing(object, merge);
    }
    composer->depth--;
    *ret_value = steal(&object);
    return 0;
}

static const char *anchor_of(const yaml_event_t *event)
{
    switch ((int)event->type) {
    case YAML_SCALAR_EVENT:
        return (const char *)event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return (const char *)event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return (const char *)event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

/* Composes the node that the event in hand begins. */
static int compose_node(struct composer *composer, json_t **ret_value)
{
    cleanup_free char *anchor = xstrdup_or_null(anchor_of(&composer->event));
    json_t *value = NULL;
    int result = -1;

    /* From here on the name means this node, which can't contain itself. */
    if (anchor)
        (void)json_object_del(composer->anchors, anchor);
    switch ((int)composer->event.type) {
    case YAML_ALIAS_EVENT:
        result = compose_alias(composer, &value);
        break;
    case YAML_SCALAR_EVENT:
        result = compose_scalar(composer, &value);
        break;
    case YAML_SEQUENCE_START_EVENT:
        result = compose_sequence(composer, &value);
        break;
    case YAML_MAPPING_START_EVENT:
        result = compose_mapping(composer, &value);
        break;
    default:
        result = fail(composer, "not YAML");
        break;
    }
    if (result < 0)
        return -1;
    if (anchor)
        (void)json_object_set_nocheck(composer->anchors, anchor, value);
    *ret_value = value;
    return 0;
}

static int compose_stream(struct composer *composer, size_t max_documents, json_t *docs)
{
    for (;;) {
        json_t *doc = NULL;
        yaml_mark_t mark = {0};

        if (next_event(composer) < 0)
            return -1;
        if (composer->event.type == YAML_STREAM_END_EVENT)
            return 0;
        if (composer->event.type != YAML_DOCUMENT_START_EVENT)
            continue;
        mark = composer->event.start_mark;
        (void)json_object_clear(composer->anchors);
        if (next_event(composer) < 0 || compose_node(composer, &doc) < 0)
            return -1;
        if (json_is_null(doc))
            continue;
        (void)json_array_append_new(docs, doc);
        if (json_array_size(docs) > max_documents)
            return fail_at(composer, mark, ERROR_INVALID, "more than one document");
    }
}

static int parse(const char *text, size_t size, size_t max_bytes, size_t max_documents,
                 json_t **ret_docs, struct error *err)
{
    cleanup_json json_t *docs = json_array();
    struct composer composer = {
        .aliases = {.nodes_left = ALIAS_NODES_MAX, .bytes_left = max_bytes},
        .err = err,
    };
    int result = 0;

    if (size > max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "more than %zu bytes of YAML", max_bytes);
    if (!yaml_parser_initialize(&composer.parser))
        abort();
    /* UTF-16 would be guessed from the first bytes otherwise. */
    yaml_parser_set_encoding(&composer.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&composer.parser, (const unsigned char *)text, size);
    composer.anchors = json_object();
    result = compose_stream(&composer, max_documents, docs);
    composer_done(&composer);
    if (result < 0)
        return -1;
    *ret_docs = steal(&docs);
    return 0;
}

/* libyaml does not take all of JSON (surrogate pairs, long keys), so what looks like JSON is tried
 * as such first. */
static bool parse_as_json(const char *text, size_t size, json_t **ret_doc)
{
    struct error ignored = {0};
    size_t at = 0;

    while (at < size && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at < size && (text[at] == '{' || text[at] == '[') &&
           doc_parse_json(text, size, size, ret_doc, &ignored) == 0;
}

int doc_parse_yaml(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                   struct error *err)
{
    cleanup_json json_t *docs = NULL;
    json_t *doc = NULL;

    if (size <= max_bytes && parse_as_json(text, size, ret_doc))
        return 0;
    if (parse(text, size, max_bytes, 1, &docs, err) < 0)
        return -1;
    doc = json_array_get(docs, 0);
    *ret_doc = doc ? json_incref(doc) : json_null();
    return 0;
}

int doc_parse_yaml_stream(const char *text, size_t size, size_t max_bytes, json_t **ret_docs,
                          struct error *err)
{
    json_t *doc = NULL;

    if (size <= max_bytes && parse_as_json(text, size, &doc)) {
        *ret_docs = json_array();
        (void)json_array_append_new(*ret_docs, doc);
        return 0;
    }
    return parse(text, size, max_bytes, SIZE_MAX, ret_docs, err);
}
