/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/pull_secrets.h"

#include "common/base/memory.h"
#include "common/data/doc.h"

/* The Secrets found so far. Those above the limit are counted, but not kept. */
struct gathering {
    json_t *secrets; /* the list */
    json_t *seen;    /* "namespace/name": true */
};

static void gather(struct gathering *gathering, const char *namespace_name, const char *name)
{
    /* Names and namespaces of existing Secrets contain no slash. */
    cleanup_free char *key = xasprintf("%s/%s", namespace_name, name);

    if (json_object_get(gathering->seen, key))
        return;
    (void)json_object_set_new(gathering->seen, key, json_true());
    if (json_array_size(gathering->secrets) < PULL_SECRETS_MAX)
        (void)json_array_append_new(
            gathering->secrets, json_pack("{s:s,s:s}", "namespace", namespace_name, "name", name));
}

int pull_secrets_gather(const json_t *context, const char *namespace_name, const json_t *of_item,
                        json_t **ret_secrets, struct error *err)
{
    const json_t *of_context = doc_member(context, "registryPullSecrets");
    cleanup_json json_t *secrets = json_array();
    cleanup_json json_t *seen = json_object();
    struct gathering gathering = {.secrets = secrets, .seen = seen};

    for (size_t i = 0; i < json_array_size(of_context); i++)
        gather(&gathering, namespace_name, doc_text_or(json_array_get(of_context, i), "name", ""));
    for (size_t i = 0; i < json_array_size(of_item); i++)
        gather(&gathering, doc_text_or(json_array_get(of_item, i), "namespace", ""),
               doc_text_or(json_array_get(of_item, i), "name", ""));
    if (json_object_size(seen) > PULL_SECRETS_MAX)
        return error_set(
            err, ERROR_INVALID,
            "registryPullSecrets of context \"%s\" and of the item refer to %zu different "
            "Secrets, but the maximum is %d: put the credentials of several registries "
            "into one Secret",
            doc_text_or(context, "metadata.name", ""), json_object_size(seen), PULL_SECRETS_MAX);
    *ret_secrets = steal(&secrets);
    return 0;
}
