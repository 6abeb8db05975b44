/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/shared_rules.h"

#include "common/contract.h"

const char *const PULL_POLICIES[] = {"Always", "IfNotPresent", "Never", NULL};

const struct field_rule ELEMENT_TEXT = {.types = RULE_TEXT};
const struct field_rule ELEMENT_LABEL_VALUE = {.types = RULE_TEXT, .format = &FORMAT_LABEL_VALUE};

/* ---- env ---- */

static const struct field_rule env_fields[] = {
    {.name = "name",
     .types = RULE_TEXT,
     .format = &FORMAT_ENV_NAME,
     .is_required = true,
     .help = "name of the variable"},
    {.name = "value",
     .types = RULE_TEXT,
     .max = VALIDATE_ENV_VALUE_MAX,
     .help = "value; readable by everybody who may read the item or its pod"},
    /* It could read any Secret of the host namespace. */
    {.name = "valueFrom",
     .is_forbidden = true,
     .help = "not supported",
     .reason = "values can't be taken from other objects; use importValues"},
    RULES_END,
};

const struct field_rule ELEMENT_ENV = {
    .types = RULE_OBJECT, .fields = env_fields, .expected = "an object with name and value"};

/* ---- resources ---- */

static const struct field_rule element_quantity = {
    .types = RULE_TEXT | RULE_NUMBER, .format = &FORMAT_QUANTITY, .expected = "a quantity"};

#define ROW_AMOUNTS                                                                                \
    .types = RULE_OBJECT, .keys = &FORMAT_RESOURCE_NAME, .elements = &element_quantity

const struct field_rule FIELDS_RESOURCES[] = {
    {.name = "limits", ROW_AMOUNTS, .help = "maximum amounts, by name of the resource"},
    {.name = "requests", ROW_AMOUNTS, .help = "reserved amounts; at most the limits"},
    RULES_END,
};

/* ---- tolerations ---- */

static const char *const operators[] = {"Equal", "Exists", NULL};
static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};

static const struct field_rule toleration_fields[] = {
    {.name = "key",
     .types = RULE_TEXT,
     .format = &FORMAT_LABEL_KEY,
     .is_empty_allowed = true,
     .help = "key of the taint; empty with Exists: all taints"},
    {.name = "operator",
     .types = RULE_TEXT,
     .choices = operators,
     .is_empty_allowed = true,
     .fallback = "\"Equal\"",
     .help = "how the value is compared"},
    {.name = "value",
     .types = RULE_TEXT,
     .format = &FORMAT_LABEL_VALUE,
     .help = "value of the taint; empty with Exists"},
    {.name = "effect",
     .types = RULE_TEXT,
     .choices = effects,
     .is_empty_allowed = true,
     .help = "effect of the taint; empty: all"},
    {.name = "tolerationSeconds",
     .types = RULE_INTEGER,
     .help = "how long the pod stays on a node with this taint; only with NoExecute"},
    RULES_END,
};

const struct field_rule ELEMENT_TOLERATION = {.types = RULE_OBJECT, .fields = toleration_fields};

/* ---- references to objects ---- */

static const struct field_rule pull_secret_fields[] = {
    {.name = "name",
     ROW_OBJECT_NAME,
     .is_required = true,
     .help = "name of the Secret",
     .missing = "name must not be empty"},
    {.name = "namespace",
     ROW_OBJECT_NAME,
     .is_required = true,
     .help = "namespace of the Secret",
     .missing = "namespace must not be empty"},
    RULES_END,
};

const struct field_rule ELEMENT_PULL_SECRET = {.types = RULE_OBJECT, .fields = pull_secret_fields};

/* ---- components ---- */

const struct field_rule FIELDS_REPOSITORY_CONTEXT[] = {
    {.name = "type",
     .types = RULE_TEXT,
     .format = &FORMAT_REPOSITORY_TYPE,
     .is_required = true,
     .help = "type of the repository, such as ociRegistry"},
    {.name = "baseUrl", .types = RULE_TEXT, .help = "host and path of an OCI registry"},
    {.name = "subPath", .types = RULE_TEXT, .help = "path below baseUrl"},
    {.name = "componentNameMapping",
     .types = RULE_TEXT,
     .help = "urlPath or sha256-digest: how names of components become paths"},
    RULES_END,
};

const struct field_rule FIELDS_COMPONENT_REF[] = {
    {.name = "repositoryContext",
     .types = RULE_OBJECT,
     .fields = FIELDS_REPOSITORY_CONTEXT,
     .is_open = true,
     .is_checked_by_code = true,
     .help = "repository of the component; default: the resolvers of the OCM configuration"},
    {.name = "componentName",
     .types = RULE_TEXT,
     .format = &FORMAT_COMPONENT_NAME,
     .is_required = true,
     .is_checked_by_code = true,
     .help = "name of the component"},
    {.name = "version",
     .types = RULE_TEXT,
     .format = &FORMAT_VERSION,
     .is_required = true,
     .is_checked_by_code = true,
     .help = "version of the component"},
    RULES_END,
};

const struct field_rule FIELDS_COMPONENT_DESCRIPTOR[] = {
    {.name = "ref",
     .types = RULE_OBJECT,
     .fields = FIELDS_COMPONENT_REF,
     .is_checked_by_code = true,
     .help = "a component version in a repository"},
    {.name = "inline",
     .types = RULE_OBJECT,
     .help = "the component descriptor itself; takes precedence over ref"},
    RULES_END,
};

static const struct field_rule blueprint_ref_fields[] = {
    {.name = "resourceName",
     .types = RULE_TEXT,
     .is_required = true,
     .help = "name of the blueprint's resource"},
    RULES_END,
};

static const struct field_rule blueprint_inline_fields[] = {
    {.name = "filesystem",
     .types = RULE_OBJECT | RULE_TEXT,
     .is_required = true,
     .help = "files of the blueprint",
     .expected = "an object of file names, or its text"},
    RULES_END,
};

const struct field_rule FIELDS_BLUEPRINT[] = {
    {.name = "ref",
     .types = RULE_OBJECT,
     .fields = blueprint_ref_fields,
     .help = "a resource of the component"},
    {.name = "inline",
     .types = RULE_OBJECT,
     .fields = blueprint_inline_fields,
     .help = "the files themselves; takes precedence over ref"},
    RULES_END,
};

const struct field_rule FIELDS_CONTINUOUS_RECONCILE[] = {
    {.name = "cron",
     .types = RULE_TEXT,
     .format = &FORMAT_CRON,
     .is_empty_allowed = true,
     .help = "cron expression of five fields"},
    {.name = "every", .types = RULE_TEXT, .format = &FORMAT_INTERVAL, .help = "interval"},
    RULES_END,
};

/* ---- objects of Landscaper ---- */

const char *const API_VERSIONS[] = {LANDSCAPER_API_VERSION, NULL};

const struct field_rule FIELDS_METADATA[] = {
    {.name = "name", ROW_OBJECT_NAME, .is_required = true, .help = "name of the object"},
    {.name = "namespace",
     ROW_OBJECT_NAME,
     .is_empty_allowed = true,
     .help = "namespace of the object"},
    {.name = "labels", ROW_NODE_SELECTOR, .help = "labels of the object"},
    {.name = "annotations",
     .types = RULE_OBJECT,
     .elements = &ELEMENT_TEXT,
     .help = "annotations of the object"},
    RULES_END,
};

const struct field_rule FIELDS_SECRET_REFERENCE[] = {
    {.name = "name", ROW_OBJECT_NAME, .is_required = true, .help = "name of the Secret"},
    {.name = "key",
     .types = RULE_TEXT,
     .is_empty_allowed = true,
     .help = "key of the Secret; default: the whole Secret as an object"},
    RULES_END,
};
