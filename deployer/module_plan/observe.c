/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/module_plan/observe.h"

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/names.h"

enum { LIST_BYTES_MAX = 256 << 20, LIST_TIMEOUT_MS = 120 * 1000 };

static int list(const struct lifecycle *lifecycle, struct kube_resource resource,
                const char *label_selector, json_t **ret_items, struct error *err)
{
    cleanup_json json_t *answer = NULL;
    const struct kube_request request = {
        .verb = KUBE_LIST,
        .resource = resource,
        .namespace_name = lifecycle->options.namespace_name,
        .label_selector = label_selector,
        .body_max = LIST_BYTES_MAX,
        .timeout_ms = LIST_TIMEOUT_MS,
        .grace_seconds = -1,
    };

    if (kube_perform(lifecycle->kube, &request, &answer, err) < 0)
        return error_wrap(err, "read the %s of namespace %s", resource.plural,
                          lifecycle->options.namespace_name);
    *ret_items = json_incref(json_object_get(answer, "items"));
    return 0;
}

static int list_by_name(const struct lifecycle *lifecycle, struct kube_resource resource,
                        const char *label_selector, json_t **ret_objects, struct error *err)
{
    cleanup_json json_t *items = NULL;

    if (list(lifecycle, resource, label_selector, &items, err) < 0)
        return -1;
    *ret_objects = json_object();
    for (size_t i = 0; i < json_array_size(items); i++) {
        json_t *object = json_array_get(items, i);

        (void)json_object_set(*ret_objects, doc_text_or(object, "metadata.name", ""), object);
    }
    return 0;
}

static int connect_cluster(struct lifecycle *lifecycle, const char *name, const char *selector,
                           struct observation *observation, struct error *err)
{
    cleanup_json json_t *secrets = NULL;
    struct kube_config *config = NULL;

    if (list(lifecycle, KUBE_SECRETS, selector, &secrets, err) < 0)
        return -1;
    if (json_array_size(secrets) > 1)
        return error_set(err, ERROR_INVALID,
                         "%zu Secrets in namespace %s have the label %s; delete all but one",
                         json_array_size(secrets), lifecycle->options.namespace_name, selector);
    if (json_array_size(secrets) == 0 && !lifecycle->options.is_own_cluster)
        return error_set(err, ERROR_INVALID,
                         "no Secret in namespace %s has the label %s, so the cluster of Kyma %s is "
                         "unknown; create one, or use --own-cluster",
                         lifecycle->options.namespace_name, selector, name);
    if (json_array_size(secrets) == 0)
        config = kube_config_copy(lifecycle->own_config);
    else if (access_read_config(json_array_get(secrets, 0), &config, err) < 0)
        return error_wrap(err, "Secret %s",
                          doc_text_or(json_array_get(secrets, 0), "metadata.name", ""));
    observation->is_own_cluster = json_array_size(secrets) == 0;
    return cluster_get(lifecycle->pool, config, &observation->cluster, err);
}

/* The user's copy decides. Before the first contact neither the copy nor its kind exists. */
static int read_remote(struct observation *observation, struct error *err)
{
    const struct kube_request request = {
        .verb = KUBE_GET,
        .resource = RESOURCE_KYMAS,
        .namespace_name = KYMA_NAMESPACE,
        .name = KYMA_REMOTE_NAME,
        .grace_seconds = -1,
    };

    if (kube_perform(cluster_kube(observation->cluster), &request, &observation->remote, err) ==
            0 ||
        err->kind == ERROR_NOT_FOUND)
        return 0;
    return error_wrap(err, "read Kyma " KYMA_NAMESPACE "/" KYMA_REMOTE_NAME " of the cluster");
}

static int read_namespace(struct observation *observation, struct error *err)
{
    const struct kube_request request = {
        .verb = KUBE_GET, .resource = KUBE_NAMESPACES, .name = KYMA_NAMESPACE, .grace_seconds = -1};

    if (kube_perform(cluster_kube(observation->cluster), &request, NULL, err) == 0)
        return 0;
    if (err->kind != ERROR_NOT_FOUND)
        return error_wrap(err, "read namespace " KYMA_NAMESPACE " of the cluster");
    observation->lacks_namespace = true;
    return 0;
}

int observe(struct lifecycle *lifecycle, const char *name, struct observation *ret_observation,
            struct error *err)
{
    cleanup_free char *selector = xasprintf(KYMA_LABEL_KYMA_NAME "=%s", name);
    const struct kube_request request = {
        .verb = KUBE_GET,
        .resource = RESOURCE_KYMAS,
        .namespace_name = lifecycle->options.namespace_name,
        .name = name,
        .grace_seconds = -1,
    };

    if (kube_perform(lifecycle->kube, &request, &ret_observation->kyma, err) < 0)
        return error_wrap(err, "read Kyma %s/%s", lifecycle->options.namespace_name, name);
    if (list_by_name(lifecycle, RESOURCE_RELEASES, NULL, &lifecycle->releases, err) < 0 ||
        list_by_name(lifecycle, RESOURCE_TEMPLATES, NULL, &lifecycle->templates, err) < 0 ||
        list_by_name(lifecycle, RESOURCE_MANIFESTS, selector, &ret_observation->manifests, err) <
            0 ||
        connect_cluster(lifecycle, name, selector, ret_observation, err) < 0 ||
        read_namespace(ret_observation, err) < 0)
        return -1;
    if (ret_observation->is_own_cluster)
        return 0;
    return read_remote(ret_observation, err);
}

void observation_done(struct observation *observation)
{
    json_decref(observation->kyma);
    json_decref(observation->remote);
    json_decref(observation->manifests);
    cluster_put(observation->cluster);
    *observation = (struct observation){0};
}
