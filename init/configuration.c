/* SPDX-License-Identifier: Apache-2.0 */
#include "init/configuration.h"

#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

#define KEY_IMPORTS "importValues"

/* ---- importValues, verbatim ---- */

/* A parsed and printed number is not always the same number: the value is copied as text. */
struct span {
    size_t start, length;
};

static size_t skip_string(const char *text, size_t size, size_t at)
{
    for (at++; at < size && text[at] != '"'; at++) {
        if (text[at] == '\\')
            at++;
    }
    return at < size ? at + 1 : size;
}

static size_t skip_space(const char *text, size_t size, size_t at)
{
    while (at < size && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at;
}

/* Past one value: strings and brackets are enough to find its end in what is JSON; what is not is
 * refused by the parser afterwards. */
static size_t skip_value(const char *text, size_t size, size_t at)
{
    size_t depth = 0;

    while (at < size) {
        char c = text[at];

        if (c == '"') {
            at = skip_string(text, size, at);
            if (depth == 0)
                return at;
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return at;
        if (c == '{' || c == '[')
            depth++;
        if ((c == '}' || c == ']') && --depth == 0)
            return at + 1;
        at++;
    }
    return size;
}

/* The value of a member of the object that text is. */
static bool find_member(const char *text, size_t size, const char *key, struct span *ret_span)
{
    size_t at = skip_space(text, size, 0);
    size_t length = strlen(key);

    if (at >= size || text[at] != '{')
        return false;
    at++;
    for (;;) {
        size_t name = skip_space(text, size, at);
        size_t value = 0;

        if (name >= size || text[name] != '"')
            return false;
        at = skip_string(text, size, name);
        value = skip_space(text, size, at);
        if (value >= size || text[value] != ':')
            return false;
        value = skip_space(text, size, value + 1);
        at = skip_value(text, size, value);
        if (at - value > 0 && value - name > length + 1 && text[name + length + 1] == '"' &&
            strncmp(text + name + 1, key, length) == 0) {
            *ret_span = (struct span){.start = value, .length = at - value};
            while (ret_span->length > 0 && strchr(" \t\r\n", text[value + ret_span->length - 1]))
                ret_span->length--;
            return true;
        }
        at = skip_space(text, size, at);
        if (at >= size || text[at] != ',')
            return false;
        at++;
    }
}

/* Parses JSON with the import values taken out: they may hold what our own documents may not. */
static int parse_json(const char *text, size_t size, struct configuration *configuration,
                      struct error *err)
{
    struct span span = {0};
    cleanup_free char *rest = NULL;
    cleanup_json json_t *checked = NULL;
    bool is_mended = false;

    if (!find_member(text, size, KEY_IMPORTS, &span))
        return doc_parse_json(text, size, CONFIGURATION_MAX_BYTES, &configuration->doc, err);
    rest = xasprintf("%.*snull%.*s", (int)span.start, text, (int)(size - span.start - span.length),
                     text + span.start + span.length);
    if (doc_parse_json(rest, strlen(rest), CONFIGURATION_MAX_BYTES + 8, &configuration->doc, err) <
        0)
        return -1;
    if (doc_parse_json_lenient(text + span.start, span.length, CONFIGURATION_MAX_BYTES, &checked,
                               &is_mended, err) < 0)
        return error_wrap(err, KEY_IMPORTS);
    configuration->import_values = xstrndup(text + span.start, span.length);
    return 0;
}

static int parse_text(const char *text, size_t size, struct configuration *configuration,
                      struct error *err)
{
    struct error json_err = {0};
    const json_t *imports = NULL;

    if (size > CONFIGURATION_MAX_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "more than %d bytes", CONFIGURATION_MAX_BYTES);
    if (parse_json(text, size, configuration, &json_err) == 0)
        return 0;
    json_decref(configuration->doc);
    configuration->doc = NULL;
    if (doc_parse_yaml(text, size, CONFIGURATION_MAX_BYTES, &configuration->doc, err) < 0) {
        size_t first = skip_space(text, size, 0);

        if (first < size && text[first] == '{')
            *err = json_err;
        return -1;
    }
    imports = doc_member(configuration->doc, KEY_IMPORTS);
    if (imports)
        configuration->import_values = doc_dump(imports);
    return 0;
}

/* ---- the rest ---- */

static bool is_there(const json_t *value)
{
    return value && !json_is_null(value);
}

static int read_descriptor(struct configuration *configuration, const json_t *section,
                           struct error *err)
{
    const json_t *reference = doc_member(section, "ref");
    const json_t *inlined = doc_member(section, "inline");

    if (!is_there(section))
        return 0;
    configuration->has_descriptor = true;
    if (is_there(inlined)) {
        configuration->inline_descriptor = inlined;
        return 0;
    }
    if (!is_there(reference))
        return error_set(err, ERROR_INVALID, "no inline component descriptor or reference found");
    if (doc_want_object(reference, "repositoryContext", &configuration->repository_context, err) <
            0 ||
        doc_want_text_required(reference, "componentName", &configuration->component_name, err) <
            0 ||
        doc_want_text_required(reference, "version", &configuration->component_version, err) < 0)
        return error_wrap(err, "ref");
    return 0;
}

static int read_blueprint(struct configuration *configuration, const json_t *section,
                          struct error *err)
{
    const json_t *reference = doc_member(section, "ref");
    const json_t *inlined = doc_member(section, "inline");

    if (!is_there(section))
        return 0;
    configuration->has_blueprint = true;
    if (is_there(inlined)) {
        const json_t *tree = doc_member(inlined, "filesystem");

        configuration->inline_blueprint = tree ? tree : json_null();
        return 0;
    }
    if (!is_there(reference))
        return error_set(err, ERROR_INVALID,
                         "no remote reference nor an inline blueprint is defined");
    if (doc_want_text_required(reference, "resourceName", &configuration->resource_name, err) < 0)
        return error_wrap(err, "ref");
    if (!configuration->has_descriptor)
        return error_set(err, ERROR_INVALID,
                         "ref: needs a componentDescriptor that the blueprint belongs to");
    return 0;
}

int configuration_parse(const char *text, size_t size, struct configuration *ret_configuration,
                        struct error *err)
{
    cleanup_configuration struct configuration configuration = {0};

    if (parse_text(text, size, &configuration, err) < 0)
        return -1;
    if (!json_is_object(configuration.doc))
        return error_set(err, ERROR_INVALID, "expected an object");
    if (read_descriptor(&configuration, doc_member(configuration.doc, "componentDescriptor"), err) <
        0)
        return error_wrap(err, "componentDescriptor");
    if (read_blueprint(&configuration, doc_member(configuration.doc, "blueprint"), err) < 0)
        return error_wrap(err, "blueprint");
    *ret_configuration = configuration;
    configuration = (struct configuration){0};
    return 0;
}

int configuration_read(const char *path, struct configuration *ret_configuration, struct error *err)
{
    cleanup_buffer struct buffer text = {0};

    buffer_init(&text, CONFIGURATION_MAX_BYTES);
    if (doc_read_file(path, CONFIGURATION_MAX_BYTES, &text, err) < 0)
        return -1;
    if (configuration_parse(text.data ? text.data : "", text.size, ret_configuration, err) < 0)
        return error_wrap(err, "configuration '%s'", path);
    return 0;
}

void configuration_done(struct configuration *configuration)
{
    json_decref(configuration->doc);
    free(configuration->import_values);
    *configuration = (struct configuration){0};
}
