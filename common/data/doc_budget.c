/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/doc_budget.h"

#include <string.h>

static bool take_bytes(struct doc_budget *budget, size_t bytes)
{
    if (budget->bytes_left < bytes)
        return false;
    budget->bytes_left -= bytes;
    return true;
}

bool doc_budget_take(struct doc_budget *budget, const json_t *value)
{
    const char *key = NULL;
    json_t *member = NULL;
    size_t index = 0;

    if (budget->nodes_left == 0 || !take_bytes(budget, json_string_length(value)))
        return false;
    budget->nodes_left--;
    json_array_foreach(value, index, member)
    {
        if (!doc_budget_take(budget, member))
            return false;
    }
    doc_foreach(value, key, member)
    {
        if (!take_bytes(budget, strlen(key)) || !doc_budget_take(budget, member))
            return false;
    }
    return true;
}

size_t doc_height(const json_t *value)
{
    const char *key = NULL;
    json_t *member = NULL;
    size_t index = 0;
    size_t highest = 0;

    json_array_foreach(value, index, member)
    {
        size_t height = doc_height(member);

        highest = height > highest ? height : highest;
    }
    doc_foreach(value, key, member)
    {
        size_t height = doc_height(member);

        highest = height > highest ? height : highest;
    }
    return highest + (json_is_array(value) || json_is_object(value));
}
