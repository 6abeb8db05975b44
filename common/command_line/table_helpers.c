/* SPDX-License-Identifier: Apache-2.0 */
/* The programs inside of a run's pod, which the environment tells most of what they need. */
#include "common/command_line/table.h"
#include "common/contract.h"

static const struct option_row init_rows[] = {
    TABLE_LOG_ROWS(struct init_values),
    TABLE_PROGRAM_ROWS(struct init_values),
};

static const struct option_fact init_facts[] = {
    {"EXIT STATUS", "0", "every input is in its place"},
    {"EXIT STATUS", "1", "failed; the termination log and the last line of the log say why"},
    {"EXIT STATUS", "2", "wrong usage or configuration, by name"},
    {"ENVIRONMENT", ENV_CONFIGURATION_PATH, "the provider configuration, to read"},
    {"ENVIRONMENT", ENV_IMPORTS_PATH ", " ENV_TARGET_PATH ", " ENV_COMPONENT_DESCRIPTOR_PATH,
     "files that are written if the item asks for them"},
    {"ENVIRONMENT", ENV_CONTENT_PATH ", " ENV_STATE_PATH ", " ENV_EXPORTS_PATH,
     "where the blueprint, the last state and, later, the exports are"},
    {"ENVIRONMENT", ENV_DEPLOY_ITEM_NAME ", " ENV_DEPLOY_ITEM_NAMESPACE ", " ENV_POD_NAMESPACE,
     "whose inputs these are"},
    {"ENVIRONMENT", ENV_REGISTRY_SECRETS_DIR ", " ENV_OCM_CONFIGURATION_PATH,
     "credentials and repositories, if there are any"},
    {"ENVIRONMENT", ENV_INIT_DEADLINE, "how long all of it may take (default 2m)"},
    {0},
};

const struct option_command COMMAND_INIT = {
    .program = "longshore-init",
    .brief = "put the inputs of a run on its shared volume",
    .synopsis = "[OPTIONS]",
    .summary =
        "Puts imports, target, component descriptors, blueprint content and the last state on "
        "the shared volume. What and where is told by the environment",
    .rows = init_rows,
    .facts = init_facts,
};

static const struct option_row wait_rows[] = {
    option_text("grace", 0, struct wait_values, grace, "SECONDS",
                "time between SIGTERM and SIGKILL, 300 unless the environment says so"),
    option_text_with("quiet", 0, struct wait_values, quiet, "SECONDS",
                     "after SIGTERM a main that does nothing for so long is taken for ended; 0: "
                     "never",
                     NULL, "20"),
    option_text_with("request-timeout", 0, struct wait_values, request_timeout, "SECONDS",
                     "how long one request to the API server may take before it is tried again",
                     NULL, "30"),
    option_text("service-account", 0, struct wait_values, service_account_dir, "DIR",
                "directory with token and ca.crt, if not the pod's own"),
    TABLE_LOG_ROWS(struct wait_values),
    TABLE_PROGRAM_ROWS(struct wait_values),
};

static const struct option_fact wait_facts[] = {
    {"EXIT STATUS", "0", "main has ended well, its state and exports are saved"},
    {"EXIT STATUS", "1", "main has failed, or something could not be saved"},
    {"EXIT STATUS", "2", "wrong usage or configuration, by name"},
    {"ENVIRONMENT", ENV_STATE_PATH ", " ENV_EXPORTS_PATH, "what main leaves behind"},
    {"ENVIRONMENT",
     ENV_DEPLOY_ITEM_NAME ", " ENV_DEPLOY_ITEM_NAMESPACE ", " ENV_POD_NAME ", " ENV_POD_NAMESPACE,
     "whose these are, and the pod to watch"},
    {"ENVIRONMENT", ENV_GRACE_SECONDS, "as --grace"},
    {0},
};

const struct option_command COMMAND_WAIT = {
    .program = "longshore-wait",
    .brief = "carry state and exports of a run out when main has ended",
    .synopsis = "[OPTIONS]",
    .summary = "Waits for the container 'main', then carries its state and exports out. Whose and "
               "where is told by the environment",
    .rows = wait_rows,
    .facts = wait_facts,
};
