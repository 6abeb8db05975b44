/* SPDX-License-Identifier: Apache-2.0 */
/* What helm's command line depends on, read from the target before the pod is made: its version and
 * API groups for rendering; for releases, whether the release exists. The requests have short
 * timeouts: a target that does not respond must not occupy a place among the running tasks. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/helm/capabilities.h"
#include "deployer/helm/deployed.h"
#include "deployer/helm/release.h"
#include "deployer/helm/rendered.h"
#include "deployer/helm/repository.h"
#include "deployer/helm/type_helm.h"
#include "deployer/objects/targets.h"
#include "deployer/pod/helm.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/events.h"
#include "deployer/protocol/observe.h"

#define OPERATION_HELM "HelmDeployer"

enum { TARGET_TIMEOUT_MS = 10 * 1000 };

void helm_chain_free(struct helm_chain *chain)
{
    if (!chain)
        return;
    cluster_put(chain->cluster);
    free(chain->situation);
    free(chain->kube_version);
    json_decref(chain->api_versions);
    json_decref(chain->repositories);
    if (chain->rendered)
        rendered_done(chain->rendered);
    free(chain->rendered);
    free(chain);
}

bool helm_is_item(const struct task *task)
{
    return task->item && strcmp(item_effective_type(task->item), DEPLOY_ITEM_TYPE_HELM) == 0;
}

static const json_t *provider_status(const struct task *task)
{
    return doc_member(task->item->status, "providerStatus");
}

bool helm_is_removal(const struct task *task)
{
    return helm_is_item(task) && task->item->is_deleting &&
           !helm_is_uninstall(task->item->config, provider_status(task));
}

bool helm_check_item(struct task *task, struct error *err)
{
    json_t *config = NULL;

    if (!helm_is_item(task))
        return true;
    if (!task->item->is_deleting)
        return helm_check_deployed(task->item->config, provider_status(task), err) == 0;
    config = helm_uninstall_config(task->item->config, provider_status(task));
    if (config) {
        json_decref(task->item->config);
        task->item->config = config;
    }
    return true;
}

static struct helm_chain *helm_chain(const struct task *task)
{
    return pod_task(task)->chain.helm;
}

static struct run_spec *run_of(const struct task *task)
{
    return pod_task(task)->chain.inputs.run;
}

static void fail(struct task *task, const char *reason, const struct error *err, const char *code)
{
    struct error cause = *err;

    if (!code)
        cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, OPERATION_HELM, reason, &cause, code);
}

/* ---- The end ---- */

static int64_t left_ms(const struct task *task)
{
    int64_t deadline = task_deadline_unix_ms(task);

    if (deadline < 0)
        return task->item->timeout_ms == ITEM_TIMEOUT_NONE ? -1 : task->item->timeout_ms;
    deadline -= task_now_unix_ms(task);
    return deadline < 0 ? 0 : deadline;
}

/* The kubeconfig goes into the input Secret and from there into main, and nowhere else. */
static void add_kubeconfig(struct task *task, struct kube_config *config)
{
    cleanup_kube_config struct kube_config *target = config;
    cleanup_wipe char *text = NULL;
    struct error err = {0};

    if (kube_config_text(target, &text, &err) < 0) {
        fail(task, "ensureTargetAccess", &err, NULL);
        return;
    }
    run_spec_add_file(run_of(task), FILE_HELM_KUBECONFIG, text, strlen(text));
    pod_make_objects(task);
}

static void make_objects(struct task *task)
{
    struct helm_chain *chain = helm_chain(task);
    const struct helm_config *helm = run_of(task)->data;

    chain->situation->is_delete = task->item->is_deleting;
    chain->situation->left_ms = left_ms(task);
    chain->situation->version = task->controller->config->helm_version;
    chain->situation->kube_version = chain->kube_version;
    chain->situation->api_versions = chain->api_versions;
    helm_run_prepare(run_of(task), chain->situation);
    if (helm->is_release)
        targets_make_config(task, chain->situation->left_ms, add_kubeconfig);
    else
        pod_make_objects(task);
}

/* ---- Rendering: capabilities ---- */

static void on_discovered(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind != ERROR_NONE && !helm_is_capability_refused(err)) {
        fail(task, "GetApiResourceList", err, NULL);
        return;
    }
    helm_chain(task)->api_versions = helm_api_versions(object);
    make_objects(task);
}

static void on_version(struct task *task, json_t *object, const struct error *err)
{
    struct kube_request request = {.verb = KUBE_DISCOVER, .timeout_ms = TARGET_TIMEOUT_MS};
    const char *version = doc_text(object, "gitVersion");

    if (err->kind != ERROR_NONE && !helm_is_capability_refused(err)) {
        fail(task, "GetServerVersion", err, NULL);
        return;
    }
    helm_chain(task)->kube_version = xstrdup_or_null(version);
    task_request(task, cluster_kube(helm_chain(task)->cluster), &request, on_discovered);
}

static void read_capabilities(struct task *task)
{
    struct kube_request request = {.verb = KUBE_VERSION, .timeout_ms = TARGET_TIMEOUT_MS};

    task_request(task, cluster_kube(helm_chain(task)->cluster), &request, on_version);
}

/* ---- Releases ---- */

static void on_pending_removed(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (!act_is_removed(err))
        fail(task, "removePendingRelease", err, NULL);
    else
        make_objects(task);
}

/* There is no pod of the item, so nobody works on the revision any more: helm would refuse to. */
static void remove_pending(struct task *task, const json_t *secret)
{
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = doc_text_or(secret, "metadata.namespace", ""),
                                   .name = doc_text_or(secret, "metadata.name", ""),
                                   .uid = doc_text(secret, "metadata.uid"),
                                   .grace_seconds = -1,
                                   .timeout_ms = TARGET_TIMEOUT_MS,
                                   .is_unread = true};

    log_info("removing a pending revision of the release",
             log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name), log_text("secret", request.name));
    events_send_once(task, request.name, "PendingReleaseRemoved",
                     "a revision of the release was left pending by a run that has ended: it was "
                     "removed");
    task_request(task, cluster_kube(helm_chain(task)->cluster), &request, on_pending_removed);
}

static void on_releases(struct task *task, json_t *object, const struct error *err)
{
    const json_t *secrets = doc_member(object, "items");
    const json_t *newest = helm_release_newest(secrets);
    bool has_pending = newest && helm_release_is_pending(newest);

    if (err->kind != ERROR_NONE) {
        fail(task, "ListReleases", err, NULL);
        return;
    }
    helm_chain(task)->situation->is_upgrade = json_array_size(secrets) > (has_pending ? 1 : 0);
    if (has_pending)
        remove_pending(task, newest);
    else
        make_objects(task);
}

void helm_list_releases(struct task *task, struct cluster *cluster, bool is_deployed_only,
                        task_next_fn *next)
{
    const json_t *config = task->item->config;
    cleanup_free char *selector =
        helm_release_selector(doc_text_or(config, "name", ""), is_deployed_only);
    struct kube_request request = {.verb = KUBE_LIST,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = doc_text_or(config, "namespace", ""),
                                   .label_selector = selector,
                                   .body_max = HELM_RELEASE_BYTES_MAX,
                                   .timeout_ms = TARGET_TIMEOUT_MS};

    task_request(task, cluster_kube(cluster), &request, next);
}

/* ---- The target ---- */

static void on_cluster(struct task *task, const char *name, struct cluster *cluster)
{
    (void)name;
    helm_chain(task)->cluster = cluster;
}

static void on_connected(struct task *task)
{
    const struct helm_config *helm = run_of(task)->data;

    if (!helm->is_release)
        read_capabilities(task);
    else if (task->item->is_deleting)
        make_objects(task);
    else
        helm_list_releases(task, helm_chain(task)->cluster, false, on_releases);
}

static const struct targets_handler targets_handler = {on_cluster, on_connected, fail};

static void connect_target(struct task *task)
{
    const struct task_target *target = &task->known.target_read;
    struct error err = {0};

    if (!item_effective_target(task->item)) {
        (void)error_set(&err, ERROR_INVALID, "no target defined: spec.target must name a Target");
        fail(task, "ensureTargetAccess", &err, CODE_CONFIGURATION_PROBLEM);
        return;
    }
    targets_read_after(task, json_pack("[s]", item_effective_target(task->item)),
                       target->content ? target->content : "", target->content_size,
                       &targets_handler);
}

/* ---- Credentials of chart repositories ---- */

static void next_credentials(struct task *task);

static const json_t *present_entry(const struct task *task)
{
    return json_array_get(helm_chain(task)->repositories, helm_chain(task)->repository_next);
}

/* A Secret that the chart may not need at all must not fail the job. */
static bool is_left_to_init(const struct task *task, const struct error *err)
{
    return helm_repository_is_found_by_init(run_of(task)) &&
           (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_INVALID);
}

static void on_header(struct task *task, json_t *object, const struct error *err)
{
    const json_t *entry = present_entry(task);
    cleanup_buffer struct buffer header = {0};
    struct error cause = *err;

    buffer_init(&header, SECRET_MAX_BYTES);
    if (err->kind != ERROR_NONE)
        (void)error_wrap(&cause, "Secret \"%s\" with the credentials of the chart repository",
                         helm_repository_secret(entry));
    else if (helm_repository_header(entry, object, &header, &cause) == 0)
        helm_repository_authorize(run_of(task), entry, header.data);
    if (header.data)
        explicit_bzero(header.data, header.capacity);
    if (cause.kind != ERROR_NONE && !is_left_to_init(task, &cause)) {
        fail(task, "GetChartRepositoryCredentials", &cause, NULL);
        return;
    }
    if (cause.kind != ERROR_NONE)
        helm_repository_refuse(run_of(task), entry, cause.text);
    helm_chain(task)->repository_next++;
    next_credentials(task);
}

static void next_credentials(struct task *task)
{
    const json_t *entry = NULL;

    while ((entry = present_entry(task)) != NULL) {
        struct kube_request request = {.verb = KUBE_GET,
                                       .resource = KUBE_SECRETS,
                                       .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                       .namespace_name = task->record->namespace_name,
                                       .name = helm_repository_secret(entry)};

        if (request.name) {
            task_request(task, task->controller->landscaper, &request, on_header);
            return;
        }
        helm_repository_authorize(run_of(task), entry, doc_text(entry, "authHeader"));
        helm_chain(task)->repository_next++;
    }
    connect_target(task);
}

void helm_prepare(struct task *task)
{
    struct pod_chain *chain = &pod_task(task)->chain;

    helm_chain_free(chain->helm);
    chain->helm = xcalloc(1, sizeof(*chain->helm));
    chain->helm->situation = xcalloc(1, sizeof(*chain->helm->situation));
    helm_use_repository_context(run_of(task), chain->inputs.context);
    chain->helm->repositories = helm_repository_entries(run_of(task), chain->inputs.context);
    next_credentials(task);
}

/* ---- Deletion of applied objects ---- */

void helm_start_removal(struct task *task)
{
    bool is_valid = false;
    struct manifest_config *config = manifest_config_for_deletion(task->item->config, &is_valid);

    if (!is_valid)
        events_send_once(task, "deletion-groups", "DeletionGroupsIgnored",
                         "the deletionGroups of the item are not valid: its objects are deleted in "
                         "the default order");
    manifest_start_with(task, config);
}
