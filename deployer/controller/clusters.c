/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/clusters.h"

#include <string.h>

#include "common/contract.h"

static int connect_landscaper(struct loop *loop, struct http_client *http, const char *kubeconfig,
                              struct deployer_config *config, struct kube **ret_kube,
                              struct error *err)
{
    cleanup_kube_config struct kube_config *landscaper = NULL;

    if (kube_config_from_file(kubeconfig, &landscaper, err) < 0)
        return error_wrap(err, "Landscaper cluster");
    kube_config_hash(landscaper, config->landscaper_mark);
    if (kube_new(loop, http, landscaper, ret_kube, err) < 0)
        return error_wrap(err, "Landscaper cluster");
    landscaper = NULL;
    return 0;
}

int clusters_connect(struct loop *loop, struct http_client *http, const char *kubeconfig,
                     const char *landscaper_kubeconfig, struct deployer_config *config,
                     struct clusters *ret_clusters, struct error *err)
{
    cleanup_kube_config struct kube_config *host = NULL;

    if (kube_config_default(kubeconfig, &host, err) < 0)
        return error_wrap(err, "host cluster");
    kube_config_hash(host, config->landscaper_mark);
    if (kube_new(loop, http, host, &ret_clusters->host, err) < 0)
        return error_wrap(err, "host cluster");
    host = NULL;
    if (landscaper_kubeconfig)
        return connect_landscaper(loop, http, landscaper_kubeconfig, config,
                                  &ret_clusters->landscaper, err);
    ret_clusters->landscaper = ret_clusters->host;
    return 0;
}

void clusters_done(struct clusters *clusters)
{
    if (clusters->landscaper != clusters->host)
        kube_free(clusters->landscaper);
    kube_free(clusters->host);
    *clusters = (struct clusters){0};
}

const char *clusters_lease_namespace(const struct deployer_config *config,
                                     const char *pod_namespace)
{
    if (config->lease_namespace)
        return config->lease_namespace;
    return strcmp(pod_namespace, MY_POD_NAMESPACE_DEFAULT) != 0 ? pod_namespace
                                                                : config->namespace_name;
}
