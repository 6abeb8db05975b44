/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/gone.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

struct gone_item {
    struct gone_item *next;
    char *namespace_name, *name;
};

bool gone_has(const struct gone_list *list, const char *namespace_name, const char *name)
{
    for (const struct gone_item *item = list->first; item; item = item->next) {
        if (strcmp(item->name, name) == 0 && strcmp(item->namespace_name, namespace_name) == 0)
            return true;
    }
    return false;
}

void gone_add(struct gone_list *list, const char *namespace_name, const char *name)
{
    struct gone_item *item = NULL;

    if (list->count >= GONE_MAX || gone_has(list, namespace_name, name))
        return;
    item = xcalloc(1, sizeof(*item));
    item->namespace_name = xstrdup(namespace_name);
    item->name = xstrdup(name);
    item->next = list->first;
    list->first = item;
    list->count++;
}

void gone_clear(struct gone_list *list)
{
    while (list->first) {
        struct gone_item *item = list->first;

        list->first = item->next;
        free(item->namespace_name);
        free(item->name);
        free(item);
    }
    list->count = 0;
}
