/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/pull_secrets.h"

#include "common/base/memory.h"
#include "common/data/doc.h"

/* What has been named so far; more than the limit are counted, not kept. */
struct gathering {
    json_t *secrets; /* the list */
    json_t *seen;    /* "namespace/name": true */
};

static void gather(struct gathering *gathering, const char *namespace_name, const char *name)
{
    /* Neither part can have a slash where there is such a Secret. */
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
        return error_set(err, ERROR_INVALID,
                         "registryPullSecrets of context '%s' and of the item name %zu different "
                         "Secrets, but at most %d can be used: one Secret can hold the credentials "
                         "of many registries",
                         doc_text_or(context, "metadata.name", ""), json_object_size(seen),
                         PULL_SECRETS_MAX);
    *ret_secrets = steal(&secrets);
    return 0;
}
