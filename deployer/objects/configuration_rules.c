/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of the provider configuration of manifest items. */
#include "common/contract.h"
#include "deployer/objects/configuration_parts.h"
#include "deployer/validation/shared_rules.h"

#define ITEM_TIMEOUT_APPLIES "the item's timeout applies"
#define ROW_LABELS .types = RULE_OBJECT, .keys = &FORMAT_LABEL_KEY, .elements = &ELEMENT_LABEL_VALUE
#define ROW_LIST(element_) .types = RULE_LIST, .elements = &(element_), .max = MANIFEST_LIST_MAX
#define ROW_ANNOTATIONS .types = RULE_OBJECT, .elements = &ELEMENT_TEXT
#define ROW_UNUSED_TIMEOUT(name_)                                                                  \
    {                                                                                              \
        .name = (name_), .is_unused = true, .help = "timeout of old versions of the Go deployer",  \
        .reason = ITEM_TIMEOUT_APPLIES                                                             \
    }
#define ROW_REQUIRED_TEXT(name_, help_)                                                            \
    {                                                                                              \
        .name = (name_), .types = RULE_TEXT, .is_required = true, .help = (help_)                  \
    }
#define ROW_BOOL(name_, help_)                                                                     \
    {                                                                                              \
        .name = (name_), .types = RULE_BOOL, .fallback = "false", .help = (help_)                  \
    }
#define ROW_TARGET_NAME                                                                            \
    {                                                                                              \
        .name = "targetName", ROW_OBJECT_NAME,                                                     \
        .help = "another Target in the item's namespace; default: the item's own"                  \
    }
#define ROWS_REFERENCE                                                                             \
    ROW_REQUIRED_TEXT("apiVersion", "apiVersion of the object"),                                   \
        ROW_REQUIRED_TEXT("kind", "kind of the object"),                                           \
        ROW_REQUIRED_TEXT("name", "name of the object"),                                           \
    {                                                                                              \
        .name = "namespace", .types = RULE_TEXT, .is_empty_allowed = true,                         \
        .help = "namespace of the object, unless it is cluster-scoped"                             \
    }

/* ---- Manifests ---- */

static const char *const policies[] = {"manage", "fallback", "keep", "ignore", "immutable", NULL};

static const struct field_rule manifest_fields[] = {
    {.name = "policy",
     .types = RULE_TEXT,
     .choices = policies,
     .is_empty_allowed = true,
     .fallback = "\"manage\"",
     .help = "what happens to an object that exists, or is not wanted any more"},
    {.name = "manifest",
     .types = RULE_OBJECT,
     .is_required = true,
     .help = "the object to be applied"},
    {.name = "annotateBeforeCreate",
     ROW_ANNOTATIONS,
     .help = "annotations that are added when the object is created"},
    {.name = "annotateBeforeDelete",
     ROW_ANNOTATIONS,
     .help = "annotations that are added before the object is deleted"},
    {.name = "patchAfterDeployment",
     .types = RULE_OBJECT,
     .help = "merged into the object when everything else has succeeded"},
    {.name = "patchBeforeDelete",
     .types = RULE_OBJECT,
     .help = "merged into the object before it is deleted"},
    RULES_END,
};

static const struct field_rule manifest_element = {.types = RULE_OBJECT,
                                                   .fields = manifest_fields,
                                                   .expected = "an object with the key 'manifest'"};
static const struct field_rule old_manifest_element = {.types = RULE_OBJECT};

/* ---- Readiness checks ---- */

static const struct field_rule reference_fields[] = {ROWS_REFERENCE, RULES_END};
static const struct field_rule reference_element = {.types = RULE_OBJECT,
                                                    .fields = reference_fields};

static const struct field_rule label_selector_fields[] = {
    ROW_REQUIRED_TEXT("apiVersion", "apiVersion of the objects"),
    ROW_REQUIRED_TEXT("kind", "kind of the objects"),
    {.name = "matchLabels", ROW_LABELS, .help = "labels that the objects have"},
    {.name = "namespaces", ROW_TEXT_LIST, .help = "where to look; default: all namespaces"},
    {.name = "min",
     .types = RULE_INTEGER,
     .min = 1,
     .max = INT32_MAX,
     .fallback = "1",
     .help = "how many objects there must be"},
    RULES_END,
};

static const char *const operators[] = {"exists", "!", "=", "==", "!=", "in", "notin", NULL};

static const struct field_rule value_fields[] = {
    {.name = "value", .types = RULE_ANY, .help = "any JSON value"},
    RULES_END,
};
static const struct field_rule value_element = {
    .types = RULE_OBJECT, .fields = value_fields, .expected = "an object with the key 'value'"};

static const struct field_rule value_from_fields[] = {
    ROWS_REFERENCE,
    ROW_REQUIRED_TEXT("jsonPath", "JSONPath of the value"),
    ROW_TARGET_NAME,
    RULES_END,
};

static const struct field_rule requirement_fields[] = {
    ROW_REQUIRED_TEXT("jsonPath", "JSONPath of the value"),
    {.name = "operator",
     .types = RULE_TEXT,
     .choices = operators,
     .is_required = true,
     .help = "exists, !, =, ==, !=, in or notin"},
    {.name = "values", ROW_LIST(value_element), .help = "values to compare with"},
    {.name = "valueFrom",
     .types = RULE_OBJECT,
     .fields = value_from_fields,
     .help = "field of another object to compare with"},
    RULES_END,
};
static const struct field_rule requirement_element = {.types = RULE_OBJECT,
                                                      .fields = requirement_fields};

static const struct field_rule check_fields[] = {
    ROW_REQUIRED_TEXT("name", "name of the check"),
    ROW_BOOL("disabled", "the check is skipped"),
    {.name = "resourceSelector", ROW_LIST(reference_element), .help = "objects by their names"},
    {.name = "labelSelector",
     .types = RULE_OBJECT,
     .fields = label_selector_fields,
     .help = "objects by their labels"},
    {.name = "requirements",
     ROW_LIST(requirement_element),
     .help = "what holds for every selected object"},
    ROW_TARGET_NAME,
    ROW_BOOL("default", "apply the rules of the default check instead of requirements"),
    ROW_UNUSED_TIMEOUT("timeout"),
    RULES_END,
};
static const struct field_rule check_element = {.types = RULE_OBJECT, .fields = check_fields};

static const struct field_rule readiness_fields[] = {
    ROW_BOOL("disableDefault", "do not wait until the applied objects are ready"),
    ROW_BOOL("strict", "rules for every kind of object, and early failures"),
    {.name = "custom", ROW_LIST(check_element), .help = "additional checks"},
    ROW_UNUSED_TIMEOUT("timeout"),
    RULES_END,
};

/* ---- Exports ---- */

static const struct field_rule object_ref_fields[] = {
    ROW_REQUIRED_TEXT("apiVersion", "apiVersion of the object that is referred to"),
    ROW_REQUIRED_TEXT("kind", "kind of the object that is referred to"),
    ROW_REQUIRED_TEXT("jsonPath", "JSONPath of the value"),
    RULES_END,
};

/* key and jsonPath are required if there is a fromResource; code checks that. */
static const struct field_rule export_fields[] = {
    {.name = "key", .types = RULE_TEXT, .help = "key of the exported value: names and dots"},
    {.name = "jsonPath", .types = RULE_TEXT, .help = "JSONPath of the value"},
    {.name = "fromResource",
     .types = RULE_OBJECT,
     .fields = reference_fields,
     .help = "the object; without it a helm item exports a value of its chart, and a manifest item "
             "nothing"},
    {.name = "fromObjectRef",
     .types = RULE_OBJECT,
     .fields = object_ref_fields,
     .help = "read the value from the object that jsonPath refers to"},
    ROW_TARGET_NAME,
    ROW_UNUSED_TIMEOUT("timeout"),
    RULES_END,
};
const struct field_rule MANIFEST_EXPORT_ELEMENT = {.types = RULE_OBJECT, .fields = export_fields};

static const struct field_rule exports_fields[] = {
    {.name = "exports", ROW_LIST(MANIFEST_EXPORT_ELEMENT), .help = "values for Landscaper"},
    ROW_UNUSED_TIMEOUT("defaultTimeout"),
    RULES_END,
};

/* ---- Deletion groups ---- */

static const char *const group_types[] = {"namespaced-resources", "cluster-scoped-resources",
                                          "crds", "empty", NULL};

static const struct field_rule resource_fields[] = {
    ROW_REQUIRED_TEXT("apiVersion", "apiVersion of the objects"),
    ROW_REQUIRED_TEXT("kind", "kind of the objects"),
    {.name = "names", ROW_TEXT_LIST, .help = "names of the objects; default: all"},
    {.name = "namespaces", ROW_TEXT_LIST, .help = "namespaces of the objects; default: all"},
    RULES_END,
};
static const struct field_rule resource_element = {.types = RULE_OBJECT, .fields = resource_fields};

#define ROW_RESOURCE_LIST                                                                          \
    {                                                                                              \
        .name = "resources", ROW_LIST(resource_element), .help = "kinds and names of objects"      \
    }
#define ROW_FORCE ROW_BOOL("forceDelete", "remove finalizers after the deletion was requested")

static const struct field_rule predefined_fields[] = {
    {.name = "type",
     .types = RULE_TEXT,
     .choices = group_types,
     .is_required = true,
     .help = "namespaced-resources, cluster-scoped-resources, crds or empty"},
    ROW_FORCE,
    RULES_END,
};

static const struct field_rule custom_fields[] = {
    ROW_RESOURCE_LIST,
    ROW_BOOL("deleteAllResources",
             "every object of the cluster that matches, not only applied ones"),
    ROW_FORCE,
    ROW_TARGET_NAME,
    RULES_END,
};

static const struct field_rule selected_fields[] = {
    ROW_RESOURCE_LIST,
    {.name = "matchLabels", ROW_LABELS, .help = "labels that the objects have"},
    ROW_TARGET_NAME,
    ROW_FORCE,
    ROW_BOOL("waitOnly", "delete nothing, wait until the objects are gone"),
    RULES_END,
};

static const struct field_rule group_fields[] = {
    {.name = "predefinedResourceGroup",
     .types = RULE_OBJECT,
     .fields = predefined_fields,
     .help = "applied objects by their scope"},
    {.name = "customResourceGroup",
     .types = RULE_OBJECT,
     .fields = custom_fields,
     .help = "objects by kind and name"},
    {.name = "selectedResourceGroup",
     .types = RULE_OBJECT,
     .fields = selected_fields,
     .help = "objects by labels, beside a predefined group of type empty"},
    RULES_END,
};
static const struct field_rule group_element = {.types = RULE_OBJECT, .fields = group_fields};

const struct field_rule MANIFEST_GROUPS_RULE = {.name = "deletionGroups",
                                                ROW_LIST(group_element),
                                                .help = "what is deleted with the item, in order"};

/* ---- The document ---- */

static const char *const strategies[] = {"update",         "patch", "merge",
                                         "mergeOverwrite", "apply", NULL};

static const char *const levels[] = {"none", "report", "trigger", NULL};

static const struct field_rule watch_fields[] = {
    {.name = "level",
     .types = RULE_TEXT,
     .choices = levels,
     .fallback = "\"none\"",
     .help = "what happens when exported values or readiness change after a job"},
    {.name = "quietPeriod",
     .types = RULE_TEXT,
     .format = &FORMAT_DURATION,
     .min = 1000,
     .fallback = "\"30s\"",
     .help = "how long a change has to be stable before it counts"},
    {.name = "interval",
     .types = RULE_TEXT,
     .format = &FORMAT_DURATION,
     .min = 1000,
     .fallback = "\"1h\"",
     .help = "shortest time between two jobs that are triggered by changes; the deployer may "
             "require more"},
    RULES_END,
};

const struct field_rule MANIFEST_COMMON_FIELDS[] = {
    {.name = "apiVersion", .types = RULE_TEXT, .help = "version of the document"},
    {.name = "kind", .types = RULE_TEXT, .help = "kind of the document"},
    {.name = "updateStrategy",
     .types = RULE_TEXT,
     .choices = strategies,
     .is_empty_allowed = true,
     .fallback = "\"update\"",
     .help = "how an object that exists is changed"},
    {.name = "readinessChecks",
     .types = RULE_OBJECT,
     .fields = readiness_fields,
     .help = "when the job has succeeded"},
    {.name = "exports", .types = RULE_OBJECT, .fields = exports_fields, .help = "exported values"},
    {.name = "continuousReconcile",
     .types = RULE_OBJECT,
     .fields = FIELDS_CONTINUOUS_RECONCILE,
     .help = "when jobs are triggered regularly; only with watch.level trigger, otherwise without "
             "effect, as in the Go deployer"},
    {.name = "watch",
     .types = RULE_OBJECT,
     .fields = watch_fields,
     .help = "late changes; the Go deployer ignores it"},
    {.name = "deletionGroups",
     ROW_LIST(group_element),
     .help = "what is deleted with the item, in order"},
    {.name = "deletionGroupsDuringUpdate",
     ROW_LIST(group_element),
     .help = "how objects that left the manifests are deleted"},
    ROW_UNUSED_TIMEOUT("deleteTimeout"),
    RULES_END,
};

const struct field_rule MANIFEST_FIELDS[] = {
    {.name = "manifests",
     .types = RULE_LIST,
     .elements = &manifest_element,
     .help = "the objects that are applied"},
    RULES_CONTINUE(MANIFEST_COMMON_FIELDS),
};

const struct field_rule MANIFEST_OLD_FIELDS[] = {
    {.name = "manifests",
     .types = RULE_LIST,
     .elements = &old_manifest_element,
     .help = "the objects that are applied"},
    RULES_CONTINUE(MANIFEST_COMMON_FIELDS),
};
