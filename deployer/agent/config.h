/* SPDX-License-Identifier: Apache-2.0 */
/* The AgentConfiguration document: all fields of the agent of Landscaper v0.98 and our own.
 * Immutable once parsed; defaults are filled in. docs/agent.md describes the fields. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "deployer/validation/mistakes.h"
#include "deployer/validation/rules.h"

enum { AGENT_TOKEN_SECONDS_MIN = 600 }; /* the API server refuses less */

struct agent_config {
    char *name;                 /* of the Environment */
    char *namespace_name;       /* of deployers and of the host account, in the host cluster */
    char *landscaper_namespace; /* of Secret and Lease, in Landscaper's cluster */
    json_t *target_selectors;   /* array */

    /* ---- Not known to the agent of v0.98 ---- */
    char *credential_secret; /* in the host namespace: own token, and that the agent has left */
    json_t *namespace_rules, *cluster_rules; /* PolicyRules of the host account; arrays */
    json_t *types; /* of items that the deployer beside the agent serves; array */
    int64_t token_seconds, heartbeat_seconds;
    bool is_host_access;  /* hostAccess: token (default) or none */
    bool is_access_agent; /* access: agent requests the tokens of deployers */
    bool is_manual;       /* acceptance: wait until the Environment is accepted */
};

/* The fields of the document. */
extern const struct field_rule AGENT_CONFIG_FIELDS[];

/* Adds all errors and unknown fields to mistakes. Fails if there is an error; only otherwise
 * *ret_config is set. */
int agent_config_parse(const json_t *doc, struct agent_config **ret_config,
                       struct mistakes *mistakes) must_check;
/* The same from a YAML or JSON file. */
int agent_config_load(const char *path, struct agent_config **ret_config, struct mistakes *mistakes)
    must_check;
void agent_config_free(struct agent_config *config); /* NULL is fine */
define_cleanup(struct agent_config *, agent_config_free)
#define cleanup_agent_config __attribute__((cleanup(agent_config_freep)))
