/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/election.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/uuid.h"
#include "common/kube/lease.h"

/* An API server that has just started denies everything until it has read the roles: a single
 * denial is not conclusive. */
enum { DENIALS_MAX = 3, STATUS_FORBIDDEN = 403 };

struct election {
    struct controller *controller;
    struct lease *lease;
    char *namespace_name, *identity;
    struct loop_timer fallback_timer;
    unsigned denials; /* in a row */
    bool was_won;
};

bool election_is_won(const struct election *election)
{
    return election->lease && lease_is_held(election->lease);
}

static void on_leadership(void *data, bool is_leader)
{
    struct election *election = data;

    log_info(is_leader ? "leading" : "not leading");
    if (!is_leader) {
        controller_lead_lost(election->controller);
        return;
    }
    election->was_won = true;
    controller_touch_all(election->controller);
}

/* From a timer: the lease must not be freed from its own callback. */
static void fall_back(void *data)
{
    struct election *election = data;
    struct controller *controller = election->controller;

    lease_release(election->lease, 0);
    election->lease = NULL;
    controller->is_electing = false;
    controller->is_locking = true;
    controller_touch_all(controller);
}

static void on_problem(void *data, const struct error *err)
{
    struct election *election = data;

    /* Who has led before has the permission: another replica may lead by the Lease now, and would
     * not look at our locks. */
    if (err->http_status != STATUS_FORBIDDEN || election->was_won) {
        election->denials = 0;
        log_error("leader election failed, retrying", log_text("error", err->text));
        return;
    }
    if (++election->denials != DENIALS_MAX)
        return;
    log_error("no permission for leader election: locking each item with a SyncObject instead",
              log_text("missingRule", "apiGroups: [coordination.k8s.io], resources: [leases], "
                                      "verbs: [get, create, update]"),
              log_text("namespace", election->namespace_name), log_text("error", err->text));
    loop_timer_start(&election->fallback_timer, 0);
}

int election_start(struct controller *controller, const char *namespace_name, struct error *err)
{
    const struct deployer_config *config = controller->config;
    struct election *election = NULL;
    char id[UUID_TEXT_SIZE] = {0};
    struct lease_options lease = {.name = config->lease_name,
                                  /* In the proportions of other controllers: 15, 10 and 2 s. */
                                  .duration_ms = (uint32_t)config->lease_ms,
                                  .renew_deadline_ms = (uint32_t)config->lease_ms * 2 / 3,
                                  .retry_ms = (uint32_t)config->lease_ms * 2 / 15,
                                  .on_change = on_leadership,
                                  .on_problem = on_problem};

    if (!controller->is_electing)
        return 0;
    election = controller->election = xcalloc(1, sizeof(*election));
    election->controller = controller;
    loop_timer_init(&election->fallback_timer, controller->loop, fall_back, election);
    election->namespace_name = xstrdup(namespace_name);
    uuid_make(id);
    election->identity = xasprintf("%s_%s", controller->pod_name, id);
    lease.namespace_name = election->namespace_name;
    lease.identity = election->identity;
    lease.data = election;
    if (lease_start(controller->host, &lease, &election->lease, err) < 0)
        return error_wrap(err, "lease \"%s/%s\"", lease.namespace_name, lease.name);
    return 0;
}

void election_stop(struct controller *controller, uint64_t timeout_ms)
{
    struct election *election = controller->election;

    if (!election)
        return;
    loop_timer_stop(&election->fallback_timer);
    lease_release(election->lease, timeout_ms);
    free(election->namespace_name);
    free(election->identity);
    free(election);
    controller->election = NULL;
}
