/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/module_decide.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/list.h"
#include "deployer/lifecycle/names.h"

static bool has_finalizer(const json_t *object, const char *finalizer)
{
    size_t i;
    json_t *one;

    json_array_foreach(doc_writable(doc_get(object, "metadata.finalizers")), i, one)
    {
        if (json_is_string(one) && strcmp(json_string_value(one), finalizer) == 0)
            return true;
    }
    return false;
}

static bool is_set(const json_t *map, const char *key)
{
    const char *value = json_string_value(doc_member(map, key));

    return value && strcmp(value, "true") == 0;
}

struct module_view module_view_of(const json_t *manifest)
{
    const json_t *annotations = doc_get(manifest, "metadata.annotations");
    const char *marked = json_string_value(doc_member(annotations, KYMA_ANNOTATION_SYNCED_REF));
    bool is_ignored = strcmp(doc_text_or(manifest, "spec.customResourcePolicy", ""), "Ignore") == 0;
    bool has_resource = json_is_object(doc_get(manifest, "spec.resource"));

    return (struct module_view){
        .is_deleting = doc_text(manifest, "metadata.deletionTimestamp") != NULL,
        .is_unmanaged = is_set(annotations, KYMA_ANNOTATION_UNMANAGED),
        .is_skipped = is_set(doc_get(manifest, "metadata.labels"), KYMA_LABEL_SKIP),
        .has_finalizers =
            has_finalizer(manifest, MANIFEST_FINALIZER) &&
            has_finalizer(manifest, MANIFEST_LABEL_FINALIZER) &&
            (!has_resource || is_ignored || has_finalizer(manifest, MANIFEST_RESOURCE_FINALIZER)),
        .has_label_finalizer = has_finalizer(manifest, MANIFEST_LABEL_FINALIZER),
        .has_resource_finalizer = has_finalizer(manifest, MANIFEST_RESOURCE_FINALIZER),
        .wants_resource = has_resource && !is_ignored,
        .has_resource_kind = has_resource,
        .is_resource_ignored = is_ignored,
        .is_resource_created = strcmp(doc_text_or(list_find(doc_get(manifest, "status.conditions"),
                                                            "type", "ModuleCR"),
                                                  "status", ""),
                                      "True") == 0,
        .is_marked =
            marked && strcmp(marked, doc_text_or(manifest, "spec.install.source.ref", "")) == 0,
        .has_objects = json_array_size(doc_get(manifest, "status.synced")) > 0,
    };
}

/* ---- Rules ---- */

#define rule(name_, condition_)                                                                    \
    static bool name_(const struct module_view *v)                                                 \
    {                                                                                              \
        return condition_;                                                                         \
    }

rule(skipped, v->is_skipped && !v->is_deleting) rule(forsaken, v->is_deleting && v->is_forsaken)
    rule(away, !v->has_access) rule(given_up, v->is_deleting && v->is_unmanaged) rule(
        look_at_resources, v->is_deleting && v->has_resource_kind && !v->are_resources_known)
        rule(used, v->is_deleting && (v->has_other_resources ||
                                      (v->is_resource_ignored && v->has_default_resource)))
            rule(default_resource_goes,
                 v->is_deleting && v->has_default_resource &&
                     v->is_default_terminating) rule(delete_resource,
                                                     v->is_deleting && v->has_default_resource)
                rule(resource_gone, v->is_deleting && v->has_resource_finalizer) rule(
                    remove_objects, v->is_deleting && v->has_objects) rule(removed, v->is_deleting)
                    rule(hand_over, v->is_unmanaged && v->has_label_finalizer)
                        rule(handed_over, v->is_unmanaged) rule(add_finalizers, !v->has_finalizers)
                            rule(policy_changed, v->has_resource_finalizer && !v->wants_resource)
                                rule(content_unreadable, !v->is_applied && v->is_content_failed)
                                    rule(content_unknown, !v->is_applied && !v->is_content_known)
                                        rule(apply, !v->is_applied)
                                            rule(correct_drift, v->has_dirty && v->is_content_known)
                                                rule(create_resource,
                                                     v->wants_resource && !v->is_resource_created)
                                                    rule(mark, !v->is_marked)

                                                        static const struct {
    bool (*applies)(const struct module_view *);
    const char *name;
    enum module_action action;
} rules[] = {
    {skipped, "skipped", MODULE_NOTHING},
    {forsaken, "forsaken", MODULE_DROP_FINALIZERS},
    {away, "away", MODULE_NOTHING},
    {given_up, "given_up", MODULE_DROP_FINALIZERS},
    {look_at_resources, "look_at_resources", MODULE_WATCH_RESOURCES},
    {used, "used", MODULE_DESCRIBE},
    {default_resource_goes, "default_resource_goes", MODULE_DESCRIBE},
    {delete_resource, "delete_resource", MODULE_DELETE_RESOURCE},
    {resource_gone, "resource_gone", MODULE_DROP_RESOURCE_FINALIZER},
    {remove_objects, "remove_objects", MODULE_REMOVE_OBJECTS},
    {removed, "removed", MODULE_DROP_FINALIZERS},
    {hand_over, "hand_over", MODULE_HAND_OVER},
    {handed_over, "handed_over", MODULE_DELETE_MANIFEST},
    {add_finalizers, "add_finalizers", MODULE_ADD_FINALIZERS},
    {policy_changed, "policy_changed", MODULE_DROP_RESOURCE_FINALIZER},
    {content_unreadable, "content_unreadable", MODULE_FAIL},
    {content_unknown, "content_unknown", MODULE_NOTHING},
    {apply, "apply", MODULE_APPLY},
    {correct_drift, "correct_drift", MODULE_APPLY_DIRTY},
    {create_resource, "create_resource", MODULE_CREATE_RESOURCE},
    {mark, "mark", MODULE_MARK},
};

enum module_action module_decide(const struct module_view *view, const char **ret_rule)
{
    for (size_t i = 0; i < array_length(rules); i++) {
        if (rules[i].applies(view)) {
            *ret_rule = rules[i].name;
            return rules[i].action;
        }
    }
    *ret_rule = "settled";
    return MODULE_REPORT;
}
