/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/types.h"

#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

json_t *environment_base_types(const json_t *environment, const json_t *external)
{
    const json_t *reported = doc_get(environment, "status.agent.types");
    json_t *types = json_is_array(reported) ? json_deep_copy(reported) : json_array();

    if (!json_is_array(reported))
        (void)json_array_append_new(types, json_string(DEPLOY_ITEM_TYPE_HELM));
    if (json_is_array(external))
        (void)json_array_extend(types, doc_writable(external));
    return types;
}

/* ---- types in the text of a blueprint ---- */

static bool is_type_character(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("./-_", c));
}

/* Adds every word with a slash that follows "type:". Templates and types of Targets are left out.
 */
static void find_types(const char *text, json_t *types)
{
    static const char member[] = "type:";
    const char *at = text;

    while ((at = strstr(at, member))) {
        const char *start = at + strlen(member);
        bool is_member = at == text || !isalnum((unsigned char)at[-1]);
        cleanup_free char *word = NULL;
        size_t length = 0;

        at = start;
        start += strspn(start, " \t\"'");
        while (is_type_character(start[length]))
            length++;
        word = xstrndup(start, length);
        if (is_member && strchr(word, '/') && strcmp(word, TARGET_TYPE_KUBERNETES) != 0)
            (void)json_array_append_new(types, json_string(word));
    }
}

static void find_types_of_files(const json_t *files, json_t *types)
{
    const char *name = NULL;
    json_t *file = NULL;

    if (json_is_string(files))
        find_types(json_string_value(files), types);
    if (!json_is_object(files))
        return;
    doc_foreach(files, name, file)
    {
        find_types_of_files(file, types);
    }
}

json_t *registration_needs(const json_t *registration, bool *ret_is_guess)
{
    const json_t *declared = doc_get(registration, "spec.requiredTypes");
    json_t *types = NULL;

    *ret_is_guess = !json_is_array(declared);
    if (!*ret_is_guess)
        return json_deep_copy(declared);
    types = json_array();
    find_types_of_files(
        doc_get(registration, "spec.installationTemplate.blueprint.inline.filesystem"), types);
    return types;
}

const char **type_list(const json_t *array)
{
    const char **list = xcalloc(json_array_size(array) + 1, sizeof(*list));
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));

        if (text)
            list[count++] = text;
    }
    return list;
}
