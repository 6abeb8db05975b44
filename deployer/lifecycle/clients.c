/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of the control plane, of managed clusters and of the registry. */
#include "deployer/lifecycle/manager.h"

int lifecycle_open_clients(struct lifecycle *lifecycle, const char *kubeconfig,
                           module_store_changed_fn *on_content, void *data, struct error *err)
{
    cleanup_kube_config struct kube_config *config = NULL;
    const struct registry_options registry = {.keyring = lifecycle->keyring};

    if (http_client_new(lifecycle->loop, LIFECYCLE_USER_AGENT, &lifecycle->http, err) < 0 ||
        kube_config_default(kubeconfig, &config, err) < 0)
        return -1;
    lifecycle->own_config = kube_config_copy(config);
    if (kube_new(lifecycle->loop, lifecycle->http, config, &lifecycle->kube, err) < 0)
        return -1;
    config = NULL;
    if (registry_new(lifecycle->loop, lifecycle->http, &registry, &lifecycle->registry, err) < 0)
        return -1;
    lifecycle->pool = cluster_pool_new(lifecycle->loop, LIFECYCLE_USER_AGENT);
    /* Every cluster stays connected. */
    cluster_pool_set_max(lifecycle->pool, LIFECYCLE_CLUSTERS_MAX);
    cluster_pool_set_stream_s(lifecycle->pool, LIFECYCLE_STREAM_S);
    cluster_pool_limit_bookmarks(lifecycle->pool);
    lifecycle->store = module_store_new(&(struct module_store_options){
        .loop = lifecycle->loop,
        .registry = lifecycle->registry,
        .repository = lifecycle->repository,
        .on_change = on_content,
        .data = data,
    });
    return 0;
}

void lifecycle_close_clients(struct lifecycle *lifecycle)
{
    module_store_free(lifecycle->store);
    registry_free(lifecycle->registry);
    cluster_pool_free(lifecycle->pool);
    kube_free(lifecycle->kube);
    kube_config_free(lifecycle->own_config);
    http_client_free(lifecycle->http);
    keyring_free(lifecycle->keyring);
    repository_free(lifecycle->repository);
    maintenance_free(lifecycle->policy);
    loop_free(lifecycle->loop);
}
