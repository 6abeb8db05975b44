/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/client.h"
#include "common/kube/client_internal.h"

struct performed {
    bool is_done;
    json_t *object;
    struct error err;
};

static void on_performed(void *data, json_t *object, const struct error *err)
{
    struct performed *performed = data;

    performed->is_done = true;
    performed->object = json_incref(object);
    performed->err = *err;
}

int kube_perform(struct kube *kube, const struct kube_request *request, json_t **ret_object,
                 struct error *err)
{
    struct performed performed = {0};
    struct kube_request copy = *request;
    struct kube_call *call = NULL;

    if (kube_is_busy(kube))
        return error_set(err, ERROR_INTERNAL, "kube_perform() called from inside a callback");
    copy.on_done = on_performed;
    copy.data = &performed;
    if (kube_start(kube, &copy, &call, err) < 0)
        return -1;
    while (!performed.is_done) {
        if (loop_run_once(kube_loop(kube), -1, err) < 0) {
            kube_cancel(call);
            return -1;
        }
    }
    if (performed.err.kind != ERROR_NONE) {
        *err = performed.err;
        return -1;
    }
    if (ret_object)
        *ret_object = performed.object;
    else
        json_decref(performed.object);
    return 0;
}
