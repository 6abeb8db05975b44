/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/objects/render.h"

#include "common/data/doc.h"
#include "deployer/objects/owner.h"

static enum plan_group group_of(const json_t *object)
{
    if (kind_is_crd(doc_text_or(object, "apiVersion", ""), doc_text_or(object, "kind", "")))
        return PLAN_CRDS;
    return doc_text(object, "metadata.namespace") ? PLAN_NAMESPACED : PLAN_CLUSTER_SCOPED;
}

static void add_object(json_t *objects, const json_t *manifest, const struct plan_input *input,
                       const struct manifest_owner *owner, enum plan_group group)
{
    if (group_of(manifest) == group)
        (void)json_array_append_new(
            objects, merge_for_create(manifest, input->annotate_before_create, &owner->marks));
}

static void add_input(json_t *objects, const struct plan_input *input,
                      const struct manifest_owner *owner, enum plan_group group)
{
    const json_t *items = doc_member(input->manifest, "items");

    if (input->policy == POLICY_IGNORE)
        return;
    if (!items || json_is_null(items))
        add_object(objects, input->manifest, input, owner, group);
    for (size_t i = 0; i < json_array_size(items); i++)
        add_object(objects, json_array_get(items, i), input, owner, group);
}

json_t *manifest_render(const struct manifest_config *config, const char *namespace_name,
                        const char *name)
{
    cleanup_manifest_owner struct manifest_owner owner = {0};
    json_t *objects = json_array();

    manifest_owner_init(&owner, namespace_name, name);
    for (int group = 0; group < PLAN_GROUPS; group++) {
        for (size_t i = 0; i < config->input_count; i++)
            add_input(objects, &config->inputs[i], &owner, (enum plan_group)group);
    }
    return objects;
}
