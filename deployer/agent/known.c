/* SPDX-License-Identifier: Apache-2.0 */
/* One watch for each object, by its name, so that permissions for single objects are enough. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "deployer/agent/agent.h"

static const char *const skipped[] = {"metadata.managedFields", NULL};

static const char *source_name(enum agent_source source)
{
    static const char *const names[] = {
        [HOST_ACCOUNT] = "host account",
        [HOST_ROLE] = "host role",
        [HOST_ROLE_BINDING] = "host role binding",
        [HOST_CLUSTER_ROLE] = "host cluster role",
        [HOST_CLUSTER_ROLE_BINDING] = "host cluster role binding",
        [AGENT_SOURCE_CREDENTIAL] = "own Secret",
        [AGENT_SOURCE_ENVIRONMENT] = "Environment",
        [AGENT_SOURCE_TARGET] = "Secret of the host Target",
        [AGENT_SOURCE_DEPLOYERS] = "accounts of deployers",
        [AGENT_SOURCE_ACCESS] = "Secrets of deployers",
    };

    return names[source];
}

static bool is_watched(const struct agent *agent, enum agent_source source)
{
    return agent->config->is_access_agent ||
           (source != AGENT_SOURCE_DEPLOYERS && source != AGENT_SOURCE_ACCESS);
}

/* ---- objects ---- */

bool agent_known_is_synced(const struct agent *agent)
{
    for (size_t i = 0; i < AGENT_SOURCE_COUNT; i++) {
        if (is_watched(agent, (enum agent_source)i) && !agent->watches[i].is_synced)
            return false;
    }
    return true;
}

const json_t *agent_find(const struct agent *agent, enum agent_source source, const char *name)
{
    return doc_member(agent->watches[source].objects, name);
}

const json_t *agent_only(const struct agent *agent, enum agent_source source)
{
    void *first = json_object_iter(agent->watches[source].objects);

    return first ? json_object_iter_value(first) : NULL;
}

static void note_change(struct agent *agent, enum agent_source source, const json_t *object)
{
    if (source == AGENT_SOURCE_CREDENTIAL && object)
        agent_credential_use(agent, object);
    agent_touch(agent);
}

static void set_object(struct agent_watch *watch, const json_t *object)
{
    const char *name = doc_text_or(object, "metadata.name", "");

    if (watch->listed)
        (void)json_object_set_new(watch->listed, name, json_true());
    if (json_equal(doc_member(watch->objects, name), object))
        return;
    (void)json_object_set_new(watch->objects, name, json_deep_copy(object));
    note_change(watch->agent, watch->source, object);
}

static void remove_object(struct agent_watch *watch, const char *name)
{
    (void)json_object_del(watch->listed, name);
    if (json_object_del(watch->objects, name) == 0)
        note_change(watch->agent, watch->source, NULL);
}

static bool is_older(const struct agent_watch *watch, const json_t *object)
{
    const json_t *known = doc_member(watch->objects, doc_text_or(object, "metadata.name", ""));
    uint64_t version = 0;
    uint64_t known_version = 0;

    return known && !watch->is_rewound &&
           number_parse(doc_text_or(object, "metadata.resourceVersion", ""), UINT64_MAX,
                        &version) &&
           number_parse(doc_text_or(known, "metadata.resourceVersion", ""), UINT64_MAX,
                        &known_version) &&
           version < known_version;
}

void agent_known_answer(struct agent *agent, enum agent_source source, const char *name,
                        const json_t *object)
{
    struct agent_watch *watch = &agent->watches[source];

    if (!object)
        remove_object(watch, name);
    else if (!is_older(watch, object) &&
             !json_object_get(agent->deleted, doc_text_or(object, "metadata.uid", "")))
        set_object(watch, object);
}

/* ---- watches ---- */

static void end_list(struct agent_watch *watch)
{
    const char *name = NULL;
    json_t *value = NULL;
    void *next = NULL;

    json_object_foreach_safe(watch->objects, next, name, value)
    {
        if (!json_object_get(watch->listed, name))
            remove_object(watch, name);
    }
    json_decref(steal(&watch->listed));
    watch->is_synced = true;
    watch->is_rewound = false;
    if (agent_known_is_synced(watch->agent)) {
        log_debug("all objects listed");
        agent_touch(watch->agent);
    }
}

static void on_event(void *data, enum kube_event event, const json_t *object,
                     const struct error *err)
{
    struct agent_watch *watch = data;
    const char *name = doc_text_or(object, "metadata.name", "");

    if (object && is_older(watch, object)) {
        if (event == KUBE_EVENT_LISTED)
            (void)json_object_set_new(watch->listed, name, json_true());
        return;
    }
    switch (event) {
    case KUBE_EVENT_LISTING:
        json_decref(watch->listed);
        watch->listed = json_object();
        break;
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        set_object(watch, object);
        break;
    case KUBE_EVENT_DELETED:
        if (watch->agent->call)
            (void)json_object_set_new(watch->agent->deleted,
                                      doc_text_or(object, "metadata.uid", ""), json_true());
        remove_object(watch, name);
        break;
    case KUBE_EVENT_SYNCED:
        end_list(watch);
        break;
    case KUBE_EVENT_BROKEN:
        log_error("watch failed, retrying", log_text("watch", source_name(watch->source)),
                  log_text("error", err->text));
        if (watch->source >= AGENT_SOURCE_ENVIRONMENT && watch->source != AGENT_SOURCE_ACCESS)
            agent_credential_failed(watch->agent, err);
        break;
    case KUBE_EVENT_REWOUND:
        watch->is_rewound = true; /* a list follows */
        break;
    }
}

static int start_one(struct agent *agent, enum agent_source source, struct kube *kube,
                     struct kube_resource resource, const char *namespace_name,
                     const char *field_selector, const char *label_selector, struct error *err)
{
    struct agent_watch *watch = &agent->watches[source];
    const struct kube_watch_options options = {.resource = resource,
                                               .namespace_name = namespace_name,
                                               .field_selector = field_selector,
                                               .label_selector = label_selector,
                                               .skipped_members = skipped,
                                               .on_event = on_event,
                                               .data = watch};

    *watch = (struct agent_watch){.agent = agent, .source = source, .objects = json_object()};
    if (kube_watch_start(kube, &options, &watch->watch, err) < 0)
        return error_wrap(err, "watch of %s", source_name(source));
    return 0;
}

static int start_named(struct agent *agent, enum agent_source source, struct kube *kube,
                       struct kube_resource resource, const char *namespace_name, const char *name,
                       struct error *err)
{
    cleanup_free char *selector = xasprintf("metadata.name=%s", name);

    return start_one(agent, source, kube, resource, namespace_name, selector, NULL, err);
}

static int start_deployers(struct agent *agent, struct error *err)
{
    cleanup_free char *environment = name_label_value(agent->config->name);
    cleanup_free char *accounts = xasprintf(LABEL_ENVIRONMENT "=%s", environment);
    cleanup_free char *secrets =
        xasprintf(LABEL_ENVIRONMENT "=%s," LABEL_AGENT_SECRET "=" AGENT_SECRET_ACCESS, environment);

    if (start_one(agent, AGENT_SOURCE_DEPLOYERS, agent->landscaper, KUBE_SERVICE_ACCOUNTS,
                  agent->config->landscaper_namespace, NULL, accounts, err) < 0)
        return -1;
    return start_one(agent, AGENT_SOURCE_ACCESS, agent->host, KUBE_SECRETS,
                     agent->config->namespace_name, NULL, secrets, err);
}

int agent_known_start(struct agent *agent, struct error *err)
{
    const struct agent_config *config = agent->config;
    cleanup_free char *target = agent_target_secret_name(config);

    for (size_t i = 0; i < HOST_OBJECT_COUNT; i++) {
        enum host_object which = (enum host_object)i;
        cleanup_free char *name = host_object_name(config, which);

        if (start_named(agent, (enum agent_source)i, agent->host, host_object_resource(which),
                        host_object_is_namespaced(which) ? config->namespace_name : NULL, name,
                        err) < 0)
            return -1;
    }
    if (start_named(agent, AGENT_SOURCE_CREDENTIAL, agent->host, KUBE_SECRETS,
                    config->namespace_name, config->credential_secret, err) < 0 ||
        start_named(agent, AGENT_SOURCE_ENVIRONMENT, agent->landscaper, KUBE_ENVIRONMENTS, NULL,
                    config->name, err) < 0 ||
        start_named(agent, AGENT_SOURCE_TARGET, agent->landscaper, KUBE_SECRETS,
                    config->landscaper_namespace, target, err) < 0)
        return -1;
    return config->is_access_agent ? start_deployers(agent, err) : 0;
}

void agent_known_stop(struct agent *agent)
{
    for (size_t i = 0; i < AGENT_SOURCE_COUNT; i++) {
        kube_watch_stop(agent->watches[i].watch);
        json_decref(agent->watches[i].objects);
        json_decref(agent->watches[i].listed);
    }
}
