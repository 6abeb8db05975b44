/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/cluster.h"

#include <string.h>

#include "common/base/loop.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/client.h"
#include "deployer/item/target.h"
#include "deployer/objects/configuration.h"
#include "deployer/offline/manifest.h"
#include "deployer/pod/names.h"

struct reader {
    struct kube *kube;
    struct bundle *bundle;
    const char *namespace_name;
};

static int get(struct reader *reader, struct kube_resource resource, const char *namespace_name,
               const char *name, const json_t **ret_object, struct error *err)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = resource,
                                   .namespace_name = namespace_name,
                                   .name = name,
                                   .grace_seconds = -1};
    json_t *object = NULL;

    if (kube_perform(reader->kube, &request, &object, err) < 0)
        return error_wrap(err, "read %s \"%s/%s\"", resource.plural, namespace_name, name);
    (void)json_array_append_new(reader->bundle->objects, object);
    *ret_object = object;
    return 0;
}

static int get_named(struct reader *reader, struct kube_resource resource, const char *name,
                     struct error *err)
{
    const json_t *object = NULL;

    return name ? get(reader, resource, reader->namespace_name, name, &object, err) : 0;
}

static int read_context(struct reader *reader, const char *name, struct error *err)
{
    const json_t *context = NULL;
    const json_t *reference = NULL;
    size_t index = 0;

    if (get(reader, KUBE_CONTEXTS, reader->namespace_name, name, &context, err) < 0 ||
        get_named(reader, KUBE_CONFIG_MAPS, doc_text(context, "ocmConfig.name"), err) < 0)
        return -1;
    json_array_foreach(doc_get(context, "registryPullSecrets"), index, reference)
    {
        if (get_named(reader, KUBE_SECRETS, doc_text(reference, "name"), err) < 0)
            return -1;
    }
    return 0;
}

static int read_target(struct reader *reader, const char *name, struct error *err)
{
    const json_t *target = NULL;

    if (get(reader, KUBE_TARGETS, reader->namespace_name, name, &target, err) < 0)
        return -1;
    return get_named(reader, KUBE_SECRETS, target_secret_name(target), err);
}

/* Mistakes in the item are reported later, by the code that uses it. */
static int read_second_targets(struct reader *reader, const json_t *item, struct error *err)
{
    cleanup_manifest_config struct manifest_config *config = NULL;
    cleanup_mistakes struct mistakes ignored = {0};
    cleanup_json json_t *names = NULL;

    if (manifest_config_parse(doc_get(item, "spec.config"), &config, &ignored) < 0)
        return 0;
    names = manifest_config_targets(config, /* is_delete= */ false);
    for (size_t i = 0; i < json_array_size(names); i++) {
        if (read_target(reader, json_string_value(json_array_get(names, i)), err) < 0)
            return -1;
    }
    return 0;
}

static int read_item(struct reader *reader, const char *name, bool *ret_is_manifest,
                     struct error *err)
{
    const json_t *item = NULL;
    const json_t *reference = NULL;
    const char *target_name = NULL;
    size_t index = 0;

    if (get(reader, KUBE_DEPLOY_ITEMS, reader->namespace_name, name, &item, err) < 0)
        return -1;
    *ret_is_manifest = offline_is_manifest(item);
    target_name = doc_text(item, "spec.target.name");
    if (*ret_is_manifest)
        return target_name && read_target(reader, target_name, err) < 0
                   ? -1
                   : read_second_targets(reader, item, err);
    if (read_context(reader, doc_text_or(item, "spec.context", CONTEXT_DEFAULT), err) < 0)
        return -1;
    json_array_foreach(doc_get(item, "spec.config.registryPullSecrets"), index, reference)
    {
        const json_t *secret = NULL;

        if (get(reader, KUBE_SECRETS, doc_text_or(reference, "namespace", ""),
                doc_text_or(reference, "name", ""), &secret, err) < 0)
            return -1;
    }
    return target_name ? read_target(reader, target_name, err) : 0;
}

static int read_state(struct reader *reader, const char *name, json_t **ret_state,
                      struct error *err)
{
    cleanup_object_names struct object_names names = {0};
    cleanup_json json_t *list = NULL;
    struct kube_request request = {.verb = KUBE_LIST,
                                   .resource = KUBE_SECRETS,
                                   .body_max = (size_t)512 << 20,
                                   .timeout_ms = 120000,
                                   .grace_seconds = -1};

    object_names_init(&names, reader->namespace_name, name, NULL);
    request.label_selector = names.state_selector;
    if (kube_perform(reader->kube, &request, &list, err) < 0)
        return error_wrap(err, "read the state Secrets");
    *ret_state = json_incref(json_object_get(list, "items"));
    return 0;
}

int cluster_read(const char *kubeconfig, const char *item, struct bundle *bundle,
                 json_t **ret_state, struct error *err)
{
    const char *slash = strchr(item, '/');
    cleanup_free char *namespace_name = slash ? xstrndup(item, (size_t)(slash - item)) : NULL;
    cleanup_loop struct loop *loop = NULL;
    cleanup_http_client struct http_client *http = NULL;
    cleanup_kube struct kube *kube = NULL;
    struct reader reader = {.bundle = bundle, .namespace_name = namespace_name};
    bool is_manifest = false;

    if (!slash || slash == item || !slash[1] || strchr(slash + 1, '/'))
        return error_set(err, ERROR_INVALID,
                         "option --from-cluster: \"%s\" is not of the form NAMESPACE/NAME", item);
    if (loop_new(clock_system(), &loop, err) < 0 ||
        http_client_new(loop, "longshore/" LONGSHORE_VERSION, &http, err) < 0 ||
        kube_new_default(loop, http, kubeconfig, &kube, err) < 0)
        return -1;
    reader.kube = kube;
    if (read_item(&reader, slash + 1, &is_manifest, err) < 0)
        return -1;
    return is_manifest ? 0 : read_state(&reader, slash + 1, ret_state, err);
}
