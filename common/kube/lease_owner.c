/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/lease_owner.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/claims.h"
#include "common/kube/config_internal.h"

json_t *lease_owner_new(const struct kube *kube, const char *namespace_name)
{
    const struct kube_config *config = kube_get_config(kube);
    cleanup_token_claims struct token_claims claims = {0};
    cleanup_wipe char *token = NULL;
    struct error ignored = {0};

    /* An API server may also accept tokens of another cluster, whose uids it does not know. */
    if (!config->is_in_cluster || kube_config_token(config, &token, &ignored) < 0 || !token ||
        token_claims_read(token, &claims, &ignored) < 0 || !claims.account_uid ||
        strcmp(claims.namespace_name, namespace_name) != 0)
        return NULL;
    return json_pack("{s:s,s:s,s:s,s:s}", "apiVersion", "v1", "kind", "ServiceAccount", "name",
                     claims.account, "uid", claims.account_uid);
}

void lease_owner_add(json_t *lease, json_t *owner)
{
    const json_t *owners = doc_get(lease, "metadata.ownerReferences");
    json_t *all = NULL;

    if (!owner)
        return;
    for (size_t i = 0; i < json_array_size(owners); i++) {
        if (strcmp(doc_text_or(json_array_get(owners, i), "uid", ""), doc_text(owner, "uid")) == 0)
            return;
    }
    all = json_is_array(owners) ? json_deep_copy(owners) : json_array();
    (void)json_array_append(all, owner);
    doc_set_new(lease, "metadata.ownerReferences", all);
}
