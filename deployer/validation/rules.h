/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a document as data: rules_check() validates a document by these tables, and
 * schema.h turns them into a JSON Schema, so that both agree. Relations between fields are checked
 * by code (validate.h). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "deployer/validation/mistakes.h"

/* JSON types that a value may have. */
enum {
    RULE_TEXT = 1 << 0,
    RULE_BOOL = 1 << 1,
    RULE_INTEGER = 1 << 2,
    RULE_NUMBER = 1 << 3,
    RULE_OBJECT = 1 << 4,
    RULE_LIST = 1 << 5,
    RULE_ANY = 0,
};

struct field_rule;

/* The syntax of a text. */
struct text_format {
    const char *pattern;         /* regular expression for the schema; it may accept more */
    const char *const *reserved; /* texts that match, but are not allowed; or NULL */
    /* Fails with a text that quotes the value and says what is expected. */
    int (*check)(const char *text, const struct field_rule *rule, struct error *err);
};

struct field_rule {
    const char *name; /* of the field; NULL ends the table */
    unsigned types;   /* of the value, RULE_...; RULE_ANY: all */
    const char *help; /* for people, no full stop */
    /* JSON text of the default value if the field is absent; NULL: described by help, or none. */
    const char *fallback;

    const struct text_format *format; /* of a text or number; NULL: any */
    const char *const *choices;       /* allowed texts, NULL at the end; or NULL */
    /* An integer lies between min and max. A text has at most max bytes, a list or map at most max
     * elements. A duration is at least min milliseconds. max 0: no limit. */
    int64_t min, max;
    /* The fields of an object, in a table that ends with a row without a name. If that row has
     * fields, the table continues there; the first row with a name counts. */
    const struct field_rule *fields;
    const struct field_rule *elements; /* the rule of each element of a list or value of a map */
    const struct text_format *keys;    /* of a map */

    /* null counts as absent. A required text must not be empty. */
    bool is_required;
    bool is_empty_allowed;  /* "" counts as absent, whatever the type is; charts write it */
    bool is_forbidden;      /* must be absent, because of reason */
    bool is_unused;         /* has no effect, because of reason */
    bool is_open;           /* an object may have other fields, too */
    bool is_not_empty;      /* an object needs at least one of its fields */
    bool is_single_allowed; /* an object counts as a list of one element */
    /* Only the schema uses format, fields and elements; code checks them, because it depends on
     * other fields whether they are errors. */
    bool is_checked_by_code;

    const char *missing;  /* "Required value: ..."; NULL: help */
    const char *expected; /* "expected ..., got a number"; NULL: from types */
    const char *reason;   /* why a field is forbidden or unused; what to do if a text is too long */
    const char *others;   /* other fields of an object are errors for this reason, not warnings */
};

/* The last row of a table that continues with another table. */
#define RULES_CONTINUE(table_)                                                                     \
    {                                                                                              \
        .fields = (table_)                                                                         \
    }
#define RULES_END                                                                                  \
    {                                                                                              \
        0                                                                                          \
    }

/* Adds everything in value that contradicts the rule to mistakes, at path. NULL is absent. */
void rule_check(const json_t *value, const struct field_rule *rule, const char *path,
                struct mistakes *mistakes);
/* The same for the fields of an object. Anything but an object has no fields. */
void rules_check(const json_t *object, const struct field_rule *rules, const char *path,
                 struct mistakes *mistakes);

/* The row of a field, or NULL. */
const struct field_rule *rules_find(const struct field_rule *rules, const char *name);
/* The rows of a table one after the other, following the tables that it continues with, without
 * rows that an earlier one replaces. The first call passes NULL; NULL is the end. */
const struct field_rule *rules_next(const struct field_rule *rules, const struct field_rule *last);
