/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/offline/missing.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/suggest.h"
#include "common/data/doc.h"

static bool is_similar(const char *given, const char *wanted)
{
    struct suggestion suggestion = {.given = given};

    suggestion_offer(&suggestion, wanted);
    return suggestion.best;
}

/* How an object of the files differs from the one that is missing, with the way to correct it; NULL
 * if they have little in common. The caller frees. */
static char *describe_difference(const json_t *found, const struct missing_object *wanted)
{
    const char *kind = doc_text_or(found, "kind", "");
    const char *name = doc_text_or(found, "metadata.name", "");
    const char *namespace_name = doc_text_or(found, "metadata.namespace", wanted->namespace_name);
    bool has_kind = strcmp(kind, wanted->kind) == 0;
    bool has_name = strcmp(name, wanted->name) == 0;
    bool has_namespace = strcmp(namespace_name, wanted->namespace_name) == 0;

    if (has_kind && has_name)
        return xasprintf("they contain %s \"%s/%s\", which is in another namespace (an object "
                         "without metadata.namespace fits every item)",
                         kind, namespace_name, name);
    if (has_name && has_namespace && is_similar(kind, wanted->kind))
        return xasprintf("they contain \"%s/%s\" of kind \"%s\" (did you mean kind \"%s\"?)",
                         namespace_name, name, kind, wanted->kind);
    if (has_kind && has_namespace && is_similar(name, wanted->name))
        return xasprintf("they contain %s \"%s/%s\" (did you mean that?)", kind, namespace_name,
                         name);
    return NULL;
}

int missing_fail(const struct bundle *bundle, const struct missing_object *object,
                 struct error *err)
{
    cleanup_free char *advice = NULL;
    const json_t *found = NULL;
    size_t index = 0;

    json_array_foreach(bundle->objects, index, found)
    {
        if (!advice)
            advice = describe_difference(found, object);
    }
    if (!advice)
        advice = xasprintf("add it with %s FILE", object->option);
    return error_set(err, ERROR_INVALID, "%s \"%s/%s\" not found in the files; %s", object->what,
                     object->namespace_name, object->name, advice);
}
