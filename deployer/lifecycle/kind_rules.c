/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of kinds.h. */
#include <regex.h>

#include "deployer/lifecycle/kinds.h"
#include "deployer/lifecycle/names.h"
#include "deployer/validation/shared_rules.h"

/* ---- formats ---- */

/* The patterns are those of the CRDs, in the syntax that POSIX and JSON Schema share. Rows with
 * one say in .expected what it means, and limit the length. */
static int check_pattern(const char *text, const struct field_rule *rule, struct error *err)
{
    regex_t expression;
    bool is_match = false;

    if (regcomp(&expression, rule->format->pattern, REG_EXTENDED | REG_NOSUB) == 0) {
        is_match = regexec(&expression, text, 0, NULL, 0) == 0;
        regfree(&expression);
    }
    return is_match ? 0
                    : error_set(err, ERROR_INVALID, "\"%.300s\": must be %s", text, rule->expected);
}

#define RE_NUMBER "(0|[1-9][0-9]*)"
#define RE_NUMBERS RE_NUMBER "\\." RE_NUMBER "\\." RE_NUMBER
#define RE_IDENTIFIER "(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
#define RE_BUILD "[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*"

static const struct text_format format_channel = {
    .pattern = "^[a-z]{3,32}$",
    .check = check_pattern,
};
static const struct text_format format_module_name = {
    .pattern = "^[a-z]{3,}(-[a-z]{3,})*$",
    .check = check_pattern,
};
static const struct text_format format_version = {
    .pattern = "^" RE_NUMBERS "(-[a-zA-Z-][0-9a-zA-Z-]*)?$",
    .check = check_pattern,
};
static const struct text_format format_mandatory_version = {
    .pattern = "^" RE_NUMBERS "(-" RE_IDENTIFIER "(\\." RE_IDENTIFIER ")*)?(\\+" RE_BUILD ")?$",
    .check = check_pattern,
};
static const struct text_format format_link = {
    .pattern = "^(/|[A-Za-z][-+.A-Za-z0-9]*:)[^ ]*$",
    .check = check_pattern,
};

enum {
    CHANNEL_MAX = 32,
    MODULE_NAME_MAX = 64,
    MODULE_VERSION_MAX = 32,
    OBJECT_NAME_MAX = 253,
    LINK_MAX = 2048,
};

#define ROW_CHANNEL                                                                                \
    .types = RULE_TEXT, .format = &format_channel, .max = CHANNEL_MAX,                             \
    .expected = "3 to 32 lower-case letters"
#define ROW_MODULE_NAME                                                                            \
    .types = RULE_TEXT, .format = &format_module_name, .max = MODULE_NAME_MAX,                     \
    .expected = "words of at least 3 lower-case letters with '-' between them"
#define ROW_MODULE_VERSION                                                                         \
    .types = RULE_TEXT, .format = &format_version, .max = MODULE_VERSION_MAX,                      \
    .expected = "a version such as 1.2.3 or 1.2.3-rc1"
#define ROW_REQUIRED_TEXT .types = RULE_TEXT, .is_required = true
#define ROW_REQUIRED_OR_EMPTY ROW_REQUIRED_TEXT, .is_empty_allowed = true

/* ---- values that more than one kind has ---- */

static const char *const api_versions[] = {KYMA_API_VERSION, NULL};
static const char *const resource_policies[] = {"CreateAndDelete", "Ignore", NULL};
static const char *const module_states[] = {"Processing", "Deleting",  "Ready", "Error",
                                            "Warning",    "Unmanaged", NULL};

#define ROWS_KYMA_OBJECT(kinds_) ROWS_OBJECT_OF(api_versions, "must be " KYMA_API_VERSION, (kinds_))
#define ROW_STATUS                                                                                 \
    {                                                                                              \
        .name = "status", .types = RULE_OBJECT, .help = "written by longshore lifecycle"           \
    }
#define ROW_RESOURCE_POLICY                                                                        \
    {                                                                                              \
        .name = "customResourcePolicy", .types = RULE_TEXT, .choices = resource_policies,          \
        .fallback = "\"CreateAndDelete\"",                                                         \
        .help = "whether the default resource of the module is created and deleted, or left to "   \
                "the user"                                                                         \
    }

/* The API server requires both in an embedded resource. */
static const struct field_rule embedded_fields[] = {
    {.name = "apiVersion", ROW_REQUIRED_TEXT, .help = "version of the API of the resource"},
    {.name = "kind", ROW_REQUIRED_TEXT, .help = "kind of the resource"},
    {.name = "metadata", .types = RULE_OBJECT, .help = "name and namespace of the resource"},
    RULES_END,
};

static const struct field_rule manager_fields[] = {
    {.name = "group", ROW_REQUIRED_OR_EMPTY, .help = "API group; empty: the core group"},
    {.name = "version", ROW_REQUIRED_TEXT, .help = "version of the API"},
    {.name = "kind", ROW_REQUIRED_TEXT, .help = "kind of the workload, such as Deployment"},
    {.name = "name", ROW_REQUIRED_TEXT, .help = "name of the workload"},
    {.name = "namespace", .types = RULE_TEXT, .help = "namespace of the workload"},
    RULES_END,
};

#define ROW_MANAGER                                                                                \
    {                                                                                              \
        .name = "manager", .types = RULE_OBJECT, .fields = manager_fields,                         \
        .help = "workload that runs the module; default: the first Deployment or StatefulSet"      \
    }

static const struct field_rule requirement_fields[] = {
    {.name = "key", ROW_REQUIRED_TEXT, .help = "key of the label"},
    {.name = "operator", ROW_REQUIRED_TEXT, .help = "In, NotIn, Exists or DoesNotExist"},
    {.name = "values", ROW_TEXT_LIST, .help = "values of the label"},
    RULES_END,
};

static const struct field_rule requirement = {.types = RULE_OBJECT, .fields = requirement_fields};

static const struct field_rule label_selector_fields[] = {
    {.name = "matchLabels",
     .types = RULE_OBJECT,
     .elements = &ELEMENT_TEXT,
     .help = "labels that an object has to have"},
    {.name = "matchExpressions",
     .types = RULE_LIST,
     .elements = &requirement,
     .help = "conditions for labels"},
    RULES_END,
};

#define ROW_LABEL_SELECTOR .types = RULE_OBJECT, .fields = label_selector_fields

/* ---- Kyma ---- */

static const char compatible[] = "it is accepted for compatibility only";

static const struct field_rule module_fields[] = {
    {.name = "name",
     ROW_REQUIRED_TEXT,
     .help = "name of the module, which is the name of its ModuleReleaseMeta"},
    {.name = "channel", ROW_CHANNEL, .help = "release channel; default: spec.channel"},
    {.name = "managed",
     .types = RULE_BOOL,
     .fallback = "true",
     .help = "false: the objects of the module are handed over to the user and left alone"},
    ROW_RESOURCE_POLICY,
    {.name = "controller",
     .types = RULE_TEXT,
     .help = "ignored",
     .is_unused = true,
     .reason = compatible},
    {.name = "remoteModuleTemplateRef",
     .types = RULE_TEXT,
     .help = "ignored",
     .is_unused = true,
     .reason = compatible},
    RULES_END,
};

static const struct field_rule module = {.types = RULE_OBJECT, .fields = module_fields};

static const struct field_rule kyma_spec_fields[] = {
    {.name = "channel",
     ROW_CHANNEL,
     .is_required = true,
     .help = "release channel of all modules that do not name their own"},
    {.name = "modules", .types = RULE_LIST, .elements = &module, .help = "modules of the cluster"},
    {.name = "skipMaintenanceWindows",
     .types = RULE_BOOL,
     .fallback = "false",
     .help = "update modules that need a downtime at once"},
    RULES_END,
};

static const char *const kyma_kinds[] = {KIND_KYMA, NULL};

const struct field_rule KYMA_FIELDS[] = {
    ROWS_KYMA_OBJECT(kyma_kinds),
    {.name = "spec",
     .types = RULE_OBJECT,
     .fields = kyma_spec_fields,
     .is_required = true,
     .help = "modules of a cluster"},
    ROW_STATUS,
    RULES_END,
};

/* ---- ModuleTemplate ---- */

static const struct field_rule state_check_fields[] = {
    {.name = "jsonPath", ROW_REQUIRED_TEXT, .help = "path in the default resource"},
    {.name = "value", ROW_REQUIRED_OR_EMPTY, .help = "value at the path"},
    {.name = "mappedState",
     ROW_REQUIRED_OR_EMPTY,
     .choices = module_states,
     .help = "state of the module if the path has this value"},
    RULES_END,
};

static const struct field_rule kind_fields[] = {
    {.name = "group", ROW_REQUIRED_OR_EMPTY, .help = "API group"},
    {.name = "version", ROW_REQUIRED_TEXT, .help = "version of the API"},
    {.name = "kind", ROW_REQUIRED_TEXT, .help = "kind"},
    RULES_END,
};

static const struct field_rule link_fields[] = {
    {.name = "name", ROW_REQUIRED_TEXT, .help = "name of the link"},
    {.name = "link",
     ROW_REQUIRED_TEXT,
     .format = &format_link,
     .max = LINK_MAX,
     .expected = "an address such as https://example.com/a",
     .help = "address"},
    RULES_END,
};

static const struct field_rule icon_fields[] = {
    {.name = "name", ROW_REQUIRED_TEXT, .help = "name of the icon"},
    {.name = "link", ROW_REQUIRED_TEXT, .help = "address of the icon"},
    RULES_END,
};

static const struct field_rule state_check = {.types = RULE_OBJECT, .fields = state_check_fields};
static const struct field_rule associated_kind = {.types = RULE_OBJECT, .fields = kind_fields};
static const struct field_rule link_element = {.types = RULE_OBJECT, .fields = link_fields};
static const struct field_rule icon_element = {.types = RULE_OBJECT, .fields = icon_fields};

static const struct field_rule info_fields[] = {
    {.name = "repository", ROW_REQUIRED_TEXT, .help = "address of the source code"},
    {.name = "documentation", ROW_REQUIRED_TEXT, .help = "address of the documentation"},
    {.name = "icons", .types = RULE_LIST, .elements = &icon_element, .help = "icons"},
    RULES_END,
};

static const struct field_rule template_spec_fields[] = {
    {.name = "moduleName", ROW_MODULE_NAME, .is_empty_allowed = true, .help = "name of the module"},
    {.name = "version",
     ROW_MODULE_VERSION,
     .is_empty_allowed = true,
     .help = "version of the module"},
    {.name = "channel",
     ROW_CHANNEL,
     .is_empty_allowed = true,
     .help = "release channel; only for modules without a ModuleReleaseMeta"},
    {.name = "mandatory",
     .types = RULE_BOOL,
     .help = "ignored",
     .is_unused = true,
     .reason = "the ModuleReleaseMeta says whether a module is mandatory"},
    {.name = "requiresDowntime",
     .types = RULE_BOOL,
     .fallback = "false",
     .help = "updates to this version wait for a maintenance window"},
    {.name = "descriptor",
     .types = RULE_OBJECT,
     .is_required = true,
     .help = "component descriptor; {}: it is read from the registry"},
    {.name = "data",
     .types = RULE_OBJECT,
     .fields = embedded_fields,
     .is_open = true,
     .help = "default resource of the module"},
    ROW_MANAGER,
    {.name = "customStateCheck",
     .types = RULE_LIST,
     .elements = &state_check,
     .help = "how the state of the default resource is found; default: its status.state"},
    {.name = "associatedResources",
     .types = RULE_LIST,
     .elements = &associated_kind,
     .help = "kinds that the module defines"},
    {.name = "resources",
     .types = RULE_LIST,
     .elements = &link_element,
     .help = "links to further files"},
    {.name = "info", .types = RULE_OBJECT, .fields = info_fields, .help = "for people"},
    RULES_END,
};

static const char *const template_kinds[] = {KIND_MODULE_TEMPLATE, NULL};

const struct field_rule MODULE_TEMPLATE_FIELDS[] = {
    ROWS_KYMA_OBJECT(template_kinds),
    {.name = "spec",
     .types = RULE_OBJECT,
     .fields = template_spec_fields,
     .is_required = true,
     .help = "one version of a module"},
    RULES_END,
};

/* ---- ModuleReleaseMeta ---- */

static const struct field_rule channel_fields[] = {
    {.name = "channel", ROW_CHANNEL, .is_required = true, .help = "name of the release channel"},
    {.name = "version",
     ROW_MODULE_VERSION,
     .is_required = true,
     .help = "version that the channel has"},
    RULES_END,
};

static const struct field_rule mandatory_fields[] = {
    {.name = "version",
     ROW_REQUIRED_TEXT,
     .format = &format_mandatory_version,
     .max = OBJECT_NAME_MAX,
     .expected = "a version such as 1.2.3 or 1.2.3-rc.1",
     .help = "version that every cluster gets"},
    RULES_END,
};

static const struct field_rule channel_element = {.types = RULE_OBJECT, .fields = channel_fields};
static const char label_instead[] = "label the ModuleTemplate instead";

static const struct field_rule release_spec_fields[] = {
    {.name = "moduleName",
     ROW_MODULE_NAME,
     .is_required = true,
     .help = "name of the module, which is also the name of the object"},
    {.name = "ocmComponentName",
     .types = RULE_TEXT,
     .format = &FORMAT_COMPONENT_NAME,
     .help = "component of the module, such as example.com/module/hello"},
    {.name = "channels",
     .types = RULE_LIST,
     .elements = &channel_element,
     .help = "versions by release channel"},
    {.name = "mandatory",
     .types = RULE_OBJECT,
     .fields = mandatory_fields,
     .help = "in place of channels: every cluster gets the module"},
    {.name = "beta",
     .types = RULE_BOOL,
     .help = "ignored",
     .is_unused = true,
     .reason = label_instead},
    {.name = "internal",
     .types = RULE_BOOL,
     .help = "ignored",
     .is_unused = true,
     .reason = label_instead},
    {.name = "kymaSelector",
     ROW_LABEL_SELECTOR,
     .help = "ignored",
     .is_unused = true,
     .reason = compatible},
    RULES_END,
};

static const char *const release_kinds[] = {KIND_MODULE_RELEASE_META, NULL};

const struct field_rule MODULE_RELEASE_META_FIELDS[] = {
    ROWS_KYMA_OBJECT(release_kinds),
    {.name = "spec",
     .types = RULE_OBJECT,
     .fields = release_spec_fields,
     .is_required = true,
     .help = "versions of a module"},
    RULES_END,
};

/* ---- Manifest ---- */

static const struct field_rule source_fields[] = {
    {.name = "repo", .help = "registry"},
    {.name = "name", .help = "component"},
    {.name = "ref", .help = "digest of the layer"},
    {.name = "type", .help = "oci-ref or oci-dir"},
    RULES_END,
};

static const struct field_rule install_fields[] = {
    {.name = "name", ROW_REQUIRED_TEXT, .help = "name of the component's resource"},
    {.name = "source",
     .types = RULE_OBJECT,
     .fields = source_fields,
     .is_open = true,
     .is_required = true,
     .help = "where the objects are"},
    RULES_END,
};

static const char *const config_types[] = {"helm-chart", "oci-ref", "kustomize", NULL};

static const struct field_rule config_fields[] = {
    {.name = "repo", .types = RULE_TEXT, .help = "registry"},
    {.name = "name", .types = RULE_TEXT, .help = "name"},
    {.name = "ref", .types = RULE_TEXT, .help = "digest"},
    {.name = "type",
     .types = RULE_TEXT,
     .choices = config_types,
     .is_empty_allowed = true,
     .help = "type"},
    {.name = "credSecretSelector", ROW_LABEL_SELECTOR, .help = "Secrets with credentials"},
    RULES_END,
};

static const struct field_rule manifest_spec_fields[] = {
    {.name = "install",
     .types = RULE_OBJECT,
     .fields = install_fields,
     .is_required = true,
     .help = "content of the module"},
    {.name = "remote", .types = RULE_BOOL, .is_required = true, .help = "has no effect"},
    {.name = "resource",
     .types = RULE_OBJECT,
     .fields = embedded_fields,
     .is_open = true,
     .help = "default resource of the module"},
    ROW_RESOURCE_POLICY,
    {.name = "version", .types = RULE_TEXT, .help = "version of the module"},
    ROW_MANAGER,
    {.name = "localizedImages",
     .types = RULE_LIST,
     .elements = &ELEMENT_TEXT,
     .help = "images that replace those of the same name and tag in the objects"},
    {.name = "config",
     .types = RULE_OBJECT,
     .fields = config_fields,
     .help = "ignored",
     .is_unused = true,
     .reason = compatible},
    RULES_END,
};

static const char *const manifest_kinds[] = {KIND_MANIFEST, NULL};

const struct field_rule MANIFEST_KIND_FIELDS[] = {
    ROWS_KYMA_OBJECT(manifest_kinds),
    {.name = "spec",
     .types = RULE_OBJECT,
     .fields = manifest_spec_fields,
     .is_required = true,
     .help = "one module in one cluster"},
    ROW_STATUS,
    RULES_END,
};
