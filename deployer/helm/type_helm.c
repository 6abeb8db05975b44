/* SPDX-License-Identifier: Apache-2.0 */
/* landscaper.gardener.cloud/helm: main is the real helm. init fetches the chart; values and, for
 * releases, the kubeconfig of the target are files that only main can read. A pod that renders has
 * no credentials at all: neither the target nor a token. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/helm/configuration.h"
#include "deployer/helm/type_helm.h"
#include "deployer/item/provider.h"

enum { MODE_HELM_FILE = 0440 }; /* root, group of the pod */

/* helm needs directories of its own for caches, and user 1000 has no home directory. */
static json_t *make_env(const struct helm_config *helm)
{
    json_t *env = json_pack("[{s:s,s:s},{s:s,s:s},{s:s,s:s}]", "name", "HELM_CACHE_HOME", "value",
                            PATH_HELM_HOME "/cache", "name", "HELM_CONFIG_HOME", "value",
                            PATH_HELM_HOME "/config", "name", "HELM_DATA_HOME", "value",
                            PATH_HELM_HOME "/data");

    if (helm->is_release)
        (void)json_array_append_new(
            env, json_pack("{s:s,s:s}", "name", "KUBECONFIG", "value", PATH_HELM_KUBECONFIG));
    return env;
}

/* What init needs, as a configuration of a container item. */
static json_t *make_configuration(const struct helm_config *helm, bool is_delete)
{
    json_t *configuration = json_pack("{s:s,s:s}", "apiVersion", DEPLOYER_API_VERSION, "kind",
                                      KIND_PROVIDER_CONFIGURATION);
    json_t *chart = NULL;

    if (is_delete || !helm->chart)
        return configuration;
    chart = json_copy(helm->chart);
    if (!helm->is_release && helm->has_value_exports)
        (void)json_object_set_new(chart, CHART_IS_SEEN_WANTED, json_true());
    (void)json_object_set_new(configuration, "chart", chart);
    if (helm->component)
        (void)json_object_set(configuration, "componentDescriptor", helm->component);
    return configuration;
}

void helm_run_prepare(struct run_spec *run, const struct helm_situation *situation)
{
    json_decref(run->args);
    run->args = helm_arguments(run->data, situation);
}

static void parse_helm(const json_t *config, const struct deployer_config *deployer,
                       struct run_spec *run, struct mistakes *mistakes)
{
    struct helm_config *helm = helm_config_read(config, mistakes);
    struct helm_situation situation = {
        .is_delete = run->is_delete, .left_ms = -1, .version = deployer->helm_version};
    cleanup_wipe char *values = doc_dump(helm->values);

    run->data = helm;
    run->image = xstrdup(deployer->helm.image);
    run->image_pull_policy = xstrdup_or_null(deployer->helm.image_pull_policy);
    run->command = json_incref(deployer->helm.command);
    if (deployer->helm.resources) {
        json_decref(run->resources);
        run->resources = json_deep_copy(deployer->helm.resources);
    }
    json_decref(run->env);
    run->env = make_env(helm);
    run->configuration = make_configuration(helm, run->is_delete);
    run->is_target_hidden = run->is_state_fresh = true;
    run->has_registry_access =
        !run->is_delete &&
        (helm->component || (helm->chart && json_object_get(helm->chart, "ref")));
    run->file_mode = MODE_HELM_FILE;
    if (strlen(values) > RUN_FILE_BYTES_MAX)
        mistakes_add(mistakes, MISTAKE_TOO_LONG, "values", "must not exceed %d KiB",
                     RUN_FILE_BYTES_MAX / 1024);
    run_spec_add_file(run, FILE_HELM_VALUES, values, strlen(values));
    helm_run_prepare(run, &situation);
}

static void free_helm(void *data)
{
    helm_config_free(data);
}

const struct item_type ITEM_TYPE_HELM = {
    .type = DEPLOY_ITEM_TYPE_HELM,
    .api_version = HELM_API_VERSION,
    .fields = HELM_FIELDS,
    .is_configuration_own = true,
    .parse = parse_helm,
    .free_data = free_helm,
};
