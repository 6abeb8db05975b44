/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/commands/offline.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/target.h"
#include "deployer/pod/docker_files.h"
#include "deployer/pod/inputs.h"
#include "deployer/pod/pull_secrets.h"

/* In place of the jobID of an item that no Landscaper has triggered yet. */
#define JOB_NONE "00000000-0000-4000-8000-000000000000"

int offline_config(const char *path, struct deployer_config **ret_config, struct error *err)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    int result =
        path ? config_load(path, ret_config, &mistakes) : config_parse(NULL, ret_config, &mistakes);

    if (result == 0)
        return 0;
    if (mistakes_fail(&mistakes, err) == 0)
        return error_set(err, ERROR_INTERNAL, "configuration '%s' can't be used", path ? path : "");
    return error_wrap(err, "configuration '%s'", path ? path : "");
}

json_t *offline_complete(const json_t *item)
{
    json_t *copy = json_deep_copy(item);

    if (!doc_text(copy, "metadata.namespace"))
        doc_set_text(copy, "metadata.namespace", "default");
    return copy;
}

void offline_done(struct offline *offline)
{
    bundle_done(&offline->bundle);
    config_free(offline->config);
    item_free(offline->item);
    run_spec_free(offline->run);
    object_names_done(&offline->names);
    state_set_done(&offline->state);
    json_decref(offline->docker_configs);
    wipe_free(offline->target_file);
    mistakes_done(&offline->unread);
    *offline = (struct offline){0};
}

const json_t *offline_context(const struct offline *offline)
{
    return bundle_find(&offline->bundle, KIND_CONTEXT, offline->item->namespace_name,
                       offline->item->context);
}

static int load_item(struct offline *offline, const json_t *object, struct error *err)
{
    cleanup_json json_t *complete = offline_complete(object);
    cleanup_mistakes struct mistakes mistakes = {0};

    if (item_parse(complete, &offline->item, err) < 0)
        return -1;
    if (mistakes_fail(&offline->item->mistakes, err) < 0)
        return error_wrap(err, "deploy item '%s'", offline->item->name);
    if (run_spec_parse(offline->item, offline->config, &offline->run, &mistakes) == 0) {
        /* Without errors only unknown fields are left in the list. */
        offline->unread = mistakes;
        mistakes = (struct mistakes){0};
        return 0;
    }
    if (mistakes_fail(&mistakes, err) == 0)
        return error_set(err, ERROR_INTERNAL, "the item can't be run");
    return error_wrap(err, "deploy item '%s': spec.config", offline->item->name);
}

static int load_target(struct offline *offline, struct error *err)
{
    const struct item *item = offline->item;
    const char *name = item_effective_target(item);
    cleanup_buffer struct buffer content = {0};
    const json_t *target = NULL;
    const json_t *secret = NULL;

    buffer_init(&content, BUNDLE_BYTES_MAX);
    if (name) {
        const char *secret_name = NULL;

        target = bundle_find(&offline->bundle, KIND_TARGET, item->namespace_name, name);
        if (!target)
            return error_set(err, ERROR_INVALID,
                             "the item's target '%s' is missing; give it with --target FILE", name);
        secret_name = target_secret_name(target);
        secret = secret_name
                     ? bundle_find(&offline->bundle, "Secret", item->namespace_name, secret_name)
                     : NULL;
        if (secret_name && !secret)
            return error_set(
                err, ERROR_INVALID,
                "the Secret '%s' of target '%s' is missing; give it with --secret FILE",
                secret_name, name);
        if (target_content(target, secret, &content, err) < 0 ||
            target_validate(content.data, content.size, err) < 0)
            return error_wrap(err, "target '%s'", name);
    }
    offline->target_file = target_document(target, content.data, content.size);
    return 0;
}

static int add_pull_secret(struct offline *offline, const char *namespace_name, const char *name,
                           struct error *err)
{
    const json_t *secret = bundle_find(&offline->bundle, "Secret", namespace_name, name);

    if (!secret)
        return error_set(err, ERROR_INVALID,
                         "the registry pull Secret '%s/%s' is missing; give it with --secret FILE",
                         namespace_name, name);
    return inputs_add_docker_secret(offline->docker_configs, secret, offline->run, offline->config,
                                    err);
}

static void tell_docker_config(void *data, const struct docker_config_trouble *trouble)
{
    (void)data;
    (void)fprintf(stderr, "registry configuration '%s'%s%s: passed over: %s\n", trouble->file,
                  trouble->entry ? ": " : "", trouble->entry ? trouble->entry : "", trouble->why);
}

static int load_credentials(struct offline *offline, struct error *err)
{
    cleanup_docker_files struct docker_files *files =
        docker_files_new(offline->config->oci_config_files);
    cleanup_json json_t *secrets = NULL;

    offline->docker_configs =
        json_copy((json_t *)(uintptr_t)docker_files_now(files, tell_docker_config, NULL));
    if (pull_secrets_gather(offline_context(offline), offline->item->namespace_name,
                            offline->run->pull_secrets, &secrets, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(secrets); i++) {
        const json_t *reference = json_array_get(secrets, i);

        if (add_pull_secret(offline, doc_text_or(reference, "namespace", ""),
                            doc_text_or(reference, "name", ""), err) < 0)
            return -1;
    }
    return 0;
}

static bool is_labelled(const json_t *labels, const char *key, const char *value)
{
    const char *have = json_string_value(doc_member(labels, key));

    return have && strcmp(have, value) == 0;
}

static void load_state(struct offline *offline)
{
    cleanup_free char *name = name_label_value(offline->item->name);
    cleanup_free char *namespace_name = name_label_value(offline->item->namespace_name);

    for (size_t i = 0;; i++) {
        const json_t *secret = bundle_at(&offline->bundle, "Secret", i);
        const json_t *labels = doc_get(secret, "metadata.labels");

        if (!secret)
            break;
        if (is_labelled(labels, LABEL_TYPE, LABEL_TYPE_STATE) &&
            is_labelled(labels, LABEL_ITEM_NAME, name) &&
            is_labelled(labels, LABEL_ITEM_NAMESPACE, namespace_name))
            state_set_add_secret(&offline->state, secret);
    }
    state_set_arrange(&offline->state);
}

int offline_load(struct bundle *bundle, const char *config_path, const json_t *item,
                 struct offline *ret_offline, struct error *err)
{
    cleanup_offline struct offline offline = {.bundle = *bundle};

    bundle->objects = NULL;
    if (offline_config(config_path, &offline.config, err) < 0 ||
        load_item(&offline, item, err) < 0 || load_target(&offline, err) < 0 ||
        load_credentials(&offline, err) < 0)
        return -1;
    load_state(&offline);
    offline.job = *offline.item->job ? offline.item->job : JOB_NONE;
    object_names_init(&offline.names, offline.item->namespace_name, offline.item->name,
                      offline.job);
    *ret_offline = offline;
    offline = (struct offline){0};
    return 0;
}

int offline_objects(const struct offline *offline, const char *operation,
                    struct pod_objects *ret_objects, struct error *err)
{
    const char *ocm_name = doc_text(offline_context(offline), "ocmConfig.name");
    struct pod_request request = {
        .config = offline->config,
        .item = offline->item,
        .run = offline->run,
        .names = &offline->names,
        .job = offline->job,
        .operation = operation,
        .export_name = offline->names.host_export,
        .target_file = offline->target_file,
        .target_file_size = strlen(offline->target_file),
        .docker_configs = offline->docker_configs,
        .state = &offline->state,
        .next_sequence = state_set_last_sequence(&offline->state) + 1,
        .now_unix_ms = 0,
        .deadline_unix_ms = offline->item->timeout_ms,
    };

    if (ocm_name && *ocm_name) {
        request.ocm_config_map =
            bundle_find(&offline->bundle, "ConfigMap", offline->item->namespace_name, ocm_name);
        if (!request.ocm_config_map)
            return error_set(
                err, ERROR_INVALID,
                "the ConfigMap '%s' of context '%s' is missing; give it with --context "
                "FILE",
                ocm_name, offline->item->context);
    }
    return pod_objects_make(&request, ret_objects, err);
}
