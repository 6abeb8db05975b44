/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore schema`: JSON Schemas of the documents that people write, from the tables that
 * validate them. docs/schemas has a copy of each (make reference). */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"
#include "deployer/config/config.h"
#include "deployer/item/kinds.h"
#include "deployer/item/provider.h"
#include "deployer/lifecycle/kinds.h"
#include "deployer/lifecycle/names.h"
#include "deployer/objects/configuration.h"
#include "deployer/registrations/kinds.h"
#include "deployer/validation/schema.h"

/* Schemas of provider configurations are called "provider-container" etc., by the end of the type.
 */
#define PROVIDER_PREFIX "provider-"

/* A type of item and its provider configuration. */
struct provider {
    const char *type, *api_version;
    const struct field_rule *fields;
};

/* Enumerates the types: those that run as pods, then the others. False after the last one. */
static bool provider_at(size_t index, struct provider *ret_provider)
{
    static const struct provider others[] = {
        {DEPLOY_ITEM_TYPE_MANIFEST, MANIFEST_API_VERSION, MANIFEST_FIELDS},
    };
    size_t pods = 0;

    while (item_type_at(pods))
        pods++;
    if (index < pods) {
        const struct item_type *type = item_type_at(index);

        *ret_provider = (struct provider){type->type, type->api_version, type->fields};
        return true;
    }
    if (index - pods >= array_length(others))
        return false;
    *ret_provider = others[index - pods];
    return true;
}

static json_t *provider_schema(const struct provider *type)
{
    cleanup_free char *title = xasprintf(KIND_PROVIDER_CONFIGURATION " of %s items", type->type);
    json_t *schema = schema_document(title, type->fields);

    /* The API server requires both: the field is an embedded resource. */
    schema_fix(schema, "apiVersion", type->api_version);
    schema_fix(schema, "kind", KIND_PROVIDER_CONFIGURATION);
    return schema;
}

/* The configuration is that of the item's type. */
static json_t *item_schema(void)
{
    json_t *schema = schema_document(KIND_DEPLOY_ITEM, ITEM_FIELDS);
    json_t *spec = doc_writable(doc_get(schema, "properties.spec"));
    json_t *types = json_array();
    json_t *alternatives = json_array();
    struct provider type = {0};

    for (size_t i = 0; provider_at(i, &type); i++) {
        json_t *config = provider_schema(&type);

        (void)json_object_del(config, "$schema");
        (void)json_array_append_new(types, json_string(type.type));
        (void)json_array_append_new(
            alternatives, json_pack("{s:{s:{s:{s:s}}},s:{s:{s:o}}}", "if", "properties", "type",
                                    "const", type.type, "then", "properties", "config", config));
    }
    doc_set_new(spec, "properties.type.enum", types);
    (void)json_object_set_new(spec, "allOf", alternatives);
    (void)json_array_append_new(json_object_get(spec, "required"), json_string("config"));
    doc_set_text(spec, "properties.config.type", "object");
    return schema;
}

/* By name. */
static const struct document {
    const char *name, *title;
    const struct field_rule *fields;
    json_t *(*make)(void); /* in place of title and fields */
} documents[] = {
    {"configuration", "Configuration of the deployer", CONFIG_FIELDS, NULL},
    {"context", KIND_CONTEXT, CONTEXT_FIELDS, NULL},
    {"deployerregistration", KIND_DEPLOYER_REGISTRATION, REGISTRATION_FIELDS, NULL},
    {"deployitem", NULL, NULL, item_schema},
    {"environment", KIND_ENVIRONMENT, ENVIRONMENT_FIELDS, NULL},
    {"kyma", KIND_KYMA, KYMA_FIELDS, NULL},
    {"manifest", KIND_MANIFEST, MANIFEST_KIND_FIELDS, NULL},
    {"modulereleasemeta", KIND_MODULE_RELEASE_META, MODULE_RELEASE_META_FIELDS, NULL},
    {"moduletemplate", KIND_MODULE_TEMPLATE, MODULE_TEMPLATE_FIELDS, NULL},
    {"target", KIND_TARGET, TARGET_FIELDS, NULL},
};

/* The name of the schema of a type. The caller frees it. */
static char *provider_name(const struct provider *type)
{
    return xasprintf(PROVIDER_PREFIX "%s", strrchr(type->type, '/') + 1);
}

static void print_names(void)
{
    struct provider type = {0};

    for (size_t i = 0; i < array_length(documents); i++)
        (void)puts(documents[i].name);
    for (size_t i = 0; provider_at(i, &type); i++) {
        cleanup_free char *name = provider_name(&type);

        (void)puts(name);
    }
}

/* New reference, or NULL. */
static json_t *make_schema(const char *wanted)
{
    struct provider type = {0};

    for (size_t i = 0; i < array_length(documents); i++) {
        const struct document *document = &documents[i];

        if (strcmp(document->name, wanted) == 0)
            return document->make ? document->make()
                                  : schema_document(document->title, document->fields);
    }
    for (size_t i = 0; provider_at(i, &type); i++) {
        cleanup_free char *name = provider_name(&type);

        if (strcmp(name, wanted) == 0)
            return provider_schema(&type);
    }
    return NULL;
}

static int print_schema(const char *name, struct error *err)
{
    cleanup_json json_t *schema = make_schema(name);

    if (!schema)
        return error_set(err, ERROR_INVALID,
                         "unknown schema \"%s\"; 'longshore schema' lists the names", name);
    (void)json_dumpf(schema, stdout, JSON_INDENT(2));
    (void)putchar('\n');
    return 0;
}

int schema_main(int argc, char **argv)
{
    struct plain_values values = {0};
    struct error err = {0};
    int first = 0;
    int result = options_parse(&COMMAND_SCHEMA, argc, argv, &values, &first, &err);

    if (result == 0 && values.is_help)
        options_print_help(&COMMAND_SCHEMA, stdout);
    else if (result == 0 && argc - first > 1)
        result =
            error_set(&err, ERROR_INVALID,
                      "unexpected operand \"%s\"; see 'longshore schema --help'", argv[first + 1]);
    else if (result == 0 && first == argc)
        print_names();
    else if (result == 0)
        result = print_schema(argv[first], &err);
    if (result < 0) {
        (void)fprintf(stderr, "longshore schema: %s\n", err.text);
        return EXIT_USAGE;
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
