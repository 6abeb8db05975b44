/* SPDX-License-Identifier: Apache-2.0 */
/* An agent removes its own objects when its Environment is deleted. If its cluster is gone, and
 * somebody says so with the annotation delete-without-uninstall, this is done here. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/registrations/conditions.h"
#include "deployer/registrations/manager.h"
#include "deployer/registrations/view.h"

static bool is_agent_silent(struct manager *manager, const json_t *environment)
{
    enum heartbeat_state state = heartbeat_judge(manager->beats, environment_lease(environment),
                                                 loop_now_ms(manager->loop));

    return state == HEARTBEAT_ABSENT || state == HEARTBEAT_RELEASED || state == HEARTBEAT_LOST;
}

bool leave_for_agent(struct environment_view *view)
{
    struct manager *manager = view->manager;
    const char *uid = doc_text_or(view->environment, "metadata.uid", "");
    const char *lease = environment_lease(view->environment);
    cleanup_free char *secret = xasprintf("%s" TARGET_ACCESS_SUFFIX, view->name);
    cleanup_json json_t *patch = finalizer_patch(view->environment, FINALIZER_AGENT, false);

    if (!patch || !view_annotation(view->environment, ANNOTATION_DELETE_WITHOUT_UNINSTALL) ||
        !is_agent_silent(manager, view->environment))
        return false;
    /* The name is that of the Environment, not the one in its spec: an agent must not be able to
     * have other Secrets or Leases deleted. */
    if (!json_object_get(manager->left, uid))
        act_on_secret(manager, view->name, secret, uid);
    else if (strcmp(lease, view->name) == 0 && manager_find(manager, SOURCE_LEASES, lease))
        act_on_object(manager, "", view->name, KUBE_DELETE, KUBE_LEASES, SOURCE_LEASES, lease,
                      NULL);
    else
        act_on_object(manager, "", view->name, KUBE_PATCH_JSON, KUBE_ENVIRONMENTS,
                      SOURCE_ENVIRONMENTS, view->name, patch);
    return true;
}
