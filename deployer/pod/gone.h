/* SPDX-License-Identifier: Apache-2.0 */
/* Items that this process has seen, and seen go: what is left of them is nobody else's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { GONE_MAX = 1000 }; /* more are not remembered */

struct gone_item;

struct gone_list {
    struct gone_item *first;
    size_t count;
};

void gone_add(struct gone_list *list, const char *namespace_name, const char *name);
bool gone_has(const struct gone_list *list, const char *namespace_name, const char *name);
void gone_clear(struct gone_list *list);
