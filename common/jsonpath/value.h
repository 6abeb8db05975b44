/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of JSON values by their meaning: 2 equals 2.0, but "1" differs from 1. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Compares two numbers exactly, also an integer with a real: less than, equal to or greater than 0
 * as a is less than, equal to or greater than b. */
int value_compare_numbers(const json_t *a, const json_t *b);

/* Whether two values are equal: numbers by their value, lists element by element, objects
 * regardless of the order of their members. Both are at most DOC_DEPTH_MAX deep. Each compared
 * value, and each 256 bytes of compared text, takes 1 off *visits_left; when it is used up the
 * result is false and *visits_left is 0. */
bool value_equal(const json_t *a, const json_t *b, size_t *visits_left);
