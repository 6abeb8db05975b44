/* SPDX-License-Identifier: Apache-2.0 */
/* The provider configuration of a manifest item, v1alpha1 and v1alpha2. Everything that can be
 * checked without a server is checked, so that a mistake is reported before the first write. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/apply/checks.h"
#include "common/apply/exports.h"
#include "common/apply/merge.h"
#include "common/apply/plan.h"
#include "common/apply/readiness.h"
#include "common/apply/removal.h"
#include "deployer/objects/late_change.h"
#include "deployer/validation/mistakes.h"
#include "deployer/validation/rules.h"

enum {
    MANIFEST_LIST_MAX = 1000
}; /* custom checks, exports, deletion groups; and in each of them */

/* An export from the values of a chart. */
struct value_export {
    char *key, *path_text;
    struct jsonpath *path;
};

struct manifest_config {
    json_t *document; /* what the inputs borrow from */
    enum update_strategy strategy;
    struct plan_input *inputs;
    char **sources; /* of the inputs */
    size_t input_count;

    bool is_default_check; /* !readinessChecks.disableDefault */
    enum readiness_rules rules;
    struct custom_check *checks;
    size_t check_count;

    struct export_rule *exports;
    size_t export_count;
    bool has_value_exports; /* exports without fromResource are read from the values of a chart */
    struct value_export *value_exports;
    size_t value_export_count;

    struct late_rules late; /* watch */

    /* None: REMOVAL_DEFAULT_GROUPS. */
    struct removal_group *groups, *update_groups;
    size_t group_count, update_group_count;
};

/* The fields of a provider configuration v1alpha2. */
extern const struct field_rule MANIFEST_FIELDS[];
/* Those of them that helm items have, too: all but manifests. */
extern const struct field_rule MANIFEST_COMMON_FIELDS[];
extern const struct field_rule MANIFEST_EXPORT_ELEMENT; /* of exports.exports */

/* Decodes and validates a provider configuration. Fails if there are errors, which are added to
 * mistakes; only otherwise *ret_config is set. MISTAKE_TYPE: the document cannot be decoded; the
 * others: it is not valid. Fields that are unknown or have no effect are MISTAKE_UNKNOWN. No text
 * contains a value of a manifest. */
int manifest_config_parse(const json_t *document, struct manifest_config **ret_config,
                          struct mistakes *mistakes) must_check;
void manifest_config_free(struct manifest_config *config); /* NULL is fine */
define_cleanup(struct manifest_config *, manifest_config_free)
#define cleanup_manifest_config __attribute__((cleanup(manifest_config_freep)))

/* What a helm item has in common with a manifest item: everything but manifests, which are added
 * with manifest_config_add(), and watch. Its fields were checked by MANIFEST_COMMON_FIELDS;
 * relations between them that are wrong are added to mistakes. */
struct manifest_config *manifest_config_for_chart(const json_t *document,
                                                  struct mistakes *mistakes);
/* Takes manifest over. source: for messages. */
void manifest_config_add(struct manifest_config *config, json_t *manifest, enum apply_policy policy,
                         const char *source);

/* Only the deletion groups: what the deletion of an item needs. Does not fail: without a document,
 * or with deletion groups that are not valid, the default groups apply (*ret_is_valid is false in
 * the latter case). */
struct manifest_config *manifest_config_for_deletion(const json_t *document, bool *ret_is_valid);

/* Only what is watched after a job has succeeded: readiness checks, exports and watch. It keeps no
 * manifests. NULL: nothing is, or the document is not valid. */
struct manifest_config *manifest_config_for_watch(const json_t *document);
/* Only the rules of watch: cheap. */
struct late_rules manifest_config_late_rules(const json_t *document);

/* The distinct names of second targets, for checks, exports and groups; array of strings. New
 * reference. is_delete: only those that a deletion needs. */
json_t *manifest_config_targets(const struct manifest_config *config, bool is_delete);
/* Whether a deletion has something to do although no object is recorded: groups that delete, or
 * wait for, objects that are not. */
bool manifest_config_has_open_groups(const struct manifest_config *config);
