/* SPDX-License-Identifier: Apache-2.0 */
/* A list of items, for example those whose deletion this process has seen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { GONE_MAX = 1000 }; /* further items are not added */

struct gone_item;

struct gone_list {
    struct gone_item *first;
    size_t count;
};

void gone_add(struct gone_list *list, const char *namespace_name, const char *name);
bool gone_has(const struct gone_list *list, const char *namespace_name, const char *name);
void gone_clear(struct gone_list *list);
