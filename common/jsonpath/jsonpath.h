/* SPDX-License-Identifier: Apache-2.0 */
/* JSONPath in the dialect of Kubernetes (kubectl, client-go), evaluated over json_t trees.
 *
 *     .a.b  a.b           member; the leading dot may be left out
 *     .a\.b               in a name a backslash takes the next character literally
 *     ['a.b']             NOT one member: the quoted text is parsed again, as .a.b
 *     .*                  all members or elements
 *     [*]                 all elements of a list
 *     [2] [-1]            element, counted from the end if negative; [] is [0]
 *     [1:3] [:2] [::2]    slice: the end is exclusive, the step is positive
 *     [0,2] ['a','b']     union: the results of the first member, then those of the second
 *     ..  ..name          the value and all that is below it, parents first
 *     [?(@.t=="x")]       elements for which the comparison holds: == != < > <= >=
 *     [?(@.t)]            elements for which the path finds something, even null
 *
 * A side of a comparison is a path, a string in single or double quotes with the escapes of Go, a
 * number, true or false. "$" and "@" may start a path and both stand for the current value: inside
 * a filter "$" is not the root, as in client-go. Braces, templates ("range") and the operator =~
 * are not supported.
 *
 * Differences from client-go. More is accepted: a path may start with "$", "@" or "[" (client-go
 * then finds nothing), "..*", nested filters, comparing an integer with a real, and "\\" in a name
 * for a backslash. Mistakes are found when parsing, not when a value is reached: empty names
 * (client-go finds nothing), unknown operators, unquoted strings, steps of 0. A missing member
 * never makes a filter fail, but [?(@.a[5])] fails for a list that is too short (client-go: a
 * match). An empty list does not hide the results of the lists after it. ".*" does not split
 * strings into bytes. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

enum {
    JSONPATH_TEXT_MAX = 4096,      /* bytes of a path */
    JSONPATH_STEPS_MAX = 256,      /* with those inside filters and unions */
    JSONPATH_DEPTH_MAX = 8,        /* nesting of paths in filters and quotes */
    JSONPATH_VISITS_MAX = 1 << 18, /* values that one evaluation looks at */
};

struct jsonpath;

enum jsonpath_missing {
    JSONPATH_MISSING_IS_NOTHING, /* the result is then empty */
    JSONPATH_MISSING_IS_ERROR,   /* ERROR_NOT_FOUND */
};

/* Parses a path. A text that is not a path is ERROR_INVALID "invalid JSONPath at offset 7: expected
 * ...", with the offset in bytes; so is one that exceeds a limit. */
int jsonpath_parse(const char *text, struct jsonpath **ret_path, struct error *err) must_check;
void jsonpath_free(struct jsonpath *path); /* NULL is fine */
define_cleanup(struct jsonpath *, jsonpath_free)
#define cleanup_jsonpath __attribute__((cleanup(jsonpath_freep)))

/* Finds the values of root, which is not changed. *ret_values is a new array with references to
 * them, in the order of the document.
 *
 * A member that does not exist, a filter without a match and an empty list find nothing. With
 * JSONPATH_MISSING_IS_ERROR it is ERROR_NOT_FOUND if a step, or one member of a union, finds
 * nothing for all values it is applied to; so a result is never empty. Inside filters it is never
 * an error.
 *
 * In both modes these are ERROR_INVALID: an index out of range, an index into or a filter on a
 * value that is not a list (null has no elements, but cannot be filtered), a comparison of
 * different types, of lists, objects or nulls, an order of booleans, and a side of a comparison
 * with more than one value. They may disappear when the object changes. ERROR_TOO_LARGE: the
 * evaluation visits more than JSONPATH_VISITS_MAX values, or the tree is deeper than DOC_DEPTH_MAX.
 *
 * Messages name the step, its offset in the path, and the type of what was found. They never
 * contain values, which may be secret. */
int jsonpath_find(const struct jsonpath *path, const json_t *root, enum jsonpath_missing missing,
                  json_t **ret_values, struct error *err) must_check;
