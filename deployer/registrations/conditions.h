/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses of Environments and DeployerRegistrations, and the Events about their changes. Pure:
 * documents in, documents out. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "deployer/registrations/heartbeat.h"

/* What is known about one pair. A compact array, because there are thousands. */
json_t *result_make(const char *installation, const char *phase, const char *message, bool is_ready,
                    bool is_blocked);
const char *result_phase(const json_t *result); /* "" for NULL */
bool result_is_ready(const json_t *result);

struct environment_facts {
    const json_t *environment;
    const json_t *results;      /* registration -> environment -> result */
    const char *problem;        /* why its host Target cannot be written, or NULL */
    const char *namespace_name; /* of the Lease */
    bool is_acceptance_manual;
    enum heartbeat_state heartbeat;
};

/* now: RFC 3339. Both return new references. */
json_t *environment_status(const struct environment_facts *facts, const char *now);
/* results: environment -> result, or NULL. */
json_t *registration_status(const json_t *registration, const json_t *results, const char *now);

/* The name of the Lease that the agent of an environment renews. Borrowed. */
const char *environment_lease(const json_t *environment);
bool environment_is_accepted(const json_t *environment, bool is_acceptance_manual);

/* Whether the stored status has all that we want to write. What others wrote does not count. */
bool status_is_written(const json_t *object, const json_t *wanted);
/* What changes with the wanted status, as an array of {"type", "reason", "message"}: the members of
 * Events. New reference. */
json_t *status_events(const json_t *object, const json_t *wanted);
