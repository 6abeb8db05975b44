/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/helm/deployed.h"

#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/duration.h"
#include "deployer/helm/configuration.h"

enum helm_deployed helm_deployed_as(const json_t *provider_status)
{
    const json_t *objects = doc_member(provider_status, "managedResources");

    if (doc_text(doc_member(provider_status, HELM_STATUS_RELEASE), "name"))
        return HELM_DEPLOYED_RELEASE;
    /* Workloads of a release are listed, too, but only what was applied has a uid. */
    for (size_t i = 0; i < json_array_size(objects); i++) {
        if (doc_text(json_array_get(objects, i), "resource.uid"))
            return HELM_DEPLOYED_OBJECTS;
    }
    return HELM_DEPLOYED_NOTHING;
}

json_t *helm_deployed_release(const json_t *config)
{
    return json_pack("{s:s,s:s}", "name", doc_text_or(config, "name", ""), "namespace",
                     doc_text_or(config, "namespace", ""));
}

bool helm_is_uninstall(const json_t *config, const json_t *provider_status)
{
    switch (helm_deployed_as(provider_status)) {
    case HELM_DEPLOYED_RELEASE:
        return true;
    case HELM_DEPLOYED_OBJECTS:
        return false;
    case HELM_DEPLOYED_NOTHING:
        break;
    }
    return config && helm_is_release(config);
}

/* The options that can be used; the others are ignored. */
static json_t *uninstall_options(const json_t *config)
{
    const json_t *given = doc_get(config, "helmDeploymentConfig.uninstall");
    const char *timeout = doc_text(given, "timeout");
    json_t *options = json_pack("{s:b}", "wait", doc_bool_or(given, "wait", false));
    struct error ignored = {0};
    int64_t ns = 0;

    if (timeout && duration_parse(timeout, &ns, &ignored) == 0 && ns >= 1000 * INT64_C(1000000))
        doc_set_text(options, "timeout", timeout);
    return options;
}

json_t *helm_uninstall_config(const json_t *config, const json_t *provider_status)
{
    const json_t *release = doc_member(provider_status, HELM_STATUS_RELEASE);
    const char *name = doc_text(release, "name");

    if (!name)
        return NULL;
    /* A chart is required, but not read to uninstall a release. */
    return json_pack("{s:s,s:s,s:s,s:s,s:b,s:{s:s},s:{s:o}}", "apiVersion", HELM_API_VERSION,
                     "kind", KIND_PROVIDER_CONFIGURATION, "name", name, "namespace",
                     doc_text_or(release, "namespace", ""), "helmDeployment", 1, "chart", "ref",
                     "registry.invalid/deleted:0", "helmDeploymentConfig", "uninstall",
                     uninstall_options(config));
}

int helm_check_deployed(const json_t *config, const json_t *provider_status, struct error *err)
{
    enum helm_deployed deployed = helm_deployed_as(provider_status);
    bool is_release = helm_is_release(config);

    if (deployed == HELM_DEPLOYED_NOTHING || is_release == (deployed == HELM_DEPLOYED_RELEASE))
        return 0;
    return error_set(err, ERROR_INVALID,
                     "helmDeployment: cannot be changed to %s, because the item was deployed %s; "
                     "change it back, or delete the item and create it again",
                     is_release ? "true" : "false",
                     is_release ? "without a release, and helm does not adopt its objects"
                                : "as a release, which would be left behind");
}
