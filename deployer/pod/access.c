/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/access.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define RBAC_API_VERSION RBAC_GROUP "/v1"

json_t *access_service_account(const struct pod_request *request)
{
    json_t *account =
        object_new("v1", "ServiceAccount", request->names->account, request->config, request->item);

    (void)json_object_set_new(account, "automountServiceAccountToken", json_false());
    return account;
}

json_t *access_role(const struct pod_request *request)
{
    json_t *role = object_new(RBAC_API_VERSION, "Role", request->names->account, request->config,
                              request->item);
    json_t *rules =
        json_pack("[{s:[s],s:[s],s:[s],s:[s,s]},{s:[s],s:[s],s:[s,s],s:[s,s]},"
                  "{s:[s],s:[s],s:[s]}]",
                  "apiGroups", "", "resources", "pods", "resourceNames", request->names->pod,
                  "verbs", "get", "watch", /* its own pod */
                  "apiGroups", "", "resources", "secrets", "resourceNames", request->export_name,
                  request->names->report, "verbs", "get", "update", /* its own export and report */
                  "apiGroups", "", "resources", "secrets", "verbs", "create");

    /* The Go deployer's init reads the state through the API and removes old generations. */
    if (request->config->init.is_go_image)
        (void)json_array_append_new(rules, json_pack("{s:[s],s:[s],s:[s,s,s]}", "apiGroups", "",
                                                     "resources", "secrets", "verbs", "get", "list",
                                                     "delete"));
    (void)json_object_set_new(role, "rules", rules);
    return role;
}

json_t *access_role_binding(const struct pod_request *request)
{
    json_t *binding = object_new(RBAC_API_VERSION, "RoleBinding", request->names->account,
                                 request->config, request->item);

    (void)json_object_set_new(binding, "roleRef",
                              json_pack("{s:s,s:s,s:s}", "apiGroup", RBAC_GROUP, "kind", "Role",
                                        "name", request->names->account));
    (void)json_object_set_new(binding, "subjects",
                              json_pack("[{s:s,s:s,s:s}]", "kind", "ServiceAccount", "name",
                                        request->names->account, "namespace",
                                        request->config->namespace_name));
    return binding;
}
