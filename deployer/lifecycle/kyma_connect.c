/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to a managed cluster: which Secret leads to it, and what every cluster gets before
 * anything else: the namespace of modules and the definitions of Kyma's kinds. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/drift.h"
#include "deployer/lifecycle/kind_watch.h"
#include "deployer/lifecycle/list.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"

static const struct kube_resource RESOURCE_DEFINITIONS = {"apiextensions.k8s.io", "v1",
                                                          "customresourcedefinitions"};

bool kyma_is_remote(const struct kyma *kyma)
{
    return kyma->accesses || !kyma->lifecycle->options.is_own_cluster;
}

bool kyma_has_no_access(const struct kyma *kyma)
{
    return !kyma->accesses && !kyma->lifecycle->options.is_own_cluster &&
           kyma->lifecycle->sources[SOURCE_SECRETS].is_synced;
}

static void set_phase(struct kyma *kyma, enum kyma_phase phase)
{
    kyma->phase = phase;
    if (phase == KYMA_UNKNOWN || phase == KYMA_STEADY)
        kymas_give_connect_slot(kyma);
}

void kyma_disconnect(struct kyma *kyma)
{
    for (struct module *module = kyma->modules; module; module = module->next)
        module_stop(module);
    kube_cancel(kyma->cluster_call);
    kyma->cluster_call = NULL;
    cluster_unwatch(kyma->remote_interest);
    kyma->remote_interest = NULL;
    kyma->is_remote_known = false;
    catalog_stop(kyma);
    kind_watch_stop_all(kyma);
    cluster_put(kyma->cluster);
    kyma->cluster = NULL;
    kyma->step = 0;
    kyma->identity[0] = '\0';
    loop_timer_stop(&kyma->timer);
    loop_timer_stop(&kyma->away_timer);
    free(kyma->silence);
    kyma->silence = NULL;
    set_phase(kyma, KYMA_UNKNOWN);
}

void kyma_send(struct kyma *kyma, struct kube_request request, kube_done_fn *on_done)
{
    struct error err = {0};

    request.grace_seconds = -1;
    request.may_send = kyma_may_send;
    request.may_send_data = kyma;
    request.on_done = on_done;
    request.data = kyma;
    kyma->lifecycle->cluster_writes += request.verb != KUBE_GET;
    if (kube_start(cluster_kube(kyma->cluster), &request, &kyma->cluster_call, &err) < 0)
        kyma_fail(kyma, &err);
}

/* ---- Access ---- */

static int choose_config(const struct kyma *kyma, struct kube_config **ret_config,
                         struct error *err)
{
    const struct lifecycle *lifecycle = kyma->lifecycle;
    const struct access *access = kyma->accesses;

    if (!access && lifecycle->options.is_own_cluster) {
        *ret_config = lifecycle->own_config;
        return 0;
    }
    if (!access)
        return error_set(err, ERROR_NOT_FOUND,
                         "no Secret in namespace %s has the label %s=%s; create one with the "
                         "kubeconfig of the cluster in key \"config\"",
                         lifecycle->options.namespace_name, KYMA_LABEL_KYMA_NAME, kyma->name);
    if (access->next)
        return error_set(err, ERROR_CONFLICT,
                         "the Secrets %s and %s in namespace %s both have the label %s=%s; delete "
                         "one of them",
                         access->secret, access->next->secret, lifecycle->options.namespace_name,
                         KYMA_LABEL_KYMA_NAME, kyma->name);
    if (access->problem)
        return error_set(err, ERROR_NOT_FOUND, "%s", access->problem);
    *ret_config = access->config;
    return 0;
}

/* Whether the cluster had everything when its status was written, perhaps by another process: then
 * it is read, and not written if nothing is missing. */
static bool find_prepared(struct kyma *kyma)
{
    cleanup_json json_t *object = kept_get(&kyma->object);
    const json_t *condition =
        list_find(doc_get(object, "status.conditions"), "type", KYMA_CONDITION_CRDS);

    return strcmp(doc_text_or(condition, "status", ""), "True") == 0;
}

static void start_connecting(struct kyma *kyma, struct kube_config *config)
{
    struct lifecycle *lifecycle = kyma->lifecycle;
    char identity[KUBE_IDENTITY_SIZE] = "";
    struct error err = {0};

    kube_config_identity(config, /* has_credentials= */ true, identity);
    if (cluster_get(lifecycle->pool, kube_config_share(config), &kyma->cluster, &err) < 0) {
        kyma_fail(kyma, &err);
        return;
    }
    memcpy(kyma->identity, identity, sizeof(kyma->identity));
    log_debug("connecting", log_text("kyma", kyma->name),
              log_text("server", cluster_server(kyma->cluster)));
    kyma->step = 0;
    kyma->was_prepared = find_prepared(kyma);
    kyma->is_new = true;
    set_phase(kyma, KYMA_CONNECTING);
}

/* ---- What every cluster gets ---- */

static bool is_established(const json_t *definition)
{
    return strcmp(doc_text_or(
                      list_find(doc_get(definition, "status.conditions"), "type", "Established"),
                      "status", ""),
                  "True") == 0;
}

static void start_step(struct kyma *kyma);

static void on_prepared(void *data, json_t *object, const struct error *err)
{
    struct kyma *kyma = data;
    bool is_last = kyma->step == json_array_size(kyma->lifecycle->definitions);

    kyma->cluster_call = NULL;
    if (err->kind != ERROR_NONE) {
        kyma_fail(kyma, err);
        return;
    }
    kyma_recover(kyma);
    if (kyma->step > 0 && is_established(object))
        kyma->is_new = false;
    kyma->step++;
    /* The server serves a kind shortly after its definition was created. */
    if (is_last && !is_established(object))
        loop_timer_start(&kyma->timer, LIFECYCLE_ESTABLISHED_MS);
    else if (!is_last && kyma->was_prepared)
        start_step(kyma); /* only reads, unless something is missing */
    else
        kyma_touch(kyma);
}

static json_t *namespace_of_modules(void)
{
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s, s:s}}}", "apiVersion", "v1", "kind",
                     "Namespace", "metadata", "name", KYMA_NAMESPACE, "labels",
                     KYMA_LABEL_MANAGED_BY, KYMA_MANAGED_BY_CLUSTER, "istio-injection", "enabled",
                     "namespaces.warden.kyma-project.io/validate", "enabled");
}

/* What the cluster has to have for the present step. A new reference. */
static json_t *wanted_in_step(const struct kyma *kyma)
{
    return kyma->step == 0
               ? namespace_of_modules()
               : json_incref(json_array_get(kyma->lifecycle->definitions, kyma->step - 1));
}

static void send_step(struct kyma *kyma, enum kube_verb verb, kube_done_fn *on_done)
{
    cleanup_json json_t *wanted = wanted_in_step(kyma);
    struct kube_request request = {
        .verb = verb,
        .resource = kyma->step == 0 ? KUBE_NAMESPACES : RESOURCE_DEFINITIONS,
        .name = doc_text_or(wanted, "metadata.name", ""),
    };

    if (verb == KUBE_APPLY) {
        request.body = wanted;
        request.field_manager = kyma->step == 0 ? KYMA_FIELD_MANAGER_SYNC : KYMA_FIELD_MANAGER;
    }
    kyma_send(kyma, request, on_done);
}

/* After a restart every cluster has everything already: then nothing is written. */
static void on_found(void *data, json_t *object, const struct error *err)
{
    struct kyma *kyma = data;
    cleanup_json json_t *wanted = wanted_in_step(kyma);

    kyma->cluster_call = NULL;
    if (err->kind == ERROR_NONE && drift_is_covered(object, wanted))
        on_prepared(kyma, object, err);
    else if (err->kind == ERROR_NONE || err->http_status == 404 || err->http_status == 403)
        send_step(kyma, KUBE_APPLY, on_prepared);
    else
        kyma_fail(kyma, err);
}

static void start_step(struct kyma *kyma)
{
    if (kyma->was_prepared)
        send_step(kyma, KUBE_GET, on_found);
    else
        send_step(kyma, KUBE_APPLY, on_prepared);
}

/* Whether the cluster has everything. */
static bool prepare(struct kyma *kyma)
{
    const struct lifecycle *lifecycle = kyma->lifecycle;
    size_t count = kyma_is_remote(kyma) ? json_array_size(lifecycle->definitions) : 0;

    if (kyma_is_remote(kyma) && !lifecycle->definitions)
        return false;
    if (kyma->prepared == lifecycle->definitions_hash || kyma->step > count)
        return true;
    start_step(kyma);
    return false;
}

/* ---- Watches ---- */

static void on_remote(void *data, const json_t *object, const struct error *err)
{
    struct kyma *kyma = data;

    if (err) { /* also if the kind is not served yet */
        kyma_unheard(kyma, err);
        return;
    }
    kyma_heard(kyma);
    if (object && (kept_is_newer_than(&kyma->remote, object) ||
                   (kyma->is_remote_known && kept_has(&kyma->remote, object))))
        return;
    kyma->is_remote_known = true;
    kept_set(&kyma->remote, object);
    kyma_touch(kyma);
}

void kyma_watch_remote(struct kyma *kyma, const json_t *created)
{
    cleanup_kind struct kind kymas = {xstrdup(KYMA_GROUP), xstrdup("v1beta2"), xstrdup("kymas"),
                                      true};
    cleanup_json json_t *known = created ? json_pack("[O]", created) : NULL;
    struct error err = {0};
    int64_t ignored = 0;

    if (!kyma->remote_interest &&
        cluster_watch_known(kyma->cluster, &kymas, KYMA_NAMESPACE, KYMA_REMOTE_NAME, NULL, known,
                            on_remote, kyma, &ignored, &kyma->remote_interest, &err) < 0)
        kyma_fail(kyma, &err);
}

static void start_watches(struct kyma *kyma)
{
    set_phase(kyma, KYMA_LISTING);
    kyma->is_new = kyma->is_new && kyma->prepared != kyma->lifecycle->definitions_hash;
    kyma->prepared = kyma->lifecycle->definitions_hash;
    kept_set(&kyma->remote, NULL);
    if (!kyma_is_remote(kyma))
        return;
    if (kyma->is_new)
        kyma->is_remote_known = true; /* it is watched when it has been created */
    else
        kyma_watch_remote(kyma, NULL);
    catalog_start(kyma);
}

static void become_steady(struct kyma *kyma)
{
    set_phase(kyma, KYMA_STEADY);
    log_debug("connected", log_text("kyma", kyma->name));
    for (struct module *module = kyma->modules; module; module = module->next)
        module_connected(module);
}

/* ---- Leaving ---- */

static void on_owner(void *data, json_t *object, const struct error *err)
{
    struct kyma *kyma = data;

    kyma->cluster_call = NULL;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        kyma_fail(kyma, err);
        return;
    }
    kyma_heard(kyma);
    if (!kyma->is_foreign)
        kyma_recover(kyma);
    kyma->is_remote_known = true;
    kept_set(&kyma->remote, err->kind == ERROR_NONE ? object : NULL);
    kyma_touch(kyma);
}

/* Nothing is removed from a cluster before it is known to which Kyma it belongs. */
static void ask_for_owner(struct kyma *kyma)
{
    kyma_send(kyma,
              (struct kube_request){.verb = KUBE_GET,
                                    .resource = RESOURCE_KYMAS,
                                    .namespace_name = KYMA_NAMESPACE,
                                    .name = KYMA_REMOTE_NAME},
              on_owner);
}

/* A cluster that is being left needs nothing new. */
static bool advance(struct kyma *kyma, bool is_deleting)
{
    if (kyma->phase == KYMA_STEADY)
        return true;
    if (kyma->cluster_call || loop_timer_is_running(&kyma->timer))
        return false;
    if (kyma->phase == KYMA_CONNECTING && is_deleting) {
        if (kyma_is_remote(kyma) && !kyma->is_remote_known) {
            ask_for_owner(kyma);
            return false;
        }
        kyma->step = 0;
        become_steady(kyma);
        return true;
    }
    if (kyma->phase == KYMA_CONNECTING && prepare(kyma))
        start_watches(kyma);
    if (kyma->phase == KYMA_LISTING && (kyma->is_remote_known || !kyma_is_remote(kyma)))
        become_steady(kyma);
    return kyma->phase == KYMA_STEADY;
}

/* After a restart clusters that need something are connected before those that were Ready. */
static bool is_urgent(struct kyma *kyma)
{
    cleanup_json json_t *object = kept_get(&kyma->object);

    return strcmp(doc_text_or(object, "status.state", ""), "Ready") != 0;
}

bool kyma_connect(struct kyma *kyma, bool is_deleting)
{
    struct kube_config *config = NULL;
    char identity[KUBE_IDENTITY_SIZE] = "";
    struct error err = {0};

    if (choose_config(kyma, &config, &err) < 0) {
        kyma_disconnect(kyma);
        kyma->is_access_wrong = true;
        kyma_fail(kyma, &err);
        return false;
    }
    if (kyma->is_access_wrong)
        kyma_recover(kyma);
    kyma->is_access_wrong = false;
    kube_config_identity(config, /* has_credentials= */ true, identity);
    if (kyma->cluster && strcmp(identity, kyma->identity) != 0) {
        log_info("access changed, connecting again", log_text("kyma", kyma->name));
        /* While all Secrets are being replaced, twice the memory would be needed. */
        cluster_retire(kyma->cluster);
        kyma_disconnect(kyma);
        if (kyma->is_foreign)
            kyma_recover(kyma); /* perhaps not of this cluster */
        kyma->is_foreign = false;
        retry_reset(&kyma->retry);
    }
    if (!kyma->cluster) {
        if (loop_timer_is_running(&kyma->timer) || !kymas_take_connect_slot(kyma, is_urgent(kyma)))
            return false;
        start_connecting(kyma, config);
    }
    return kyma->cluster && advance(kyma, is_deleting);
}
