/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/offline/offline.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/target.h"
#include "deployer/offline/missing.h"
#include "deployer/pod/docker_files.h"
#include "deployer/pod/inputs.h"
#include "deployer/pod/pull_secrets.h"

/* Replaces the jobID of an item that Landscaper has not triggered yet. */
#define JOB_NONE "00000000-0000-4000-8000-000000000000"

/* Bytes of an error that its first line needs. */
enum { ITEM_ERROR_ROOM = 250 };

int offline_config(const char *path, struct deployer_config **ret_config, struct error *err)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    int result =
        path ? config_load(path, ret_config, &mistakes) : config_parse(NULL, ret_config, &mistakes);

    if (result == 0)
        return 0;
    if (mistakes_fail(&mistakes, err) == 0)
        return error_set(err, ERROR_INTERNAL, "configuration \"%s\" is not usable",
                         path ? path : "");
    return error_wrap(err, "configuration \"%s\"", path ? path : "");
}

int offline_fail(const struct item *item, const struct mistakes *mistakes, struct error *err)
{
    cleanup_buffer struct buffer list = {0};
    struct error full = {0};
    size_t listed = 0;

    if (mistakes->errors < 2)
        return mistakes_fail(mistakes, err) < 0 ? error_wrap(err, "deploy item \"%s\"", item->name)
                                                : 0;
    buffer_init(&list, sizeof(err->text) - ITEM_ERROR_ROOM);
    for (size_t i = 0; i < mistakes->count; i++) {
        const struct mistake *mistake = &mistakes->items[i];

        if (mistake->kind == MISTAKE_UNKNOWN)
            continue;
        if (buffer_append_text(&list, &full, "\n  %s%s%s", mistake->path,
                               *mistake->path ? ": " : "", mistake->text) < 0)
            break;
        listed++;
    }
    if (listed == mistakes->errors)
        return error_set(err, ERROR_INVALID, "deploy item \"%.100s\" has %zu mistakes:%s",
                         item->name, mistakes->errors, list.data);
    return error_set(err, ERROR_INVALID,
                     "deploy item \"%.100s\" has %zu mistakes ('longshore validate' lists all):%s",
                     item->name, mistakes->errors, list.data ? list.data : "");
}

void offline_complete_paths(struct mistakes *mistakes)
{
    static const char base[] = "spec.config";

    for (size_t i = 0; i < mistakes->count; i++) {
        char *path = mistakes->items[i].path;

        if (strncmp(path, "spec.", strlen("spec.")) == 0)
            continue;
        mistakes->items[i].path = *path ? xasprintf("%s.%s", base, path) : xstrdup(base);
        free(path);
    }
}

json_t *offline_complete(const json_t *item)
{
    json_t *copy = json_deep_copy(item);

    if (!doc_text(copy, "metadata.namespace"))
        doc_set_text(copy, "metadata.namespace", "default");
    return copy;
}

static int load_file(struct bundle *bundle, const char *path, struct error *err)
{
    if (bundle_load(bundle, path, err) == 0)
        return 0;
    err->kind = ERROR_INVALID;
    return -1;
}

int offline_load_files(struct bundle *bundle, const char *const *files, size_t count,
                       const struct option_list *more, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (load_file(bundle, files[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < more->count; i++) {
        if (load_file(bundle, more->items[i], err) < 0)
            return -1;
    }
    return 0;
}

int offline_find_item(const struct bundle *bundle, const json_t **ret_item, struct error *err)
{
    const json_t *first = bundle_at(bundle, KIND_DEPLOY_ITEM, 0);
    const json_t *second = bundle_at(bundle, KIND_DEPLOY_ITEM, 1);

    if (second)
        return error_set(err, ERROR_INVALID,
                         "the files contain more than one " KIND_DEPLOY_ITEM
                         " (\"%s\" and \"%s\"); expected only one",
                         doc_text_or(first, "metadata.name", ""),
                         doc_text_or(second, "metadata.name", ""));
    *ret_item = first;
    return 0;
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
    mistakes_done(&offline->unknown_fields);
    *offline = (struct offline){0};
}

const json_t *offline_context(const struct offline *offline)
{
    return bundle_find(&offline->bundle, KIND_CONTEXT, offline->item->namespace_name,
                       offline->item->context);
}

/* The default Context exists in every namespace and is usually empty, so that it is optional here.
 */
const char *offline_missing_context(const struct offline *offline)
{
    return offline_context(offline)
               ? NULL
               : "context \"" CONTEXT_DEFAULT
                 "\" not found in the files; the controller would use its pull Secrets and OCM "
                 "configuration, too (add it with --context FILE)";
}

static int load_item(struct offline *offline, const json_t *object, struct error *err)
{
    cleanup_json json_t *complete = offline_complete(object);
    cleanup_mistakes struct mistakes mistakes = {0};

    if (item_parse(complete, &offline->item, err) < 0)
        return -1;
    if (offline_fail(offline->item, &offline->item->mistakes, err) < 0)
        return -1;
    if (run_spec_parse(offline->item, offline->config, &offline->run, &mistakes) == 0) {
        /* All errors would have failed, so only unknown fields are left. */
        offline_complete_paths(&mistakes);
        offline->unknown_fields = mistakes;
        mistakes = (struct mistakes){0};
        return 0;
    }
    offline_complete_paths(&mistakes);
    if (offline_fail(offline->item, &mistakes, err) == 0)
        return error_set(err, ERROR_INTERNAL, "the provider configuration is not usable");
    return -1;
}

static int check_context(const struct offline *offline, struct error *err)
{
    const struct item *item = offline->item;

    if (offline_context(offline) || strcmp(item->context, CONTEXT_DEFAULT) == 0)
        return 0;
    return missing_fail(&offline->bundle,
                        &(struct missing_object){"the item's context", KIND_CONTEXT,
                                                 item->namespace_name, item->context, "--context"},
                        err);
}

int offline_target(const struct bundle *bundle, const char *namespace_name, const char *name,
                   const char *option, const json_t **ret_target, struct buffer *ret_content,
                   struct error *err)
{
    const json_t *target = bundle_find(bundle, KIND_TARGET, namespace_name, name);
    const char *secret_name = NULL;
    const json_t *secret = NULL;

    if (!target)
        return missing_fail(bundle,
                            &(struct missing_object){"the item's target", KIND_TARGET,
                                                     namespace_name, name, option},
                            err);
    secret_name = target_secret_name(target);
    secret = secret_name ? bundle_find(bundle, "Secret", namespace_name, secret_name) : NULL;
    if (secret_name && !secret)
        return missing_fail(bundle,
                            &(struct missing_object){"the target's Secret", "Secret",
                                                     namespace_name, secret_name, "--secret"},
                            err);
    if (target_content(target, secret, ret_content, err) < 0 ||
        target_validate(ret_content->data, ret_content->size, err) < 0)
        return error_wrap(err, "target \"%s\"", name);
    *ret_target = target;
    return 0;
}

static int load_target(struct offline *offline, struct error *err)
{
    const struct item *item = offline->item;
    const char *name = item_effective_target(item);
    cleanup_buffer struct buffer content = {0};
    const json_t *target = NULL;

    buffer_init(&content, BUNDLE_BYTES_MAX);
    if (name && offline_target(&offline->bundle, item->namespace_name, name, "--target", &target,
                               &content, err) < 0)
        return -1;
    offline->target_file = target_document(target, content.data, content.size);
    return 0;
}

static int add_pull_secret(struct offline *offline, const char *namespace_name, const char *name,
                           struct error *err)
{
    const json_t *secret = bundle_find(&offline->bundle, "Secret", namespace_name, name);

    if (!secret)
        return missing_fail(&offline->bundle,
                            &(struct missing_object){"the registry pull Secret", "Secret",
                                                     namespace_name, name, "--secret"},
                            err);
    return inputs_add_docker_secret(offline->docker_configs, secret, offline->run, offline->config,
                                    err);
}

static void warn_docker_config(void *data, const struct docker_config_problem *problem)
{
    (void)data;
    (void)fprintf(stderr, "warning: registry configuration \"%s\"%s%s: ignored: %s\n",
                  problem->file, problem->entry ? ": " : "", problem->entry ? problem->entry : "",
                  problem->why);
}

static int load_credentials(struct offline *offline, struct error *err)
{
    cleanup_docker_files struct docker_files *files =
        docker_files_new(offline->config->oci_config_files);
    cleanup_json json_t *secrets = NULL;

    offline->docker_configs =
        json_copy((json_t *)(uintptr_t)docker_files_now(files, warn_docker_config, NULL));
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
        load_item(&offline, item, err) < 0 || check_context(&offline, err) < 0 ||
        load_target(&offline, err) < 0 || load_credentials(&offline, err) < 0)
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
            return missing_fail(&offline->bundle,
                                &(struct missing_object){"the context's ConfigMap", "ConfigMap",
                                                         offline->item->namespace_name, ocm_name,
                                                         "--context"},
                                err);
    }
    return pod_objects_make(&request, ret_objects, err);
}
