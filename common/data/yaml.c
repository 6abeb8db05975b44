/* SPDX-License-Identifier: Apache-2.0 */
/* Composes libyaml's events to a json_t tree. Aliases are copied, never shared, so that a tree is a
 * tree for everyone who changes or writes it; the copies are what the budget counts. Problems are
 * told by line and column and never quote the text. */
#include "common/data/doc.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc_lists_json.h"
#include "common/data/doc_number.h"
#include "common/data/yaml_composer.h"

enum { ALIAS_NODES_MAX = 100000 };

static void composer_done(struct composer *composer)
{
    if (composer->has_event)
        yaml_event_delete(&composer->event);
    yaml_parser_delete(&composer->parser);
    json_decref(composer->anchors);
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

/* Where lists are handed over, the tree is small, or refused. */
static int take_weight(struct composer *composer, size_t bytes)
{
    composer->weight.all += bytes;
    if (composer->lists && composer->weight.all > composer->lists->tree_max_bytes)
        return composer_fail_at(composer, composer->event.start_mark, ERROR_TOO_LARGE,
                                DOC_LISTS_TOO_LARGE);
    return 0;
}

static int compose_alias(struct composer *composer, json_t **ret_value)
{
    const struct doc_budget before = composer->aliases;
    const char *name = (const char *)composer->event.data.alias.anchor;
    const json_t *value = json_object_get(composer->anchors, name);

    if (!value)
        return composer_fail(composer,
                             "this alias has no anchor before it, or is part of its own value");
    if (!doc_budget_take(&composer->aliases, value))
        return composer_fail_at(composer, composer->event.start_mark, ERROR_TOO_LARGE,
                                "aliases make the document too large");
    if (composer->depth + doc_height(value) > DOC_DEPTH_MAX)
        return composer_fail(composer, "too many levels");
    if (take_weight(composer, (before.nodes_left - composer->aliases.nodes_left) * WEIGHT_OBJECT +
                                  before.bytes_left - composer->aliases.bytes_left) < 0)
        return -1;
    *ret_value = json_deep_copy(value);
    return 0;
}

static int compose_node(struct composer *composer, json_t **ret_value);

static int check_collection(struct composer *composer, const yaml_char_t *tag, const char *allowed,
                            size_t weight)
{
    const char *name = composer_short_tag(tag);

    if (*name && strcmp(name, allowed) != 0 && strcmp(name, "!") != 0)
        return composer_fail(composer, "this tag is not known for a list or a mapping");
    if (++composer->depth > DOC_DEPTH_MAX)
        return composer_fail(composer, "too many levels");
    if (composer->depth <= COMPOSER_KEYS)
        composer->keys[composer->depth - 1] = NULL;
    return take_weight(composer, weight);
}

/* The list whose start was just read, or count. What an anchor may repeat elsewhere is kept. */
static size_t find_list(const struct composer *composer, size_t count)
{
    if (count == 0 || composer->depth != COMPOSER_KEYS + 1 || composer->open_anchors > 0 ||
        !composer->keys[0] || !composer->keys[1])
        return count;
    return doc_lists_find(composer->lists, composer->keys);
}

static void hand_over(struct composer *composer, size_t list, json_t *item,
                      const struct composer_weight *before)
{
    composer->lists->on_element(composer->lists->data, list, item);
    json_decref(item);
    composer->weight.all = before->all + composer->weight.anchored - before->anchored;
}

static int compose_sequence(struct composer *composer, json_t **ret_value)
{
    cleanup_json json_t *array = json_array();
    size_t list_count = composer->lists ? composer->lists->count : 0;
    size_t list = 0;

    if (check_collection(composer, composer->event.data.sequence_start.tag, "seq", WEIGHT_ARRAY) <
        0)
        return -1;
    list = find_list(composer, list_count);
    for (;;) {
        const struct composer_weight before = composer->weight;
        json_t *item = NULL;

        if (next_event(composer) < 0)
            return -1;
        if (composer->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (compose_node(composer, &item) < 0)
            return -1;
        if (list < list_count)
            hand_over(composer, list, item, &before);
        else
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
        return composer_fail_at(composer, mark, ERROR_INVALID, "this can't be a key");
    if (json_object_get(object, name))
        return composer_fail_at(composer, mark, ERROR_INVALID,
                                "a key appears twice in one mapping");
    if (composer->depth <= COMPOSER_KEYS)
        composer->keys[composer->depth - 1] = name;
    if (next_event(composer) < 0 || compose_node(composer, &value) < 0)
        return -1;
    if (composer->depth <= COMPOSER_KEYS)
        composer->keys[composer->depth - 1] = NULL;
    (void)json_object_set_new_nocheck(object, name, value);
    return 0;
}

static int compose_mapping(struct composer *composer, json_t **ret_value)
{
    cleanup_json json_t *object = json_object();
    cleanup_json json_t *merges = json_array();
    json_t *merge = NULL;
    size_t index = 0;

    if (check_collection(composer, composer->event.data.mapping_start.tag, "map", WEIGHT_OBJECT) <
        0)
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
    size_t weight = composer->weight.all;
    json_t *value = NULL;
    int result = -1;

    /* From here on the name means this node, which can't contain itself. */
    if (anchor)
        (void)json_object_del(composer->anchors, anchor);
    composer->open_anchors += anchor != NULL;
    switch ((int)composer->event.type) {
    case YAML_ALIAS_EVENT:
        result = compose_alias(composer, &value);
        break;
    case YAML_SCALAR_EVENT:
        result = take_weight(composer, WEIGHT_SCALAR + composer->event.data.scalar.length) < 0
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
    if (anchor) {
        composer->open_anchors--;
        composer->weight.anchored += composer->weight.all - weight;
        (void)json_object_set_nocheck(composer->anchors, anchor, value);
    }
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
                 const struct doc_lists *lists, json_t **ret_docs, struct error *err)
{
    cleanup_json json_t *docs = json_array();
    struct composer composer = {
        .aliases = {.nodes_left = ALIAS_NODES_MAX, .bytes_left = max_bytes},
        .lists = lists,
        .err = err,
    };
    int result = 0;

    if (size > max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "more than %zu bytes of YAML", max_bytes);
    if (!yaml_parser_initialize(&composer.parser))
        out_of_memory();
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
static bool looks_like_json(const char *text, size_t size, size_t max_bytes)
{
    size_t at = 0;

    while (at < size && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return size <= max_bytes && at < size && (text[at] == '{' || text[at] == '[');
}

static bool parse_as_json(const char *text, size_t size, size_t max_bytes, json_t **ret_doc)
{
    struct error ignored = {0};

    return looks_like_json(text, size, max_bytes) &&
           doc_parse_json(text, size, size, ret_doc, &ignored) == 0;
}

static int parse_one(const char *text, size_t size, size_t max_bytes, const struct doc_lists *lists,
                     json_t **ret_doc, struct error *err)
{
    cleanup_json json_t *docs = NULL;
    json_t *doc = NULL;

    if (parse(text, size, max_bytes, 1, lists, &docs, err) < 0)
        return -1;
    doc = json_array_get(docs, 0);
    *ret_doc = doc ? json_incref(doc) : json_null();
    return 0;
}

int doc_parse_yaml(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                   struct error *err)
{
    if (parse_as_json(text, size, max_bytes, ret_doc))
        return 0;
    return parse_one(text, size, max_bytes, NULL, ret_doc, err);
}

int doc_parse_yaml_stream(const char *text, size_t size, size_t max_bytes, json_t **ret_docs,
                          struct error *err)
{
    json_t *doc = NULL;

    if (parse_as_json(text, size, max_bytes, &doc)) {
        *ret_docs = json_array();
        (void)json_array_append_new(*ret_docs, doc);
        return 0;
    }
    return parse(text, size, max_bytes, SIZE_MAX, NULL, ret_docs, err);
}

/* Lists that stood behind an anchor or a merge key are still in the tree. */
static void hand_over_rest(const struct doc_lists *lists, const json_t *doc)
{
    for (size_t i = 0; i < lists->count; i++) {
        const json_t *parent = doc_member(doc, lists->paths[i].keys[0]);
        json_t *list = json_object_get(parent, lists->paths[i].keys[1]);

        for (size_t k = 0; k < json_array_size(list); k++)
            lists->on_element(lists->data, i, json_array_get(list, k));
        (void)json_array_clear(list);
    }
}

int doc_parse_yaml_lists(const char *text, size_t size, size_t max_bytes,
                         const struct doc_lists *lists, json_t **ret_doc, struct error *err)
{
    struct error not_json = {0};

    if (looks_like_json(text, size, max_bytes)) {
        if (doc_lists_read_json(text, size, lists, ret_doc, &not_json) == 0)
            return 0;
        if (not_json.kind == ERROR_TOO_LARGE) {
            *err = not_json;
            return -1;
        }
    }
    lists->on_begin(lists->data);
    if (parse_one(text, size, max_bytes, lists, ret_doc, err) < 0)
        return -1;
    hand_over_rest(lists, *ret_doc);
    return 0;
}
