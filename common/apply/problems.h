/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: several problems in one error. Pure. */
#pragma once

#include <stddef.h>

#include "common/base/error.h"

struct problem_list {
    char **texts;
    size_t count;
};

void problem_list_done(struct problem_list *list);
/* Adds "field: message"; without a field (NULL) only the message. */
void problem_list_add(struct problem_list *list, const char *field, const char *format, ...)
    printf_like(3, 4);
/* An error with all problems, "a; b; and 7 more", as far as they fit; nothing if there are none. */
void problem_list_error(const struct problem_list *list, enum error_kind kind,
                        struct error *ret_err);
