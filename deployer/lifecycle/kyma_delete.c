/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a managed cluster: when its modules are gone, so goes what every cluster got. */
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/kind_watch.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"

bool kyma_connect_to_leave(struct kyma *kyma, bool *ret_is_connected)
{
    cleanup_json json_t *remote = NULL;

    *ret_is_connected = false;
    if (kyma_has_no_access(kyma)) {
        /* Once only: it also ends writes of Manifests, of which later passes have begun some. */
        if (kyma->cluster)
            kyma_disconnect(kyma);
        return false;
    }
    *ret_is_connected = kyma_connect(kyma, true);
    if (!*ret_is_connected || !kyma_is_remote(kyma))
        return false;
    remote = kept_get(&kyma->remote);
    return kyma_is_of_another(kyma, remote);
}

static void on_deleted(void *data, json_t *object, const struct error *err)
{
    struct kyma *kyma = data;

    (void)object;
    kyma->cluster_call = NULL;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        kyma_fail(kyma, err);
        return;
    }
    kyma_heard(kyma);
    kyma->step++;
    kyma_touch(kyma);
}

static void delete_definition(struct kyma *kyma, const char *name)
{
    kyma_send(kyma,
              (struct kube_request){
                  .verb = KUBE_DELETE,
                  .resource = {"apiextensions.k8s.io", "v1", "customresourcedefinitions"},
                  .name = name},
              on_deleted);
}

static void release_remote(struct kyma *kyma)
{
    cleanup_json json_t *body = json_pack("{s:{s:n}}", "metadata", "finalizers");

    kyma_send(kyma,
              (struct kube_request){.verb = KUBE_PATCH_MERGE,
                                    .resource = RESOURCE_KYMAS,
                                    .namespace_name = KYMA_NAMESPACE,
                                    .name = KYMA_REMOTE_NAME,
                                    .body = body,
                                    .field_manager = KYMA_FIELD_MANAGER_SYNC},
              on_deleted);
}

static void delete_remote(struct kyma *kyma)
{
    kyma_send(kyma,
              (struct kube_request){.verb = KUBE_DELETE,
                                    .resource = RESOURCE_KYMAS,
                                    .namespace_name = KYMA_NAMESPACE,
                                    .name = KYMA_REMOTE_NAME},
              on_deleted);
}

bool kyma_delete_step(struct kyma *kyma, const json_t *object)
{
    enum { STEP_TEMPLATES, STEP_RELEASES, STEP_RELEASE_KYMA, STEP_KYMA, STEP_KYMAS };

    (void)object;
    if (!kyma_is_remote(kyma))
        return true;
    if (!kyma_may_write(kyma))
        return false;
    if (kyma->remote_interest) {
        /* Its watches would only report that their kinds are gone. */
        cluster_unwatch(kyma->remote_interest);
        kyma->remote_interest = NULL;
        catalog_stop(kyma);
        kind_watch_stop_all(kyma);
        kyma->step = 0;
    }
    switch (kyma->step) {
    case STEP_TEMPLATES:
        delete_definition(kyma, "moduletemplates." KYMA_GROUP);
        return false;
    case STEP_RELEASES:
        delete_definition(kyma, "modulereleasemetas." KYMA_GROUP);
        return false;
    case STEP_RELEASE_KYMA:
        release_remote(kyma);
        return false;
    case STEP_KYMA:
        delete_remote(kyma);
        return false;
    case STEP_KYMAS:
        delete_definition(kyma, "kymas." KYMA_GROUP);
        return false;
    default:
        return true;
    }
}
