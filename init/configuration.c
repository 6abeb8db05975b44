/* SPDX-License-Identifier: Apache-2.0 */
#include "init/configuration.h"

#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/lexer.h"
#include "common/data/slice.h"
#include "init/kind.h"

#define KEY_IMPORTS "importValues"

/* Import values are copied as text and left out of the parsed document: a number that is parsed and
 * printed again may change, and they may hold what our own documents may not, such as U+0000. */
static int parse_json(const char *text, size_t size, struct configuration *configuration,
                      struct error *err)
{
    struct slice imports = {0};
    cleanup_free char *rest = NULL;
    const char *after = NULL;
    const char *fault = NULL;

    if (!slice_member((struct slice){text, size}, KEY_IMPORTS, &imports))
        return doc_parse_json(text, size, CONFIGURATION_MAX_BYTES, &configuration->doc, err);
    after = imports.text + imports.size;
    rest = xasprintf("%.*snull%.*s", (int)(imports.text - text), text, (int)(text + size - after),
                     after);
    if (doc_parse_json(rest, strlen(rest), CONFIGURATION_MAX_BYTES + 8, &configuration->doc, err) <
        0)
        return -1;
    fault = lexer_check(imports.text, imports.size);
    if (fault) {
        struct lexer_place place = lexer_place(text, fault);

        return error_set(err, ERROR_INVALID, KEY_IMPORTS ": line %zu, column %zu: invalid JSON",
                         place.line, place.column);
    }
    configuration->import_values = xstrndup(imports.text, imports.size);
    return 0;
}

static int parse_text(const char *text, size_t size, struct configuration *configuration,
                      struct error *err)
{
    struct error json_err = {0};
    const json_t *imports = NULL;

    if (size > CONFIGURATION_MAX_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "larger than %d bytes", CONFIGURATION_MAX_BYTES);
    if (parse_json(text, size, configuration, &json_err) == 0)
        return 0;
    json_decref(configuration->doc);
    configuration->doc = NULL;
    if (doc_parse_yaml(text, size, CONFIGURATION_MAX_BYTES, &configuration->doc, err) < 0) {
        const char *first = lexer_skip_space(text, text + size);

        /* JSON is YAML too; for text that is meant to be JSON its parser has the better message. */
        if (first < text + size && *first == '{')
            *err = json_err;
        return -1;
    }
    imports = doc_member(configuration->doc, KEY_IMPORTS);
    if (imports)
        configuration->import_values = doc_dump(imports);
    return 0;
}

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
        return error_set(err, ERROR_INVALID, "neither \"inline\" nor \"ref\" is set");
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
        return error_set(err, ERROR_INVALID, "neither \"inline\" nor \"ref\" is set");
    if (doc_want_text_required(reference, "resourceName", &configuration->resource_name, err) < 0)
        return error_wrap(err, "ref");
    if (!configuration->has_descriptor)
        return error_set(err, ERROR_INVALID,
                         "ref: a blueprint by reference requires a componentDescriptor");
    return 0;
}

/* The controller writes it: one source, and what goes with it. */
static bool has_one_source(const json_t *chart)
{
    static const char *const sources[] = {"raw", "url", "ref", "repository", "resource"};
    size_t count = 0;

    for (size_t i = 0; i < array_length(sources); i++)
        count += doc_member(chart, sources[i]) != NULL;
    return count == 1;
}

static int read_chart(struct configuration *configuration, const json_t *section, struct error *err)
{
    const json_t *resource = doc_member(section, "resource");

    if (!is_there(section))
        return 0;
    if (!has_one_source(section))
        return error_set(err, ERROR_INVALID, "expected an object with one source");
    configuration->chart = section;
    if (!resource)
        return 0;
    if (!configuration->has_descriptor)
        return error_set(err, ERROR_INVALID, "resource: requires a componentDescriptor");
    configuration->resource_identity = resource;
    return doc_want_text_required(resource, "name", &configuration->resource_name, err);
}

int configuration_parse(const char *text, size_t size, struct configuration *ret_configuration,
                        struct error *err)
{
    cleanup_configuration struct configuration configuration = {0};

    if (parse_text(text, size, &configuration, err) < 0)
        return -1;
    if (!json_is_object(configuration.doc))
        return error_set(err, ERROR_INVALID, "expected an object");
    if (kind_check(configuration.doc, DEPLOYER_API_VERSION, KIND_PROVIDER_CONFIGURATION, err) < 0)
        return -1;
    if (read_descriptor(&configuration, doc_member(configuration.doc, "componentDescriptor"), err) <
        0)
        return error_wrap(err, "componentDescriptor");
    if (read_blueprint(&configuration, doc_member(configuration.doc, "blueprint"), err) < 0)
        return error_wrap(err, "blueprint");
    if (read_chart(&configuration, doc_member(configuration.doc, "chart"), err) < 0)
        return error_wrap(err, "chart");
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
        return error_wrap(err, "configuration \"%s\"", path);
    return 0;
}

void configuration_done(struct configuration *configuration)
{
    json_decref(configuration->doc);
    free(configuration->import_values);
    *configuration = (struct configuration){0};
}
