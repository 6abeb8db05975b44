/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/run_objects.h"

#include "common/data/doc.h"
#include "deployer/pod/access.h"
#include "deployer/pod/inputs.h"
#include "deployer/pod/template.h"

void pod_objects_done(struct pod_objects *objects)
{
    json_decref(objects->account);
    json_decref(objects->role);
    json_decref(objects->role_binding);
    json_decref(objects->input);
    json_decref(objects->pull);
    json_decref(objects->pod);
    *objects = (struct pod_objects){0};
}

int pod_objects_make(const struct pod_request *request, struct pod_objects *ret_objects,
                     struct error *err)
{
    struct pod_objects objects = {
        .account = access_service_account(request),
        .role = access_role(request),
        .role_binding = access_role_binding(request),
    };

    if (inputs_secret(request, &objects.input, err) < 0 ||
        inputs_pull_secret(request, &objects.pull, err) < 0 ||
        template_pod(request, objects.pull, &objects.pod, err) < 0) {
        pod_objects_done(&objects);
        return -1;
    }
    *ret_objects = objects;
    return 0;
}
