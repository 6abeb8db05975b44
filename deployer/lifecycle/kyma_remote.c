/* SPDX-License-Identifier: Apache-2.0 */
/* The Kyma in a managed cluster: the user's copy, whose specification decides. */
#include <string.h>

#include "common/apply/merge.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/kyma_status.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"

static void on_remote_written(void *data, json_t *object, const struct error *err)
{
    struct kyma *kyma = data;

    kyma->cluster_call = NULL;
    if (err->kind == ERROR_NONE) {
        kyma_recover(kyma);
        kyma_watch_remote(kyma, object); /* unless it is watched already */
        if (kept_is_there(&kyma->remote))
            kept_take_answer(&kyma->remote, object);
        else
            kept_set(&kyma->remote, object);
        kyma_touch(kyma);
    } else if (err->kind == ERROR_CONFLICT || err->kind == ERROR_EXISTS ||
               err->kind == ERROR_NOT_FOUND) {
        kyma_watch_remote(kyma, NULL);
        loop_timer_start(&kyma->timer, LIFECYCLE_RETRY_MS); /* the watch knows more by then */
    } else {
        kyma_fail(kyma, err);
    }
}

static json_t *remote_metadata(const struct kyma *kyma, const json_t *object)
{
    static const char *const copied[] = {KYMA_LABEL_RUNTIME, KYMA_LABEL_GLOBAL_ACCOUNT,
                                         KYMA_LABEL_SUBACCOUNT};
    cleanup_free char *owner =
        xasprintf("%s/%s", kyma->lifecycle->options.namespace_name, kyma->name);
    json_t *metadata =
        json_pack("{s:{s:s, s:s}, s:{s:s}}", "labels", KYMA_LABEL_WATCHED_BY,
                  KYMA_MANAGED_BY_CLUSTER, KYMA_LABEL_MANAGED_BY, KYMA_MANAGED_BY_CLUSTER,
                  "annotations", KYMA_ANNOTATION_OWNED_BY, owner);

    for (size_t i = 0; i < array_length(copied); i++) {
        json_t *value = doc_writable(doc_member(doc_get(object, "metadata.labels"), copied[i]));

        if (value)
            json_object_set(json_object_get(metadata, "labels"), copied[i], value);
    }
    return metadata;
}

static void send_remote(struct kyma *kyma, enum kube_verb verb, const char *subresource,
                        const json_t *body)
{
    kyma_send(kyma,
              (struct kube_request){.verb = verb,
                                    .resource = RESOURCE_KYMAS,
                                    .namespace_name = KYMA_NAMESPACE,
                                    .name = verb == KUBE_CREATE ? NULL : KYMA_REMOTE_NAME,
                                    .subresource = subresource,
                                    .body = body,
                                    .field_manager = KYMA_FIELD_MANAGER_SYNC},
              on_remote_written);
}

static void create_remote(struct kyma *kyma, const json_t *object)
{
    cleanup_json json_t *metadata = remote_metadata(kyma, object);
    cleanup_json json_t *body = NULL;

    doc_set_text(metadata, "name", KYMA_REMOTE_NAME);
    doc_set_text(metadata, "namespace", KYMA_NAMESPACE);
    body = json_pack("{s:s, s:s, s:O, s:O}", "apiVersion", KYMA_API_VERSION, "kind", KIND_KYMA,
                     "metadata", metadata, "spec", doc_writable(doc_get(object, "spec")));
    send_remote(kyma, KUBE_CREATE, NULL, body);
}

/* Whether that Kyma, or what it has installed, is still there. A Secret alone is left over. */
static bool exists(const struct lifecycle *lifecycle, const char *name)
{
    const struct kyma *kyma = kyma_find(lifecycle, name);

    return kyma && (kept_is_there(&kyma->object) || kyma->modules);
}

bool kyma_is_of_another(struct kyma *kyma, const json_t *remote)
{
    cleanup_free char *ours =
        xasprintf("%s/%s", kyma->lifecycle->options.namespace_name, kyma->name);
    const char *owner = json_string_value(
        doc_member(doc_get(remote, "metadata.annotations"), KYMA_ANNOTATION_OWNED_BY));
    const char *slash = owner ? strchr(owner, '/') : NULL;
    struct error err = {0};

    if (!slash || strcmp(owner, ours) == 0 || !exists(kyma->lifecycle, slash + 1)) {
        if (kyma->is_foreign)
            kyma_recover(kyma);
        kyma->is_foreign = false;
        return false;
    }
    kyma->is_foreign = true;
    (void)error_set(&err, ERROR_CONFLICT,
                    "the cluster belongs to Kyma %s; delete one of the two Kymas, or correct the "
                    "access Secret of this one",
                    owner);
    kyma_fail(kyma, &err);
    return true;
}

bool kyma_keep_remote(struct kyma *kyma, const json_t *object, const json_t *remote)
{
    cleanup_json json_t *metadata = remote_metadata(kyma, object);
    cleanup_json json_t *body = json_object();
    static const char *const maps[] = {"labels", "annotations"};
    bool is_same = true;
    const char *key;
    json_t *value;

    if (!remote && kyma_may_write(kyma))
        create_remote(kyma, object);
    if (!remote || kyma_is_of_another(kyma, remote))
        return false;
    for (size_t i = 0; i < array_length(maps); i++) {
        const json_t *present = doc_member(doc_member(remote, "metadata"), maps[i]);

        doc_foreach(doc_member(metadata, maps[i]), key, value)
        {
            if (!json_equal(doc_member(present, key), value))
                is_same = false;
        }
    }
    doc_set_new(body, "metadata", json_incref(metadata));
    if (!is_same && kyma_may_write(kyma))
        send_remote(kyma, KUBE_PATCH_MERGE, NULL, body);
    return true;
}

void kyma_write_remote_status(struct kyma *kyma, const json_t *remote, const json_t *status)
{
    cleanup_json json_t *wanted = kyma_status_for_cluster(status);
    cleanup_json json_t *old =
        json_pack("{s:O*}", "status", doc_writable(doc_get(remote, "status")));
    cleanup_json json_t *new = json_pack("{s:O}", "status", wanted);
    cleanup_json json_t *body = merge_patch_between(old, new);

    if (body && remote && kyma_may_write(kyma) &&
        kyma_is_write_due(kyma, doc_get(remote, "status"), wanted))
        send_remote(kyma, KUBE_PATCH_MERGE, "status", body);
}
