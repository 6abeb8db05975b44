/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/local_helm_cluster.h"

#include <string.h>

#include "common/base/loop.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/client.h"
#include "deployer/helm/capabilities.h"
#include "deployer/helm/release.h"
#include "deployer/helm/values.h"

enum { REQUEST_TIMEOUT_MS = 10 * 1000 };

struct link {
    struct loop *loop;
    struct http_client *http;
    struct kube *kube;
};

static void link_close(struct link *link)
{
    kube_free(link->kube);
    http_client_free(link->http);
    loop_free(link->loop);
}
#define cleanup_link __attribute__((cleanup(link_close)))

static int link_open(struct link *link, const struct kube_config *access, struct error *err)
{
    cleanup_kube_config struct kube_config *config = kube_config_copy(access);

    if (loop_new(clock_system(), &link->loop, err) < 0 ||
        http_client_new(link->loop, "longshore/" LONGSHORE_VERSION, &link->http, err) < 0 ||
        kube_new(link->loop, link->http, config, &link->kube, err) < 0)
        return -1;
    config = NULL; /* taken over */
    return 0;
}

static int ask_capability(struct link *link, enum kube_verb verb, const char *what,
                          json_t **ret_object, struct error *err)
{
    struct kube_request request = {.verb = verb, .timeout_ms = REQUEST_TIMEOUT_MS};

    if (kube_perform(link->kube, &request, ret_object, err) == 0)
        return 0;
    if (helm_is_capability_refused(err)) {
        *err = (struct error){0};
        return 0;
    }
    return error_wrap(err, "read %s of the cluster", what);
}

static int list_releases(struct link *link, const struct helm_config *helm, bool is_deployed_only,
                         json_t **ret_list, struct error *err)
{
    cleanup_free char *selector = helm_release_selector(helm->release, is_deployed_only);
    struct kube_request request = {.verb = KUBE_LIST,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = helm->namespace_name,
                                   .label_selector = selector,
                                   .body_max = HELM_RELEASE_BYTES_MAX,
                                   .timeout_ms = REQUEST_TIMEOUT_MS};

    if (kube_perform(link->kube, &request, ret_list, err) == 0)
        return 0;
    return error_wrap(err, "list the revisions of the release \"%s/%s\"", helm->namespace_name,
                      helm->release);
}

static int prepare_release(struct link *link, const struct helm_config *helm,
                           struct helm_situation *situation, struct run_spec *run,
                           struct error *err)
{
    cleanup_wipe char *kubeconfig = NULL;
    cleanup_json json_t *list = NULL;

    if (kube_config_text(kube_get_config(link->kube), &kubeconfig, err) < 0)
        return -1;
    run_spec_add_file(run, FILE_HELM_KUBECONFIG, kubeconfig, strlen(kubeconfig));
    if (situation->is_delete)
        return 0;
    if (list_releases(link, helm, false, &list, err) < 0)
        return -1;
    situation->is_upgrade = json_array_size(doc_member(list, "items")) > 0;
    return 0;
}

int local_helm_ask(const struct kube_config *access, struct helm_situation *situation,
                   struct run_spec *run, struct error *err)
{
    const struct helm_config *helm = run->data;
    cleanup_link struct link link = {0};
    cleanup_json json_t *version = NULL;
    cleanup_json json_t *discovery = NULL;
    cleanup_json json_t *api_versions = NULL;

    if (link_open(&link, access, err) < 0)
        return -1;
    if (helm->is_release) {
        if (prepare_release(&link, helm, situation, run, err) < 0)
            return -1;
    } else if (ask_capability(&link, KUBE_VERSION, "the version", &version, err) < 0 ||
               ask_capability(&link, KUBE_DISCOVER, "the API groups", &discovery, err) < 0) {
        return -1;
    }
    api_versions = helm_api_versions(discovery);
    situation->kube_version = doc_text(version, "gitVersion");
    situation->api_versions = api_versions;
    helm_run_prepare(run, situation);
    return 0;
}

int local_helm_read_release(const struct kube_config *access, const struct helm_config *helm,
                            const struct manifest_config *config, struct inventory *ret_objects,
                            json_t **ret_exports, struct error *err)
{
    cleanup_link struct link link = {0};
    cleanup_json json_t *list = NULL;
    cleanup_json json_t *release = NULL;
    cleanup_json json_t *values = NULL;
    const json_t *newest = NULL;

    if (link_open(&link, access, err) < 0 || list_releases(&link, helm, true, &list, err) < 0)
        return -1;
    newest = helm_release_newest(doc_member(list, "items"));
    if (!newest)
        return error_set(err, ERROR_NOT_FOUND,
                         "the cluster has no deployed revision of the release \"%s/%s\"",
                         helm->namespace_name, helm->release);
    if (helm_release_parse(newest, &release, err) < 0 ||
        helm_release_objects(release, ret_objects, err) < 0)
        return -1;
    values = helm_release_values(release);
    return helm_value_exports(config, values, ret_exports, err);
}
