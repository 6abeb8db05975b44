/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/offline/manifest.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/objects/target_access.h"
#include "deployer/offline/offline.h"

bool offline_is_type(const json_t *item, const char *type)
{
    cleanup_json json_t *complete = offline_complete(item);
    cleanup_item struct item *parsed = NULL;
    struct error ignored = {0};

    return item_parse(complete, &parsed, &ignored) == 0 &&
           strcmp(item_effective_type(parsed), type) == 0;
}

bool offline_is_manifest(const json_t *item)
{
    return offline_is_type(item, DEPLOY_ITEM_TYPE_MANIFEST);
}

void offline_manifest_done(struct offline_manifest *manifest)
{
    item_free(manifest->item);
    manifest_config_free(manifest->config);
    mistakes_done(&manifest->unknown_fields);
    kube_config_free(manifest->access);
    for (size_t i = 0; i < manifest->second_count; i++) {
        free(manifest->seconds[i].target);
        kube_config_free(manifest->seconds[i].config);
    }
    free(manifest->seconds);
    *manifest = (struct offline_manifest){0};
}

/* ---- The item ---- */

int offline_manifest_config(const struct item *item, struct manifest_config **ret_config,
                            struct mistakes *mistakes, struct error *err)
{
    int result = 0;

    if (offline_fail(item, &item->mistakes, err) < 0)
        return -1;
    result = manifest_config_parse(item->config, ret_config, mistakes);
    offline_complete_paths(mistakes);
    if (result < 0 && offline_fail(item, mistakes, err) == 0)
        return error_set(err, ERROR_INTERNAL, "the provider configuration is not usable");
    return result;
}

/* What is removed is what was recorded: only the deletion groups have to be valid. */
static int deletion_config(const struct item *item, struct manifest_config **ret_config,
                           struct error *err)
{
    bool is_valid = false;

    *ret_config = manifest_config_for_deletion(item->config, &is_valid);
    if (is_valid)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "deploy item \"%s\": spec.config.deletionGroups is not valid; 'longshore "
                     "validate' lists the mistakes",
                     item->name);
}

static int chart_config(const struct item *item, struct manifest_config **ret_config,
                        struct error *err)
{
    cleanup_mistakes struct mistakes mistakes = {0};

    *ret_config = manifest_config_for_chart(item->config, &mistakes);
    offline_complete_paths(&mistakes);
    return offline_fail(item, &mistakes, err);
}

static int load_config(const struct offline_manifest_options *options,
                       struct offline_manifest *manifest, struct error *err)
{
    const struct item *item = manifest->item;

    if (options->is_delete)
        return deletion_config(item, &manifest->config, err);
    if (strcmp(item_effective_type(item), DEPLOY_ITEM_TYPE_HELM) == 0)
        return chart_config(item, &manifest->config, err);
    return offline_manifest_config(item, &manifest->config, &manifest->unknown_fields, err);
}

/* ---- Targets ---- */

static int connect(const struct offline_manifest_options *options, const struct item *item,
                   const char *name, struct kube_config **ret_config, struct error *err)
{
    cleanup_target_access struct target_access access = {0};
    cleanup_buffer struct buffer content = {0};
    const json_t *target = NULL;
    int result = 0;

    buffer_init(&content, BUNDLE_BYTES_MAX);
    if (offline_target(options->bundle, item->namespace_name, name, "--kubeconfig FILE or --target",
                       &target, &content, err) < 0)
        return -1;
    result = target_access_parse(content.data ? content.data : "", content.size, &access, err);
    if (content.data)
        explicit_bzero(content.data, content.size);
    if (result == 0 && access.kind != ACCESS_KUBECONFIG)
        result = error_set(err, ERROR_INVALID,
                           "it needs a token, which only the controller "
                           "requests; use a Target with a kubeconfig, or --kubeconfig FILE for the "
                           "item's own cluster");
    if (result == 0)
        result = target_access_config(&access, NULL, NULL, NULL, ret_config, err);
    return result < 0 ? error_wrap(err, "target \"%s\"", name) : 0;
}

static int load_access(const struct offline_manifest_options *options,
                       struct offline_manifest *manifest, struct error *err)
{
    const char *name = item_effective_target(manifest->item);

    if (options->kubeconfig) {
        if (kube_config_from_file(options->kubeconfig, &manifest->access, err) == 0)
            return 0;
        err->kind = ERROR_INVALID;
        return error_wrap(err, "option --kubeconfig");
    }
    if (name)
        return connect(options, manifest->item, name, &manifest->access, err);
    return error_set(err, ERROR_INVALID,
                     "deploy item \"%s\" has no target: set spec.target, or name the cluster with "
                     "--kubeconfig FILE",
                     manifest->item->name);
}

static int load_seconds(const struct offline_manifest_options *options,
                        struct offline_manifest *manifest, struct error *err)
{
    cleanup_json json_t *names = manifest_config_targets(manifest->config, options->is_delete);
    size_t count = json_array_size(names);

    manifest->seconds = xcalloc(count + 1, sizeof(*manifest->seconds));
    for (size_t i = 0; i < count; i++) {
        struct offline_second *second = &manifest->seconds[manifest->second_count++];

        second->target = xstrdup(json_string_value(json_array_get(names, i)));
        if (connect(options, manifest->item, second->target, &second->config, err) < 0)
            return -1;
    }
    return 0;
}

int offline_manifest_load(const struct offline_manifest_options *options,
                          struct offline_manifest *ret_manifest, struct error *err)
{
    cleanup_offline_manifest struct offline_manifest manifest = {0};
    cleanup_json json_t *complete = offline_complete(options->item);

    if (item_parse(complete, &manifest.item, err) < 0)
        return -1;
    if (load_config(options, &manifest, err) < 0 || load_access(options, &manifest, err) < 0 ||
        load_seconds(options, &manifest, err) < 0)
        return -1;
    *ret_manifest = manifest;
    manifest = (struct offline_manifest){0};
    return 0;
}
