/* SPDX-License-Identifier: Apache-2.0 */
#include "common/command_line/table.h"

#include "common/contract.h"

#define TARGET_HELP "file with the Target, and its Secret; may be repeated"
#define CONTEXT_HELP "file with the Context, and its ConfigMap; may be repeated"
#define OPERATIONS OPERATION_RECONCILE " " OPERATION_DELETE
#define EXIT_DONE                                                                                  \
    {                                                                                              \
        "EXIT STATUS", "0", "done"                                                                 \
    }
#define EXIT_FAILED                                                                                \
    {                                                                                              \
        "EXIT STATUS", "1", "failed; the last line on standard error says what and why"            \
    }
#define EXIT_WRONG                                                                                 \
    {                                                                                              \
        "EXIT STATUS", "2", "wrong usage or configuration, by name"                                \
    }

/* A command that reads the files it is given, by the name of its rows. */
#define COMMAND_OF_FILES(name_)                                                                    \
    .program = "longshore " #name_, .synopsis = "[OPTIONS] FILE...", .operand = "FILE",            \
    .rows = name_##_rows

/* ---- run ---- */

static const struct option_row run_rows[] = {
    option_texts("target", 0, struct run_values, objects, "FILE", TARGET_HELP),
    option_texts("context", 0, struct run_values, objects, "FILE", CONTEXT_HELP),
    option_texts("secret", 0, struct run_values, objects, "FILE",
                 "file with Secrets or ConfigMaps; may be repeated"),
    option_text("imports", 0, struct run_values, imports, "FILE",
                "YAML or JSON in place of the item's importValues"),
    option_text("image", 0, struct run_values, image, "IMAGE",
                "in place of the item's image: a reference, oci:DIR, oci-archive:FILE, "
                "docker-archive:FILE, rootfs:DIR"),
    option_choice("operation", 0, struct run_values, operation, "OP", "what main is told to do",
                  OPERATIONS, OPERATION_RECONCILE),
    option_text("from-cluster", 0, struct run_values, from_cluster, "NS/NAME",
                "read item, target, context and state from a cluster; write nothing there"),
    option_text("kubeconfig", 0, struct run_values, kubeconfig, "FILE",
                "for --from-cluster, as kubectl's"),
    option_text("config", 0, struct run_values, config, "FILE",
                "the deployer's Configuration document"),
    option_text("state", 0, struct run_values, state, "DIR",
                "where the state is kept between runs"),
    option_text("out", 0, struct run_values, out, "DIR",
                "write exports.json and result.json there too"),
    option_text("cache", 0, struct run_values, cache, "DIR", "where images are kept between runs"),
    option_text_with("cache-size", 0, struct run_values, cache_size, "SIZE",
                     "what the image cache may hold", NULL, "10Gi"),
    option_text_with("runtime", 0, struct run_values, runtime, "NAME",
                     "OCI runtime, the first that is there unless given", "crun runc", NULL),
    option_text("timeout", 0, struct run_values, timeout, "TIME",
                "end main after this time in place of the item's; none for no end"),
    option_text_with("grace", 0, struct run_values, grace, "TIME", "between SIGTERM and SIGKILL",
                     NULL, "30s"),
    option_choice("network", 0, struct run_values, network, "NET", "main's network", "host none",
                  "host"),
    option_flag("plain-http", 0, struct run_values, is_plain_http_allowed,
                "talk http to the registry"),
    option_flag("insecure", 0, struct run_values, is_insecure,
                "accept any certificate of the registry"),
    option_flag("keep", 0, struct run_values, is_kept, "keep the run's directory to look at"),
    option_flag("shell", 0, struct run_values, is_shell,
                "a shell in main's place, on this terminal"),
    option_choice("output", 'o', struct run_values, output, "FORM", "what is printed", "text json",
                  "text"),
    option_flag("verbose", 'v', struct run_values, is_verbose, "show what init and wait log"),
    TABLE_LAST_ROWS(struct run_values),
};

static const struct option_fact run_facts[] = {
    EXIT_DONE,
    {"EXIT STATUS", "2", "wrong usage or configuration, by name, before main was started"},
    {"EXIT STATUS", "124", "the run's time was over"},
    {"EXIT STATUS", "125", "longshore itself failed: image, inputs, state or exports"},
    {"EXIT STATUS", "130", "interrupted"},
    {"EXIT STATUS", "any other", "main ended with that code"},
    {"ENVIRONMENT", "XDG_STATE_HOME, XDG_CACHE_HOME",
     "where state and images are kept unless --state and --cache say so; below ~/.local/state and "
     "~/.cache if not set"},
    {"ENVIRONMENT", "KUBECONFIG", "for --from-cluster, if there is no --kubeconfig"},
    {"ENVIRONMENT", "HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "for the registry"},
    {"EXAMPLES", "longshore run item.yaml", "runs an item; its exports are printed"},
    {"EXAMPLES", "longshore run item.yaml --target cluster.yaml --operation DELETE",
     "cleans up what the item made in a cluster"},
    {"EXAMPLES", "longshore run --from-cluster team/item --shell",
     "a shell where main of a cluster's item would run, with its inputs"},
    {0},
};

const struct option_command COMMAND_RUN = {
    .program = "longshore run",
    .brief = "run a DeployItem on this machine, without a cluster",
    .synopsis = "[OPTIONS] [FILE...]",
    .summary =
        "Runs a DeployItem on this machine, without a cluster: init, the item's image beside "
        "wait, state kept, exports printed. '-' is standard input",
    .operand = "FILE",
    .rows = run_rows,
    .facts = run_facts,
};

/* ---- validate ---- */

static const struct option_row validate_rows[] = {
    option_text("config", 0, struct validate_values, config, "FILE",
                "the deployer's Configuration document"),
    option_choice("output", 'o', struct validate_values, output, "FORM", "what is printed",
                  "text json", "text"),
    option_flag("strict", 0, struct validate_values, is_strict, "unknown fields are mistakes too"),
    TABLE_LAST_ROWS(struct validate_values),
};

static const struct option_fact validate_facts[] = {
    {"EXIT STATUS", "0", "there is no mistake"},
    {"EXIT STATUS", "2", "there is one, or a file can't be read"},
    {0},
};

const struct option_command COMMAND_VALIDATE = {
    COMMAND_OF_FILES(validate),
    .brief = "name every mistake in DeployItems, with its path",
    .summary =
        "Names every mistake in DeployItems, Targets and Configurations. '-' is standard input",
    .facts = validate_facts,
};

/* ---- render ---- */

static const struct option_row render_rows[] = {
    option_texts("target", 0, struct render_values, objects, "FILE", TARGET_HELP),
    option_texts("context", 0, struct render_values, objects, "FILE", CONTEXT_HELP),
    option_texts("secret", 0, struct render_values, objects, "FILE",
                 "Secrets: registry credentials, the target's, the state's; may be repeated"),
    option_text("config", 0, struct render_values, config, "FILE",
                "the deployer's Configuration document"),
    option_choice("operation", 0, struct render_values, operation, "OP", "what main is told to do",
                  OPERATIONS, OPERATION_RECONCILE),
    option_choice("output", 'o', struct render_values, output, "FORM",
                  "a stream of documents, or an object a line", "yaml json", "yaml"),
    TABLE_LAST_ROWS(struct render_values),
};

static const struct option_fact usual_exits[] = {EXIT_DONE, EXIT_FAILED, EXIT_WRONG, {0}};

const struct option_command COMMAND_RENDER = {
    COMMAND_OF_FILES(render),
    .brief = "print every object that the controller would make for a DeployItem",
    .summary =
        "Prints every object that the controller would make for a DeployItem, Secrets included",
    .facts = usual_exits,
};

/* ---- controller ---- */

static const struct option_row controller_rows[] = {
    option_text("config", 0, struct controller_values, config, "FILE",
                "the Configuration document, YAML or JSON"),
    option_text("kubeconfig", 0, struct controller_values, kubeconfig, "FILE",
                "the host cluster; else $KUBECONFIG, the pod's own account, ~/.kube/config"),
    option_text("landscaper-kubeconfig", 0, struct controller_values, landscaper_kubeconfig, "FILE",
                "Landscaper's cluster, if it is not the host"),
    option_text("metrics-address", 0, struct controller_values, metrics_address, "HOST:PORT",
                "where to serve /metrics; 'off' for nowhere"),
    option_text("health-address", 0, struct controller_values, health_address, "HOST:PORT",
                "where to serve /healthz and /readyz; 'off' for nowhere"),
    TABLE_LOG_ROWS(struct controller_values),
    TABLE_PROGRAM_ROWS(struct controller_values),
};

static const struct option_fact controller_facts[] = {
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_WRONG,
    {"ENVIRONMENT", ENV_MY_POD_NAME ", " ENV_MY_POD_NAMESPACE,
     "who this process is when it locks items or leads"},
    {"ENVIRONMENT", "KUBECONFIG", "the host cluster, if there is no --kubeconfig"},
    {"ENVIRONMENT", "HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "for the API servers"},
    {"SIGNALS", "SIGTERM, SIGINT", "lets go of the lease and ends; runs go on in their pods"},
    {"SIGNALS", "SIGUSR1, SIGUSR2", "raise and lower the log level"},
    {0},
};

const struct option_command COMMAND_CONTROLLER = {
    .program = "longshore controller",
    .brief = "turn the DeployItems of a Landscaper into pods",
    .synopsis = "[OPTIONS]",
    .summary = "Turns the DeployItems of a Landscaper into pods, and their results into status and "
               "exports. SIGUSR1 and SIGUSR2 raise and lower the log level",
    .rows = controller_rows,
    .facts = controller_facts,
};

/* ---- version, completion, man, help ---- */

static const struct option_row version_rows[] = {
    option_flag("json", 0, struct version_values, is_json, "print a JSON document"),
    TABLE_LAST_ROWS(struct version_values),
};

const struct option_command COMMAND_VERSION = {
    .program = "longshore version",
    .brief = "print the version",
    .synopsis = "[OPTIONS]",
    .summary = "Prints the version",
    .rows = version_rows,
};

static const struct option_row plain_rows[] = {
    TABLE_LAST_ROWS(struct plain_values),
};

static const struct option_fact completion_facts[] = {
    {"EXAMPLES", "source <(longshore completion bash)", "in this shell; zsh likewise"},
    {"EXAMPLES", "longshore completion fish > ~/.config/fish/completions/longshore.fish",
     "in every fish from now on"},
    {0},
};

const struct option_command COMMAND_COMPLETION = {
    .program = "longshore completion",
    .brief = "print what completes these commands in bash, zsh or fish",
    .synopsis = "bash|zsh|fish [PROGRAM]",
    .summary = "Prints a script that completes commands and options of longshore, or of "
               "longshore-init or longshore-wait if such a PROGRAM is given",
    .operand = "SHELL",
    .operand_choices = "bash zsh fish",
    .rows = plain_rows,
    .facts = completion_facts,
};

static const struct option_fact man_facts[] = {
    {"EXAMPLES", "longshore man run | man -l -", "reads the page of longshore run"},
    {0},
};

const struct option_command COMMAND_MAN = {
    .program = "longshore man",
    .brief = "print the man page of a command",
    .synopsis = "[COMMAND]",
    .summary = "Prints the man page of longshore, of one of its commands, or of longshore-init or "
               "longshore-wait if COMMAND is init or wait",
    .operand = "COMMAND",
    .operand_choices = "run validate render controller version completion man help init wait",
    .rows = plain_rows,
    .facts = man_facts,
};

const struct option_command COMMAND_HELP = {
    .program = "longshore help",
    .brief = "print this list, or the help of a command",
    .synopsis = "[COMMAND]",
    .summary = "Prints the list of commands, or what COMMAND --help prints",
    .operand = "COMMAND",
    .operand_choices = "run validate render controller version completion man",
    .rows = plain_rows,
};

/* ---- longshore ---- */

static const struct option_row longshore_rows[] = {
    TABLE_PROGRAM_ROWS(struct longshore_values),
};

static const struct option_command *const longshore_commands[] = {
    &COMMAND_RUN,        &COMMAND_VALIDATE, &COMMAND_RENDER,
    &COMMAND_CONTROLLER, &COMMAND_VERSION,  &COMMAND_COMPLETION,
    &COMMAND_MAN,        &COMMAND_HELP,     NULL,
};

const struct option_command COMMAND_LONGSHORE = {
    .program = "longshore",
    .brief = "a container deployer for Landscaper, in a cluster and without",
    .synopsis = "COMMAND [OPTIONS]",
    .summary = "A container deployer for Landscaper, in a cluster and without",
    .rows = longshore_rows,
    .facts = usual_exits,
    .commands = longshore_commands,
};
