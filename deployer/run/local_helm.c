/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/local_helm.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/helm/repository.h"
#include "deployer/helm/type_helm.h"
#include "deployer/offline/missing.h"
#include "deployer/run/local_helm_cluster.h"

static bool is_delete(const struct run_options *options)
{
    return strcmp(options->operation, OPERATION_DELETE) == 0;
}

/* ---- The item ---- */

static int refuse_options(const struct run_options *options, struct error *err)
{
    const char *option = options->imports ? "--imports" : options->is_shell ? "--shell" : NULL;

    if (!option)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "option %s cannot be used with a helm item, whose program is helm and whose "
                     "inputs are chart and values",
                     option);
}

int local_helm_adapt(const struct run_options *options, const struct bundle *bundle, json_t *item,
                     struct local_helm *helm, struct error *err)
{
    json_t *config = json_object_get(json_object_get(item, "spec"), "config");

    helm->is_item = true;
    helm->item = json_deep_copy(item);
    /* The controller of that cluster deploys the item: here it is only rendered. */
    helm->has_cluster =
        !options->from_cluster && (options->kubeconfig || bundle_at(bundle, KIND_TARGET, 0));
    if (refuse_options(options, err) < 0)
        return -1;
    if (is_delete(options) && !helm->has_cluster)
        return error_set(err, ERROR_INVALID,
                         "deploy item \"%s\": without a cluster there is nothing to delete; name "
                         "it with --target FILE or --kubeconfig FILE",
                         doc_text_or(item, "metadata.name", ""));
    /* Neither init nor main gets the Target. */
    (void)json_object_del(json_object_get(item, "spec"), "target");
    if (is_delete(options))
        doc_set_text(item, "metadata.deletionTimestamp", "1970-01-01T00:00:00Z");
    if (!helm->has_cluster && json_is_object(config))
        (void)json_object_set_new(config, "helmDeployment", json_false());
    return 0;
}

bool local_helm_is_removal(const struct run_options *options, const struct local_helm *helm)
{
    return helm->is_item && is_delete(options) &&
           !helm_is_release(doc_get(helm->item, "spec.config"));
}

/* ---- The run ---- */

static int find_header(const struct offline *offline, const json_t *entry,
                       struct buffer *ret_header, struct error *err)
{
    const char *name = helm_repository_secret(entry);
    const char *namespace_name = offline->item->namespace_name;
    const json_t *secret = bundle_find(&offline->bundle, "Secret", namespace_name, name);

    if (!secret)
        return missing_fail(&offline->bundle,
                            &(struct missing_object){"the Secret with the credentials of the chart "
                                                     "repository",
                                                     "Secret", namespace_name, name, "--secret"},
                            err);
    return helm_repository_header(entry, secret, ret_header, err);
}

static int authorize_entry(struct offline *offline, const json_t *entry, struct error *err)
{
    cleanup_buffer struct buffer header = {0};
    int result = 0;

    if (!helm_repository_secret(entry)) {
        helm_repository_authorize(offline->run, entry, doc_text(entry, "authHeader"));
        return 0;
    }
    buffer_init(&header, SECRET_MAX_BYTES);
    result = find_header(offline, entry, &header, err);
    if (result == 0)
        helm_repository_authorize(offline->run, entry, header.data);
    if (header.data)
        explicit_bzero(header.data, header.capacity);
    if (result == 0 || !helm_repository_is_found_by_init(offline->run))
        return result;
    /* It may be the entry of another repository. */
    helm_repository_refuse(offline->run, entry, err->text);
    *err = (struct error){0};
    return 0;
}

static int authorize(struct offline *offline, struct error *err)
{
    cleanup_json json_t *entries = helm_repository_entries(offline->run, offline_context(offline));

    for (size_t i = 0; i < json_array_size(entries); i++) {
        if (authorize_entry(offline, json_array_get(entries, i), err) < 0)
            return -1;
    }
    return 0;
}

int local_helm_prepare(const struct run_options *options, const struct local_helm *helm,
                       struct offline *offline, struct offline_manifest *ret_manifest,
                       struct error *err)
{
    const struct offline_manifest_options wanted = {.bundle = &offline->bundle,
                                                    .item = helm->item,
                                                    .kubeconfig = options->kubeconfig,
                                                    .is_delete = is_delete(options)};
    int64_t timeout_ms = options->timeout_ms ? options->timeout_ms : offline->item->timeout_ms;
    struct helm_situation situation = {.is_delete = is_delete(options),
                                       .left_ms = timeout_ms > 0 ? timeout_ms : -1,
                                       .version = offline->config->helm_version};

    helm_use_repository_context(offline->run, offline_context(offline));
    if (authorize(offline, err) < 0)
        return -1;
    if (!helm->has_cluster)
        return 0;
    if (offline_manifest_load(&wanted, ret_manifest, err) < 0)
        return -1;
    return local_helm_ask(ret_manifest->access, &situation, offline->run, err);
}
