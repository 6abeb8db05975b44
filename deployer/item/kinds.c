/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/item/kinds.h"

#include "common/contract.h"
#include "deployer/validation/shared_rules.h"

/* ---- DeployItem ---- */

static const struct field_rule item_target_fields[] = {
    {.name = "name", ROW_OBJECT_NAME, .is_required = true, .help = "name of the target"},
    {.name = "namespace",
     .types = RULE_TEXT,
     .help = "ignored: the target is read from the item's namespace"},
    RULES_END,
};

static const struct field_rule item_delete_fields[] = {
    {.name = "skipUninstallIfClusterRemoved",
     .types = RULE_BOOL,
     .help = "evaluated by Landscaper only"},
    RULES_END,
};

const struct field_rule ITEM_SPEC_FIELDS[] = {
    {.name = "type", .types = RULE_TEXT, .is_required = true, .help = "type of the item"},
    {.name = "target",
     .types = RULE_OBJECT,
     .fields = item_target_fields,
     .help = "Target, such as a cluster, whose content main finds at " ENV_TARGET_PATH},
    {.name = "context",
     ROW_OBJECT_NAME,
     .is_empty_allowed = true,
     .fallback = "\"" CONTEXT_DEFAULT "\"",
     .help = "Context with pull Secrets and OCM configuration"},
    {.name = "config",
     .types = RULE_OBJECT,
     .help = "provider configuration; its fields depend on the type"},
    {.name = "timeout",
     .types = RULE_TEXT,
     .format = &FORMAT_TIMEOUT,
     .fallback = "\"10m\"",
     .help = "how long a job may take: a duration, or none"},
    {.name = "onDelete",
     .types = RULE_OBJECT,
     .fields = item_delete_fields,
     .help = "settings for the deletion"},
    {.name = "updateOnChangeOnly",
     .types = RULE_BOOL,
     .fallback = "false",
     .help = "do not run a job if the item has not changed since the last success"},
    RULES_END,
};

static const char *const item_kinds[] = {KIND_DEPLOY_ITEM, NULL};

const struct field_rule ITEM_FIELDS[] = {
    ROWS_OBJECT(item_kinds),
    {.name = "spec",
     .types = RULE_OBJECT,
     .fields = ITEM_SPEC_FIELDS,
     .is_required = true,
     .help = "specification of the item"},
    {.name = "status", .types = RULE_OBJECT, .help = "written by deployers"},
    RULES_END,
};

/* ---- Target ---- */

static const struct field_rule target_spec_fields[] = {
    {.name = "type", .types = RULE_TEXT, .is_required = true, .help = "type of the target"},
    {.name = "config", .types = RULE_ANY, .help = "content of the target"},
    {.name = "secretRef",
     .types = RULE_OBJECT,
     .fields = FIELDS_SECRET_REFERENCE,
     .help = "Secret in the namespace of the target that has its content"},
    RULES_END,
};

static const char *const target_kinds[] = {KIND_TARGET, NULL};

const struct field_rule TARGET_FIELDS[] = {
    ROWS_OBJECT(target_kinds),
    {.name = "spec",
     .types = RULE_OBJECT,
     .fields = target_spec_fields,
     .is_required = true,
     .help = "specification of the target"},
    {.name = "status", .types = RULE_OBJECT, .help = "not used"},
    RULES_END,
};

/* ---- Context ---- */

static const struct field_rule local_reference_fields[] = {
    {.name = "name", ROW_OBJECT_NAME, .is_required = true, .help = "name of the object"},
    RULES_END,
};

static const struct field_rule local_reference = {.types = RULE_OBJECT,
                                                  .fields = local_reference_fields};

static const struct field_rule key_reference_fields[] = {
    {.name = "name", ROW_OBJECT_NAME, .is_required = true, .help = "name of the Secret"},
    {.name = "namespace", ROW_OBJECT_NAME, .is_empty_allowed = true, .help = "its namespace"},
    {.name = "key", .types = RULE_TEXT, .is_empty_allowed = true, .help = "key of the Secret"},
    RULES_END,
};

static const struct field_rule verification_fields[] = {
    {.name = "publicKeySecretReference",
     .types = RULE_OBJECT,
     .fields = key_reference_fields,
     .help = "public key in PEM format"},
    {.name = "caCertificateSecretReference",
     .types = RULE_OBJECT,
     .fields = key_reference_fields,
     .help = "certificates in PEM format"},
    RULES_END,
};

static const struct field_rule verification = {.types = RULE_OBJECT, .fields = verification_fields};

static const char *const context_kinds[] = {KIND_CONTEXT, NULL};

const struct field_rule CONTEXT_FIELDS[] = {
    ROWS_OBJECT(context_kinds),
    {.name = "repositoryContext",
     .types = RULE_OBJECT,
     .fields = FIELDS_REPOSITORY_CONTEXT,
     .is_open = true,
     .is_checked_by_code = true,
     .help = "component repository, evaluated by Landscaper"},
    {.name = "ocmConfig",
     .types = RULE_OBJECT,
     .fields = local_reference_fields,
     .help = "ConfigMap with an OCM configuration, in the key " FILE_OCM_CONFIGURATION},
    {.name = "registryPullSecrets",
     .types = RULE_LIST,
     .elements = &local_reference,
     .help = "Secrets with registry credentials"},
    {.name = "configurations", .types = RULE_OBJECT, .help = "settings for other purposes, by key"},
    {.name = "componentVersionOverwrites",
     .types = RULE_TEXT,
     .help = "name of a ComponentVersionOverwrites object, evaluated by Landscaper"},
    {.name = "verificationSignatures",
     .types = RULE_OBJECT,
     .elements = &verification,
     .help = "keys for signatures of components, evaluated by Landscaper"},
    RULES_END,
};
