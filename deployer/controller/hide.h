/* SPDX-License-Identifier: Apache-2.0 */
/* What a program prints can hold what it was given: credentials, imports. These are the values to
 * take out of such text before it becomes part of a status (item/mask.h takes them out). */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* Shorter values would hide half of every log, and tell nobody anything. */
enum { HIDE_LENGTH_MIN = 6, HIDE_VALUES_MAX = 4096 };

/* NULL at the end of items; zeroed memory is an empty list. */
struct hidden {
    char **items;
    size_t count;
};

/* Adds all texts in a Secret's data, those inside JSON and YAML one by one, long ones line by line.
 */
void hidden_add_secret(struct hidden *hidden, const json_t *secret);
void hidden_done(struct hidden *hidden); /* wipes them */

/* A copy of a pod (new reference) in which the last words of main hold none of the values. hidden
 * NULL: nobody knows what is secret, so main says nothing. */
json_t *hidden_from_pod(const json_t *pod, const struct hidden *hidden);
