/* SPDX-License-Identifier: Apache-2.0 */
/* The account with which deployers are installed in the host cluster. Its permissions are those of
 * the configuration: one Role in the namespace of the deployers, one ClusterRole. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "deployer/agent/objects.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define ACCOUNT_PREFIX "deployer-"
#define CLUSTER_PREFIX "landscaper:agent:deployer:"

static const struct kube_resource cluster_roles = {RBAC_GROUP, "v1", "clusterroles"};

static const struct {
    const char *kind, *api_version, *prefix;
    bool is_namespaced;
    enum host_object role; /* of a binding */
} kinds[] = {
    [HOST_ACCOUNT] = {"ServiceAccount", "v1", ACCOUNT_PREFIX, true, HOST_OBJECT_COUNT},
    [HOST_ROLE] = {"Role", RBAC_GROUP "/v1", ACCOUNT_PREFIX, true, HOST_OBJECT_COUNT},
    [HOST_ROLE_BINDING] = {"RoleBinding", RBAC_GROUP "/v1", ACCOUNT_PREFIX, true, HOST_ROLE},
    [HOST_CLUSTER_ROLE] = {"ClusterRole", RBAC_GROUP "/v1", CLUSTER_PREFIX, false,
                           HOST_OBJECT_COUNT},
    [HOST_CLUSTER_ROLE_BINDING] = {"ClusterRoleBinding", RBAC_GROUP "/v1", CLUSTER_PREFIX, false,
                                   HOST_CLUSTER_ROLE},
};

struct kube_resource host_object_resource(enum host_object which)
{
    const struct kube_resource *const resources[] = {
        [HOST_ACCOUNT] = &KUBE_SERVICE_ACCOUNTS,
        [HOST_ROLE] = &KUBE_ROLES,
        [HOST_ROLE_BINDING] = &KUBE_ROLE_BINDINGS,
        [HOST_CLUSTER_ROLE] = &cluster_roles,
        [HOST_CLUSTER_ROLE_BINDING] = &KUBE_CLUSTER_ROLE_BINDINGS,
    };

    return *resources[which];
}

bool host_object_is_namespaced(enum host_object which)
{
    return kinds[which].is_namespaced;
}

char *host_object_name(const struct agent_config *config, enum host_object which)
{
    return xasprintf("%s%s", kinds[which].prefix, config->name);
}

static const json_t *rules_for(const struct agent_config *config, enum host_object which)
{
    return kinds[which].is_namespaced ? config->namespace_rules : config->cluster_rules;
}

json_t *host_object_make(const struct agent_config *config, enum host_object which)
{
    cleanup_free char *name = host_object_name(config, which);
    cleanup_free char *environment = name_label_value(config->name);
    json_t *object = NULL;

    if (which != HOST_ACCOUNT && json_array_size(rules_for(config, which)) == 0)
        return NULL;
    object = json_pack("{s:s,s:s,s:{s:s,s:{s:s,s:s}}}", "apiVersion", kinds[which].api_version,
                       "kind", kinds[which].kind, "metadata", "name", name, "labels",
                       LABEL_MANAGED_BY, MANAGED_BY, LABEL_ENVIRONMENT, environment);
    if (kinds[which].is_namespaced)
        doc_set_text(object, "metadata.namespace", config->namespace_name);
    if (which == HOST_ROLE || which == HOST_CLUSTER_ROLE)
        (void)json_object_set_new(object, "rules", json_deep_copy(rules_for(config, which)));
    if (kinds[which].role != HOST_OBJECT_COUNT) {
        cleanup_free char *account = host_object_name(config, HOST_ACCOUNT);
        cleanup_free char *role = host_object_name(config, kinds[which].role);

        (void)json_object_set_new(object, "roleRef",
                                  json_pack("{s:s,s:s,s:s}", "apiGroup", RBAC_GROUP, "kind",
                                            kinds[kinds[which].role].kind, "name", role));
        (void)json_object_set_new(object, "subjects",
                                  json_pack("[{s:s,s:s,s:s}]", "kind", "ServiceAccount", "name",
                                            account, "namespace", config->namespace_name));
    }
    return object;
}

bool host_object_is_current(const json_t *object, const json_t *wanted)
{
    static const char *const members[] = {"rules", "roleRef", "subjects"};

    for (size_t i = 0; i < array_length(members); i++) {
        if (doc_member(wanted, members[i]) &&
            !json_equal(doc_member(object, members[i]), doc_member(wanted, members[i])))
            return false;
    }
    return true;
}

bool host_object_needs_new(const json_t *object, const json_t *wanted)
{
    return doc_member(wanted, "roleRef") &&
           !json_equal(doc_member(object, "roleRef"), doc_member(wanted, "roleRef"));
}

bool host_object_is_owned(const json_t *object, enum host_object which)
{
    const char *manager =
        json_string_value(doc_member(doc_get(object, "metadata.labels"), LABEL_MANAGED_BY));

    return which == HOST_ACCOUNT || which == HOST_CLUSTER_ROLE_BINDING ||
           (manager && strcmp(manager, MANAGED_BY) == 0);
}
