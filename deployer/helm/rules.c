/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of the provider configuration of helm items. */
#include "common/contract.h"
#include "deployer/helm/configuration.h"
#include "deployer/objects/configuration.h"
#include "deployer/validation/formats.h"
#include "deployer/validation/shared_rules.h"

enum { RELEASE_NAME_MAX = 53 }; /* of helm */

/* ---- The chart ---- */

static const struct field_rule remote_fields[] = {
    {.name = "url",
     .types = RULE_TEXT,
     .is_required = true,
     .help = "address of the archive, fetched without credentials"},
    RULES_END,
};

static const struct field_rule archive_fields[] = {
    {.name = "raw", .types = RULE_TEXT, .help = "base64 of the archive (.tgz)"},
    {.name = "remote", .types = RULE_OBJECT, .fields = remote_fields, .help = "archive to fetch"},
    RULES_END,
};

static const struct field_rule repository_fields[] = {
    {.name = "helmChartRepoUrl",
     .types = RULE_TEXT,
     .is_required = true,
     .help = "address of the repository, which has an index.yaml"},
    {.name = "helmChartName",
     .types = RULE_TEXT,
     .is_required = true,
     .help = "name of the chart in the index"},
    {.name = "helmChartVersion",
     .types = RULE_TEXT,
     .is_required = true,
     .help = "version of the chart in the index"},
    RULES_END,
};

static const struct field_rule chart_fields[] = {
    {.name = "archive", .types = RULE_OBJECT, .fields = archive_fields, .help = "an archive"},
    {.name = "ref",
     .types = RULE_TEXT,
     .is_empty_allowed = true,
     .help = "chart in an OCI registry: host/path:version, without a scheme"},
    {.name = "helmChartRepo",
     .types = RULE_OBJECT,
     .fields = repository_fields,
     .help = "chart of a classic chart repository"},
    {.name = "resourceRef",
     .types = RULE_TEXT,
     .is_empty_allowed = true,
     .help = "resource of an OCM component, as the template function getResourceKey writes it"},
    {.name = "fromResource",
     .is_forbidden = true,
     .help = "not supported any more, as in the Go deployer: use resourceRef",
     .reason = "no longer supported: use resourceRef with the template function getResourceKey"},
    RULES_END,
};

/* ---- Releases ---- */

#define ROW_FLAG(name_, help_)                                                                     \
    {                                                                                              \
        .name = (name_), .types = RULE_BOOL, .fallback = "false", .help = (help_)                  \
    }
#define ROW_WAIT ROW_FLAG("wait", "wait until the objects are ready, or gone")
#define ROW_TIMEOUT                                                                                \
    {                                                                                              \
        .name = "timeout", .types = RULE_TEXT, .format = &FORMAT_DURATION, .min = 1000,            \
        .help = "limit of the operation; default: what is left of the item's timeout"              \
    }
#define ONLY_THESE "helm items do not have this option"

static const struct field_rule deploy_fields[] = {
    ROW_FLAG("atomic", "roll back after a failure, and wait"),
    ROW_FLAG("force", "replace objects that cannot be updated"),
    ROW_FLAG("skipSchemaValidation", "do not check the values by the chart's schema"),
    ROW_FLAG("takeOwnership", "adopt objects that exist without belonging to the release"),
    ROW_TIMEOUT,
    ROW_WAIT,
    RULES_END,
};

static const struct field_rule uninstall_fields[] = {ROW_TIMEOUT, ROW_WAIT, RULES_END};

static const struct field_rule operation_fields[] = {
    {.name = "install",
     .types = RULE_OBJECT,
     .fields = deploy_fields,
     .others = ONLY_THESE,
     .help = "options for a release that does not exist"},
    {.name = "upgrade",
     .types = RULE_OBJECT,
     .fields = deploy_fields,
     .others = ONLY_THESE,
     .help = "options for a release that exists"},
    {.name = "uninstall",
     .types = RULE_OBJECT,
     .fields = uninstall_fields,
     .others = ONLY_THESE,
     .help = "options for the removal of the release"},
    RULES_END,
};

const struct field_rule HELM_FIELDS[] = {
    {.name = "name",
     ROW_OBJECT_NAME,
     .max = RELEASE_NAME_MAX,
     .is_required = true,
     .help = "name of the release"},
    {.name = "namespace",
     ROW_OBJECT_NAME,
     .is_required = true,
     .help = "namespace of the release in the target cluster"},
    ROW_FLAG("createNamespace", "create the namespace; it is never deleted"),
    {.name = "chart",
     .types = RULE_OBJECT,
     .fields = chart_fields,
     .is_required = true,
     .help = "the chart: one of archive, ref, helmChartRepo and resourceRef"},
    {.name = "values", .types = RULE_OBJECT, .help = "values of the chart"},
    {.name = "helmDeployment",
     .types = RULE_BOOL,
     .fallback = "true",
     .help = "true: helm installs a release; false: helm renders, and the objects are applied"},
    {.name = "helmDeploymentConfig",
     .types = RULE_OBJECT,
     .fields = operation_fields,
     .help = "options of helm, for releases"},
    {.name = "exportsFromManifests",
     .types = RULE_LIST,
     .elements = &MANIFEST_EXPORT_ELEMENT,
     .max = MANIFEST_LIST_MAX,
     .help = "old form of exports.exports"},
    {.name = "watch",
     .is_unused = true,
     .help = "only for manifest items",
     .reason = "helm items are not watched after their jobs"},
    {.name = "continuousReconcile",
     .types = RULE_OBJECT,
     .fields = FIELDS_CONTINUOUS_RECONCILE,
     .help = "checked, but has no effect"},
    RULES_CONTINUE(MANIFEST_COMMON_FIELDS),
};
