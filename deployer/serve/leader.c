/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/serve/leader.h"

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/uuid.h"
#include "deployer/serve/daemon.h"

static void on_problem(void *data, const struct error *err)
{
    (void)data;
    log_error("leader election failed, retrying", log_text("error", err->text));
}

char *leader_identity(void)
{
    char id[UUID_TEXT_SIZE] = {0};

    uuid_make(id);
    return xasprintf("%s_%s", daemon_variable(ENV_MY_POD_NAME, MY_POD_NAME_DEFAULT), id);
}

int leader_elect(struct kube *kube, const struct lease_options *options, struct lease **ret_lease,
                 struct error *err)
{
    cleanup_free char *identity = leader_identity();
    struct lease_options all = *options;

    all.on_problem = on_problem;
    if (!all.identity)
        all.identity = identity;
    if (lease_start(kube, &all, ret_lease, err) < 0)
        return error_wrap(err, "lease \"%s/%s\"", options->namespace_name, options->name);
    return 0;
}

bool leader_is_elected(const struct lease *lease)
{
    return lease && lease_is_held(lease);
}
