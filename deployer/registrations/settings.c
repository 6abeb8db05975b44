/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/settings.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/validation/shared_rules.h"

enum {
    SETTINGS_BYTES_MAX = 1 << 20,
    TOKEN_SECONDS_MIN = 600, /* the API server accepts no less */
    TOKEN_SECONDS_MAX = 1 << 30,
    TOKEN_SECONDS = 90 * 24 * 3600,
};

#define ACCEPTANCE_AUTO "auto"
#define ACCEPTANCE_MANUAL "manual"

static const char *const acceptance_choices[] = {ACCEPTANCE_AUTO, ACCEPTANCE_MANUAL, NULL};

const struct field_rule SETTINGS_FIELDS[] = {
    {.name = "disable", .types = RULE_BOOL, .help = "do not manage deployers", .fallback = "false"},
    {.name = "namespace",
     .types = RULE_TEXT,
     .fallback = "\"" DEPLOYERS_NAMESPACE "\"",
     .is_empty_allowed = true,
     .help = "namespace of the Installations of deployers"},
    {.name = "agent",
     .types = RULE_OBJECT,
     .is_open = true,
     .is_unused = true,
     .reason = "install an agent in Landscaper's cluster with the chart landscaper-agent",
     .help = "agent of Landscaper's own cluster"},
    {.name = "deployerRepositoryContext",
     .types = RULE_OBJECT,
     .is_open = true,
     .is_unused = true,
     .reason = "registrations name the repositories of their components",
     .help = "repository of built-in deployers"},
    {.name = "clusterRole",
     .types = RULE_TEXT,
     .fallback = "\"" DEPLOYERS_ROLE "\"",
     .is_empty_allowed = true,
     .help = "ClusterRole that deployers get in Landscaper's cluster"},
    {.name = "externalTypes",
     .types = RULE_LIST,
     .elements = &ELEMENT_TEXT,
     .help = "types of items that other deployers serve in every environment"},
    {.name = "tokenSeconds",
     .types = RULE_INTEGER,
     .min = TOKEN_SECONDS_MIN,
     .max = TOKEN_SECONDS_MAX,
     .fallback = "7776000",
     .help = "lifetime of the tokens of deployers, which are renewed at half of it"},
    {.name = "acceptance",
     .types = RULE_TEXT,
     .choices = acceptance_choices,
     .fallback = "\"" ACCEPTANCE_AUTO "\"",
     .help = "whether deployers are installed in every environment, or only in those that are "
             "accepted with an annotation"},
    RULES_END,
};

static const char *text_or_default(const json_t *fields, const char *name, const char *fallback)
{
    const char *text = doc_text_or(fields, name, "");

    return *text ? text : fallback;
}

/* deployerManagement of a LandscaperConfiguration, or the document itself. */
static const json_t *fields_of(const json_t *document, const char **ret_path)
{
    const char *kind = doc_text_or(document, "kind", "");
    const json_t *fields = doc_member(document, "deployerManagement");

    *ret_path = "";
    if (!fields && strcmp(kind, "LandscaperConfiguration") != 0)
        return document;
    *ret_path = "deployerManagement";
    return fields;
}

int settings_parse(const json_t *document, struct settings *ret_settings, struct mistakes *mistakes)
{
    const char *path = NULL;
    const json_t *fields = fields_of(document, &path);
    const json_t *types = doc_member(fields, "externalTypes");
    cleanup_free char *disable = path_member(path, "disable");

    if (document && !json_is_object(document))
        mistakes_add_type(mistakes, "", "an object", document);
    if (fields)
        rules_check(fields, SETTINGS_FIELDS, path, mistakes);
    if (doc_bool_or(fields, "disable", false))
        mistakes_add(mistakes, MISTAKE_FORBIDDEN, disable,
                     "management of deployers is disabled; remove the field, or do not start this "
                     "program");
    if (mistakes->errors > 0)
        return -1;
    *ret_settings = (struct settings){
        .namespace_name = xstrdup(text_or_default(fields, "namespace", DEPLOYERS_NAMESPACE)),
        .role = xstrdup(text_or_default(fields, "clusterRole", DEPLOYERS_ROLE)),
        .external_types = json_is_array(types) ? json_deep_copy(types) : json_array(),
        .token_seconds = doc_integer_or(fields, "tokenSeconds", TOKEN_SECONDS),
        .is_acceptance_manual =
            strcmp(doc_text_or(fields, "acceptance", ""), ACCEPTANCE_MANUAL) == 0,
    };
    return 0;
}

static int read_file(const char *path, struct settings *ret_settings, struct mistakes *mistakes,
                     struct error *err)
{
    cleanup_buffer struct buffer data = {0};
    cleanup_json json_t *document = NULL;

    if (path && (doc_read_file(path, SETTINGS_BYTES_MAX, &data, err) < 0 ||
                 doc_parse_yaml(data.data, data.size, SETTINGS_BYTES_MAX, &document, err) < 0)) {
        err->kind = ERROR_INVALID; /* a mistake in the command line */
        return error_wrap(err, "configuration \"%s\"", path);
    }
    if (settings_parse(document, ret_settings, mistakes) == 0 || mistakes_fail(mistakes, err) == 0)
        return 0;
    return error_wrap(err, "configuration \"%s\"", path ? path : "");
}

static void replace(char **text, const char *value)
{
    if (!value)
        return;
    free(*text);
    *text = xstrdup(value);
}

static void set_types(json_t *types, const char *text)
{
    (void)json_array_clear(types);
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        cleanup_free char *type = xstrndup(at, length);

        (void)json_array_append_new(types, doc_new_text(type));
        at += length + (at[length] == ',');
    }
}

static int apply_options(const struct registrations_values *values, struct settings *settings,
                         struct error *err)
{
    uint64_t seconds = 0;

    replace(&settings->namespace_name, values->namespace_name);
    replace(&settings->role, values->role);
    if (values->external_types)
        set_types(settings->external_types, values->external_types);
    if (values->acceptance)
        settings->is_acceptance_manual = strcmp(values->acceptance, ACCEPTANCE_MANUAL) == 0;
    if (!values->token_seconds)
        return 0;
    if (!number_parse(values->token_seconds, TOKEN_SECONDS_MAX, &seconds) ||
        seconds < TOKEN_SECONDS_MIN)
        return error_set(err, ERROR_INVALID, "--token-seconds: \"%s\" is not a number from %d",
                         values->token_seconds, TOKEN_SECONDS_MIN);
    settings->token_seconds = (int64_t)seconds;
    return 0;
}

int settings_read(const struct registrations_values *values, struct settings *ret_settings,
                  struct mistakes *mistakes, struct error *err)
{
    struct settings settings = {0};

    if (read_file(values->config, &settings, mistakes, err) < 0 ||
        apply_options(values, &settings, err) < 0) {
        settings_done(&settings);
        return -1;
    }
    *ret_settings = settings;
    return 0;
}

void settings_done(struct settings *settings)
{
    free(settings->namespace_name);
    free(settings->role);
    json_decref(settings->external_types);
    *settings = (struct settings){0};
}
