/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a json_t tree from the events of libyaml. Aliases are copied, not shared, so that changing
 * one part of the tree does not change another; the copies are limited by a budget. Errors have
 * line and column and never quote the text. */
#include "common/data/doc.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc_number.h"
#include "common/data/lexer.h"
#include "common/data/yaml_composer.h"

enum { ALIAS_NODES_MAX = 100000 };

static void composer_done(struct composer *composer)
{
    if (composer->has_event)
        yaml_event_delete(&composer->event);
    yaml_parser_delete(&composer->parser);
    json_decref(composer->anchors);
    string_cache_done(&composer->strings);
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
        out_of_memory();
    if (parser->error == YAML_READER_ERROR)
        return error_set(composer->err, ERROR_INVALID, "byte %zu: %s", parser->problem_offset + 1,
                         parser->problem);
    return composer_fail_at(composer, parser->problem_mark, ERROR_INVALID, parser->problem);
}

static int take_bytes(struct composer *composer, size_t bytes)
{
    composer->tree_bytes += bytes;
    if (composer->tree_bytes > DOC_TREE_MAX_BYTES)
        return composer_fail_at(composer, composer->event.start_mark, ERROR_TOO_LARGE,
                                DOC_TREE_TOO_LARGE);
    return 0;
}

static int compose_alias(struct composer *composer, json_t **ret_value)
{
    const char *name = (const char *)composer->event.data.alias.anchor;
    const json_t *value = json_object_get(composer->anchors, name);

    if (!value)
        return composer_fail(composer,
                             "alias without an anchor before it, or inside its own value");
    if (!doc_budget_take(&composer->aliases, value))
        return composer_fail_at(composer, composer->event.start_mark, ERROR_TOO_LARGE,
                                "the document is too large with its aliases expanded");
    if (composer->depth + doc_height(value) > DOC_DEPTH_MAX)
        return composer_fail(composer, DOC_TOO_DEEP);
    *ret_value = json_deep_copy(value);
    return 0;
}

static int compose_node(struct composer *composer, json_t **ret_value);

static int check_collection(struct composer *composer, const yaml_char_t *tag, const char *allowed,
                            size_t bytes)
{
    const char *name = composer_short_tag(tag);

    if (*name && strcmp(name, allowed) != 0 && strcmp(name, "!") != 0)
        return composer_fail(composer, "unsupported tag for a list or mapping");
    if (++composer->depth > DOC_DEPTH_MAX)
        return composer_fail(composer, DOC_TOO_DEEP);
    return take_bytes(composer, bytes);
}

static int compose_sequence(struct composer *composer, json_t **ret_value)
{
    cleanup_json json_t *array = json_array();

    if (check_collection(composer, composer->event.data.sequence_start.tag, "seq",
                         DOC_WEIGHT_ARRAY) < 0)
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
        /* Go writes keys that are whole numbers without ".0". */
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

/* Appends the mappings of a merge key to merges. */
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
        return composer_fail_at(composer, mark, ERROR_INVALID, "only mappings can be merged");
    json_array_foreach(value, index, item)
    {
        if (!json_is_object(item))
            return composer_fail_at(composer, mark, ERROR_INVALID, "only mappings can be merged");
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
        return composer_fail_at(composer, mark, ERROR_INVALID,
                                "null, a list or a mapping cannot be a key");
    if (!composer->is_repeat_allowed && json_object_get(object, name))
        return composer_fail_at(composer, mark, ERROR_INVALID, "duplicate key");
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

    if (check_collection(composer, composer->event.data.mapping_start.tag, "map",
                         DOC_WEIGHT_OBJECT) < 0)
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
    /* Keys of the mapping itself have priority, then those that are merged first. */
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

/* Builds the node that begins with the current event. */
static int compose_node(struct composer *composer, json_t **ret_value)
{
    cleanup_free char *anchor = xstrdup_or_null(anchor_of(&composer->event));
    json_t *value = NULL;
    int result = -1;

    /* From here on the anchor means this node, which cannot contain itself. */
    if (anchor)
        (void)json_object_del(composer->anchors, anchor);
    switch ((int)composer->event.type) {
    case YAML_ALIAS_EVENT:
        result = compose_alias(composer, &value);
        break;
    case YAML_SCALAR_EVENT:
        result = take_bytes(composer, DOC_WEIGHT_STRING + composer->event.data.scalar.length) < 0
                     ? -1
                     : composer_scalar(composer, &value);
        break;
    case YAML_SEQUENCE_START_EVENT:
        result = compose_sequence(composer, &value);
        break;
    case YAML_MAPPING_START_EVENT:
        result = compose_mapping(composer, &value);
        break;
    default:
        result = composer_fail(composer, "not YAML");
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
            return composer_fail_at(composer, mark, ERROR_INVALID, "more than one document");
    }
}

static int parse(const char *text, size_t size, size_t max_bytes, size_t max_documents,
                 bool is_repeat_allowed, json_t **ret_docs, struct error *err)
{
    cleanup_json json_t *docs = json_array();
    struct composer composer = {
        .is_repeat_allowed = is_repeat_allowed,
        .aliases = {.nodes_left = ALIAS_NODES_MAX, .bytes_left = max_bytes},
        .err = err,
    };
    int result = 0;

    if (size > max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "more than %zu bytes of YAML", max_bytes);
    if (!yaml_parser_initialize(&composer.parser))
        out_of_memory();
    /* libyaml would otherwise detect UTF-16 from the first bytes. */
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

/* libyaml does not accept all of JSON (surrogate pairs, long keys), so text that looks like JSON is
 * first parsed as JSON. */
static bool looks_like_json(const char *text, size_t size, size_t max_bytes)
{
    const char *end = text + size;
    const char *at = lexer_skip_space(text, end);

    return size <= max_bytes && at < end && (*at == '{' || *at == '[');
}

/* Returns 1 if the text is JSON, 0 if it has to be parsed as YAML, and -1 if it is JSON that is too
 * large, which it would be as YAML too. */
static int parse_as_json(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                         struct error *err)
{
    struct error fault = {0};

    if (!looks_like_json(text, size, max_bytes))
        return 0;
    if (doc_parse_json(text, size, size, ret_doc, &fault) == 0)
        return 1;
    if (fault.kind != ERROR_TOO_LARGE)
        return 0;
    *err = fault;
    return -1;
}

int doc_parse_yaml(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                   struct error *err)
{
    cleanup_json json_t *docs = NULL;
    json_t *doc = NULL;
    int result = parse_as_json(text, size, max_bytes, ret_doc, err);

    if (result != 0)
        return result < 0 ? -1 : 0;
    if (parse(text, size, max_bytes, 1, false, &docs, err) < 0)
        return -1;
    doc = json_array_get(docs, 0);
    *ret_doc = doc ? json_incref(doc) : json_null();
    return 0;
}

static int parse_stream(const char *text, size_t size, size_t max_bytes, bool is_repeat_allowed,
                        json_t **ret_docs, struct error *err)
{
    json_t *doc = NULL;
    int result = parse_as_json(text, size, max_bytes, &doc, err);

    if (result < 0)
        return -1;
    if (result > 0) {
        *ret_docs = json_array();
        (void)json_array_append_new(*ret_docs, doc);
        return 0;
    }
    return parse(text, size, max_bytes, SIZE_MAX, is_repeat_allowed, ret_docs, err);
}

int doc_parse_yaml_stream(const char *text, size_t size, size_t max_bytes, json_t **ret_docs,
                          struct error *err)
{
    return parse_stream(text, size, max_bytes, false, ret_docs, err);
}

int doc_parse_yaml_stream_repeated(const char *text, size_t size, size_t max_bytes,
                                   json_t **ret_docs, struct error *err)
{
    return parse_stream(text, size, max_bytes, true, ret_docs, err);
}
