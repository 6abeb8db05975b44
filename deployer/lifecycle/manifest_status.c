/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/manifest_status.h"

#include <string.h>

#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/lifecycle/list.h"

static json_t *condition(const json_t *manifest, const char *type, const char *reason, bool is_true,
                         const char *message, const char *now)
{
    const json_t *old = list_find(doc_get(manifest, "status.conditions"), "type", type);
    const char *status = is_true ? "True" : "False";
    const char *since = strcmp(doc_text_or(old, "status", ""), status) == 0
                            ? doc_text_or(old, "lastTransitionTime", now)
                            : now;

    return json_pack("{s:s, s:s, s:s, s:I, s:s, s:s}", "lastTransitionTime", since, "message",
                     message, "reason", reason, "observedGeneration",
                     (json_int_t)doc_integer_or(manifest, "metadata.generation", 0), "status",
                     status, "type", type);
}

static json_t *conditions(const struct manifest_observation *o, const char *now)
{
    json_t *list = json_array();

    json_array_append_new(
        list, condition(o->manifest, "Resources", "ResourcesAvailable", o->are_resources_parsed,
                        o->are_resources_parsed ? "resources are parsed and ready for use"
                                                : "resources not parsed",
                        now));
    json_array_append_new(list, condition(o->manifest, "Installation", "Ready", o->is_installed,
                                          o->is_installed
                                              ? "installation is ready and resources can be used"
                                              : "installation is not ready",
                                          now));
    if (o->has_resource)
        json_array_append_new(
            list, condition(o->manifest, "ModuleCR", "ModuleCRCreated", o->is_resource_created,
                            o->is_resource_created ? "module CR was created"
                                                   : "module CR has not been created to SKR",
                            now));
    return list;
}

json_t *manifest_status(const struct manifest_observation *observation)
{
    const json_t *old = doc_get(observation->manifest, "status");
    const json_t *synced = observation->synced ? observation->synced : doc_get(old, "synced");
    json_t *status = json_object();
    char now[TIMESTAMP_MAX];

    timestamp_format(observation->now_unix_ms, now);
    doc_set_text(status, "state", module_state_name(observation->state));
    doc_set_text(status, "lastOperation.operation", observation->operation);
    doc_set_text(status, "lastOperation.lastUpdateTime",
                 doc_text_or(old, "lastOperation.lastUpdateTime", now));
    json_object_set_new(status, "conditions", conditions(observation, now));
    if (synced)
        json_object_set_new(status, "synced", json_deep_copy(synced));
    if (!old || !json_equal(doc_writable(old), status))
        doc_set_text(status, "lastOperation.lastUpdateTime", now);
    return status;
}
