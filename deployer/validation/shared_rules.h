/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of values that more than one document has: parts of pods, references to objects,
 * components. The relations between their fields are checked by validate.h. */
#pragma once

#include "deployer/validation/formats.h"
#include "deployer/validation/rules.h"

enum {
    VALIDATE_ENV_MAX = 1000,
    VALIDATE_ENV_VALUE_MAX = 128 * 1024 - 1, /* MAX_ARG_STRLEN of the kernel, less NUL */
    VALIDATE_LIST_MAX = 1000,
};

extern const char *const PULL_POLICIES[];

/* Elements of lists, values of maps. */
extern const struct field_rule ELEMENT_TEXT;        /* any string */
extern const struct field_rule ELEMENT_LABEL_VALUE; /* of a nodeSelector */
extern const struct field_rule ELEMENT_ENV, ELEMENT_TOLERATION, ELEMENT_PULL_SECRET;

/* Fields of objects. */
extern const struct field_rule FIELDS_RESOURCES[];
extern const struct field_rule FIELDS_COMPONENT_DESCRIPTOR[];
extern const struct field_rule FIELDS_COMPONENT_REF[];
extern const struct field_rule FIELDS_REPOSITORY_CONTEXT[];
extern const struct field_rule FIELDS_BLUEPRINT[];
extern const struct field_rule FIELDS_CONTINUOUS_RECONCILE[];
extern const struct field_rule FIELDS_SECRET_REFERENCE[]; /* of a Target */
extern const struct field_rule FIELDS_METADATA[];
extern const char *const API_VERSIONS[]; /* of Landscaper */

/* Members of a row. */
#define ROW_TEXT_LIST                                                                              \
    .types = RULE_LIST, .elements = &ELEMENT_TEXT, .is_empty_allowed = true,                       \
    .expected = "a list of strings"
#define ROW_RESOURCES                                                                              \
    .types = RULE_OBJECT, .fields = FIELDS_RESOURCES,                                              \
    .others = "only requests and limits can be set"
#define ROW_NODE_SELECTOR                                                                          \
    .types = RULE_OBJECT, .keys = &FORMAT_LABEL_KEY, .elements = &ELEMENT_LABEL_VALUE
#define ROW_TOLERATIONS                                                                            \
    .types = RULE_LIST, .elements = &ELEMENT_TOLERATION, .max = VALIDATE_LIST_MAX
#define ROW_OBJECT_NAME .types = RULE_TEXT, .format = &FORMAT_NAME
#define ROW_IMAGE .types = RULE_TEXT, .format = &FORMAT_IMAGE, .is_empty_allowed = true
/* The first rows of an object. versions_, kinds_: its apiVersion and kind, terminated by NULL;
 * missing_: message if it has no apiVersion. */
#define ROWS_OBJECT_OF(versions_, missing_, kinds_)                                                \
    {.name = "apiVersion",                                                                         \
     .types = RULE_TEXT,                                                                           \
     .choices = (versions_),                                                                       \
     .is_required = true,                                                                          \
     .help = "version of the API",                                                                 \
     .missing = (missing_)},                                                                       \
        {.name = "kind",                                                                           \
         .types = RULE_TEXT,                                                                       \
         .choices = (kinds_),                                                                      \
         .is_required = true,                                                                      \
         .help = "kind of the object"},                                                            \
    {                                                                                              \
        .name = "metadata", .types = RULE_OBJECT, .fields = FIELDS_METADATA, .is_open = true,      \
        .is_required = true, .help = "name, namespace, labels and annotations"                     \
    }
/* The same for an object of Landscaper. */
#define ROWS_OBJECT(kinds_)                                                                        \
    ROWS_OBJECT_OF(API_VERSIONS, "must be " LANDSCAPER_API_VERSION, (kinds_))
