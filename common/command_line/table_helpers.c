/* SPDX-License-Identifier: Apache-2.0 */
/* init and wait, the programs in a pod. Most of their settings are environment variables. */
#include "common/command_line/table.h"
#include "common/contract.h"

static const struct option_row init_rows[] = {
    TABLE_LOG_ROWS(struct init_values),
    TABLE_PROGRAM_ROWS(struct init_values),
};

static const struct option_fact init_facts[] = {
    {"EXIT STATUS", "0", "all inputs are written"},
    {"EXIT STATUS", "1", "failed; the termination message and the last line of the log say why"},
    {"EXIT STATUS", "2", "usage or configuration error; the message names the option or variable"},
    {"ENVIRONMENT", ENV_CONFIGURATION_PATH, "file with the provider configuration"},
    {"ENVIRONMENT", ENV_IMPORTS_PATH ", " ENV_TARGET_PATH ", " ENV_COMPONENT_DESCRIPTOR_PATH,
     "files to write, if the item uses them"},
    {"ENVIRONMENT", ENV_CONTENT_PATH ", " ENV_STATE_PATH ", " ENV_EXPORTS_PATH,
     "directories for blueprint and state, file for the exports"},
    {"ENVIRONMENT", ENV_DEPLOY_ITEM_NAME ", " ENV_DEPLOY_ITEM_NAMESPACE ", " ENV_POD_NAMESPACE,
     "the item, and the namespace of its pod"},
    {"ENVIRONMENT", ENV_REGISTRY_SECRETS_DIR ", " ENV_OCM_CONFIGURATION_PATH,
     "registry credentials and OCM configuration; optional"},
    {"ENVIRONMENT", ENV_INIT_DEADLINE, "timeout for everything (default 2m)"},
    {0},
};

const struct option_command COMMAND_INIT = {
    .program = "longshore-init",
    .brief = "write the inputs of a run to its shared volume",
    .synopsis = "[OPTIONS]",
    .summary =
        "Writes imports, target, component descriptors, blueprint content and the last state to "
        "the shared volume, as configured by environment variables",
    .rows = init_rows,
    .facts = init_facts,
};

static const struct option_row wait_rows[] = {
    option_text("grace", 0, struct wait_values, grace, "SECONDS",
                "time between SIGTERM and SIGKILL (default: the pod's own)"),
    option_text_with("quiet", 0, struct wait_values, quiet, "SECONDS",
                     "after SIGTERM, main counts as ended if it is idle for this long; 0: never",
                     NULL, "20"),
    option_text_with("request-timeout", 0, struct wait_values, request_timeout, "SECONDS",
                     "timeout of a request to the API server, which is then retried", NULL, "30"),
    option_text("service-account", 0, struct wait_values, service_account_dir, "DIR",
                "directory with token and ca.crt (default: that of the pod's service account)"),
    TABLE_LOG_ROWS(struct wait_values),
    TABLE_PROGRAM_ROWS(struct wait_values),
};

static const struct option_fact wait_facts[] = {
    {"EXIT STATUS", "0", "main succeeded; state and exports are saved"},
    {"EXIT STATUS", "1", "main failed, or state or exports could not be saved"},
    {"EXIT STATUS", "2", "usage or configuration error; the message names the option or variable"},
    {"ENVIRONMENT", ENV_STATE_PATH ", " ENV_EXPORTS_PATH, "state and exports of main"},
    {"ENVIRONMENT",
     ENV_DEPLOY_ITEM_NAME ", " ENV_DEPLOY_ITEM_NAMESPACE ", " ENV_POD_NAME ", " ENV_POD_NAMESPACE,
     "the item, and the pod to watch"},
    {"ENVIRONMENT", ENV_GRACE_SECONDS, "default of --grace"},
    {"ENVIRONMENT", ENV_MAIN_GRACE_SECONDS,
     "how long main may run after SIGTERM before its state is saved (default 30)"},
    {"ENVIRONMENT", ENV_REPORT_NAME,
     "the Secret for the progress of a snapshot, which the controller reads (default: none)"},
    {0},
};

const struct option_command COMMAND_WAIT = {
    .program = "longshore-wait",
    .brief = "save state and exports of a run when main has ended",
    .synopsis = "[OPTIONS]",
    .summary = "Waits for the end of the container 'main', then saves its state and exports, as "
               "configured by environment variables",
    .rows = wait_rows,
    .facts = wait_facts,
};
