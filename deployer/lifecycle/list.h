/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of objects that have a name or type: modules, channels, conditions. */
#pragma once

#include <string.h>

#include "common/data/doc.h"

/* The first element whose text at path is value; NULL if no element has it. Borrowed. */
static inline const json_t *list_find(const json_t *list, const char *path, const char *value)
{
    size_t i;
    json_t *element;

    json_array_foreach(doc_writable(list), i, element) if (strcmp(doc_text_or(element, path, ""),
                                                                  value) == 0) return element;
    return NULL;
}
