/* SPDX-License-Identifier: Apache-2.0 */
#include "common/command_line/table.h"

#include "common/contract.h"

#define TARGET_HELP "file with the Target and its Secret; may be repeated"
#define CONTEXT_HELP "file with the Context and its ConfigMap; may be repeated"
#define OPERATION_HELP "operation that main is asked to perform"
#define KUBECONFIG_HELP                                                                            \
    "kubeconfig of the cluster of a manifest item, instead of its Target; with --from-cluster: "   \
    "of "                                                                                          \
    "Landscaper's cluster (default: found like kubectl's)"
#define CONFIG_HELP "configuration file of the deployer"
#define OUTPUT_HELP "output format"
#define OPERATIONS OPERATION_RECONCILE " " OPERATION_DELETE

/* A command whose operands are files and whose rows are called <name>_rows. */
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
                "YAML or JSON file that replaces the item's importValues"),
    option_text("image", 0, struct run_values, image, "IMAGE",
                "replaces the item's image: a reference, oci:DIR, oci-archive:FILE, "
                "docker-archive:FILE, rootfs:DIR, or a path that begins with / or ./ (paths, also "
                "those in the item, are relative to the current directory)"),
    option_choice("operation", 0, struct run_values, operation, "OP", OPERATION_HELP, OPERATIONS,
                  OPERATION_RECONCILE),
    option_text("from-cluster", 0, struct run_values, from_cluster, "NS/NAME",
                "read item, target, context and state from a cluster, which is not changed"),
    option_text("kubeconfig", 0, struct run_values, kubeconfig, "FILE", KUBECONFIG_HELP),
    option_text("config", 0, struct run_values, config, "FILE", CONFIG_HELP),
    option_text("state", 0, struct run_values, state, "DIR",
                "directory for the state, or for the list of applied objects (default: a directory "
                "per item "
                "in ~/.local/state/longshore)"),
    option_text("out", 0, struct run_values, out, "DIR",
                "also write exports.json and result.json to this directory"),
    option_text("cache", 0, struct run_values, cache, "DIR",
                "directory for images (default: ~/.cache/longshore/images)"),
    option_text_with("cache-size", 0, struct run_values, cache_size, "SIZE",
                     "maximum size of the image cache", NULL, "10Gi"),
    option_choice("runtime", 0, struct run_values, runtime, "NAME",
                  "OCI runtime, by default the first that is installed", "crun runc", NULL),
    option_text(
        "timeout", 0, struct run_values, timeout, "TIME",
        "time for image, init and main together, or for a manifest item, or 'none' (default: "
        "the item's timeout, else 10m)"),
    option_text_with("grace", 0, struct run_values, grace, "TIME",
                     "time between SIGTERM and SIGKILL", NULL, "30s"),
    option_choice("network", 0, struct run_values, network, "NET", "network of main", "host none",
                  "host"),
    option_flag("plain-http", 0, struct run_values, is_plain_http,
                "use HTTP instead of HTTPS for registries"),
    option_flag("insecure", 0, struct run_values, is_insecure,
                "do not verify certificates of registries"),
    option_flag("keep", 0, struct run_values, is_kept,
                "keep the files of the run (directory run/ in the state directory)"),
    option_flag("shell", 0, struct run_values, is_shell,
                "run /bin/sh on this terminal instead of main's program"),
    option_choice("output", 'o', struct run_values, output, "FORMAT", OUTPUT_HELP, "text json",
                  "text"),
    option_flag("verbose", 'v', struct run_values, is_verbose, "show the logs of init and wait"),
    TABLE_LAST_ROWS(struct run_values),
};

static const struct option_fact run_facts[] = {
    TABLE_EXIT_DONE,
    {"EXIT STATUS", "2", "usage or configuration error, found before main was started"},
    {"EXIT STATUS", "124", "timed out"},
    {"EXIT STATUS", "125",
     "longshore failed: image, inputs, state or exports; objects of a manifest item that were "
     "refused"},
    {"EXIT STATUS", "126", "main's program cannot be executed"},
    {"EXIT STATUS", "127", "the image does not have main's program or its interpreter"},
    {"EXIT STATUS", "130", "interrupted"},
    {"EXIT STATUS", "any other", "exit code of main"},
    {"ENVIRONMENT", "XDG_STATE_HOME, XDG_CACHE_HOME",
     "base directories for state and images, unless --state and --cache are given (default: "
     "~/.local/state and ~/.cache)"},
    {"ENVIRONMENT", "KUBECONFIG", "kubeconfig for --from-cluster, unless --kubeconfig is given"},
    {"ENVIRONMENT", "HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "proxy for registries"},
    {"ENVIRONMENT", "NO_COLOR", "if not empty: no colors on a terminal"},
    {"EXAMPLES", "longshore run item.yaml", "runs an item and prints its exports"},
    {"EXAMPLES", "longshore run item.yaml --target cluster.yaml --operation DELETE",
     "deletes what the item created in a cluster"},
    {"EXAMPLES", "longshore run manifests.yaml --kubeconfig cluster.yaml",
     "applies the objects of a manifest item to a cluster"},
    {"EXAMPLES", "longshore run chart.yaml",
     "renders the chart of a helm item and prints its objects"},
    {"EXAMPLES", "longshore run item.yaml -o json | jq .exports", "prints only the exports"},
    {"EXAMPLES", "longshore run --from-cluster team/item --shell",
     "opens a shell with the inputs of an item in a cluster"},
    {0},
};

const struct option_command COMMAND_RUN = {
    .program = "longshore run",
    .brief = "run a DeployItem on this machine, without a cluster",
    .synopsis = "[OPTIONS] [FILE...]",
    .summary =
        "Runs a DeployItem on this machine, without a cluster. Executes init, the item's image "
        "and wait as a pod would, keeps the state for the next run and prints the exports. A "
        "manifest item is applied to the cluster of its Target or of --kubeconfig. The chart of a "
        "helm item is rendered, and its objects are printed, or deployed if a Target or "
        "--kubeconfig is given. FILE '-' is standard input",
    .operand = "FILE",
    .rows = run_rows,
    .facts = run_facts,
};

/* ---- validate ---- */

static const struct option_row validate_rows[] = {
    option_text("config", 0, struct validate_values, config, "FILE", CONFIG_HELP),
    option_choice("output", 'o', struct validate_values, output, "FORMAT", OUTPUT_HELP, "text json",
                  "text"),
    option_flag("strict", 0, struct validate_values, is_strict,
                "treat warnings, such as unknown fields, as errors"),
    TABLE_LAST_ROWS(struct validate_values),
};

static const struct option_fact validate_facts[] = {
    {"EXIT STATUS", "0", "no mistakes found"},
    {"EXIT STATUS", "2", "mistakes found, or a file could not be read"},
    {0},
};

const struct option_command COMMAND_VALIDATE = {
    COMMAND_OF_FILES(validate),
    .brief = "check DeployItems and what they refer to for mistakes",
    .summary =
        "Lists the mistakes in DeployItems, Targets, Contexts, Configurations, Environments, "
        "DeployerRegistrations, Kymas, ModuleTemplates, ModuleReleaseMetas and Manifests that can "
        "be found without a cluster, each with file, line, column and path. FILE '-' is standard "
        "input",
    .facts = validate_facts,
};

/* ---- render ---- */

static const struct option_row render_rows[] = {
    option_texts("target", 0, struct render_values, objects, "FILE", TARGET_HELP),
    option_texts("context", 0, struct render_values, objects, "FILE", CONTEXT_HELP),
    option_texts("secret", 0, struct render_values, objects, "FILE",
                 "file with Secrets (registry credentials, target, state); may be repeated"),
    option_text("config", 0, struct render_values, config, "FILE", CONFIG_HELP),
    option_choice("operation", 0, struct render_values, operation, "OP", OPERATION_HELP, OPERATIONS,
                  OPERATION_RECONCILE),
    option_choice("output", 'o', struct render_values, output, "FORMAT",
                  "output format: YAML documents, or one JSON object per line", "yaml json",
                  "yaml"),
    TABLE_LAST_ROWS(struct render_values),
};

static const struct option_fact usual_exits[] = {
    TABLE_EXIT_DONE, TABLE_EXIT_FAILED, TABLE_EXIT_INVALID, {0}};

const struct option_command COMMAND_RENDER = {
    COMMAND_OF_FILES(render),
    .brief = "print the objects that the controller would create for a DeployItem",
    .summary =
        "Prints the objects that the controller would create for a DeployItem, including Secrets",
    .facts = usual_exits,
};

/* ---- diff ---- */

static const struct option_row diff_rows[] = {
    option_texts("target", 0, struct diff_values, objects, "FILE", TARGET_HELP),
    option_texts("secret", 0, struct diff_values, objects, "FILE",
                 "file with Secrets; may be repeated"),
    option_text("kubeconfig", 0, struct diff_values, kubeconfig, "FILE", KUBECONFIG_HELP),
    option_text("from-cluster", 0, struct diff_values, from_cluster, "NS/NAME",
                "read item, target and the list of applied objects from Landscaper's cluster; with "
                "a FILE, the item is taken from there instead"),
    option_text("state", 0, struct diff_values, state, "DIR",
                "directory in which 'longshore run' keeps the list of applied objects (default: a "
                "directory per item in ~/.local/state/longshore)"),
    option_choice("output", 'o', struct diff_values, output, "FORMAT", OUTPUT_HELP, "text json",
                  "text"),
    TABLE_LAST_ROWS(struct diff_values),
};

static const struct option_fact diff_facts[] = {
    {"EXIT STATUS", "0", "the cluster is as the item wants it"},
    {"EXIT STATUS", "1", "something would be created, changed or deleted"},
    TABLE_EXIT_INVALID,
    {"EXIT STATUS", "3",
     "the comparison failed: the cluster cannot be reached, or it refuses an object"},
    {"ENVIRONMENT", "KUBECONFIG", "kubeconfig for --from-cluster, unless --kubeconfig is given"},
    {"ENVIRONMENT", "XDG_STATE_HOME",
     "base directory for state, unless --state is given (default: ~/.local/state)"},
    {"ENVIRONMENT", "NO_COLOR", "if not empty: no colors on a terminal"},
    {"EXAMPLES", "longshore diff item.yaml --kubeconfig cluster.yaml",
     "compares an item with a cluster"},
    {"EXAMPLES", "longshore diff item.yaml --from-cluster team/item",
     "compares a changed item with what the one in Landscaper's cluster has deployed"},
    {"EXAMPLES", "longshore diff item.yaml -o json | jq .summary", "counts the differences"},
    {0},
};

const struct option_command COMMAND_DIFF = {
    .program = "longshore diff",
    .brief = "compare a manifest item with its cluster, without changing it",
    .synopsis = "[OPTIONS] [FILE...]",
    .summary =
        "Shows what a manifest item would create, change and delete in its cluster, as the "
        "API server evaluates it (a dry run), and changes nothing. Values of Secrets are not "
        "shown. FILE '-' is standard input",
    .operand = "FILE",
    .rows = diff_rows,
    .facts = diff_facts,
};

/* ---- status, logs ---- */

#define CLUSTER_ROWS(record)                                                                       \
    option_text("kubeconfig", 0, record, cluster.kubeconfig, "FILE",                               \
                "kubeconfig of Landscaper's cluster (default: found like kubectl's)"),             \
        option_text("host-kubeconfig", 0, record, cluster.host_kubeconfig, "FILE",                 \
                    "kubeconfig of the cluster in which the pods run (default: the same)"),        \
        option_text("host-namespace", 0, record, cluster.host_namespace, "NS",                     \
                    "namespace of the pods (default: all are searched)")

#define KUBECONFIG_FACT                                                                            \
    {                                                                                              \
        "ENVIRONMENT", "KUBECONFIG", "kubeconfig, unless --kubeconfig is given"                    \
    }

static const struct option_row status_rows[] = {
    option_text("namespace", 'n', struct status_values, namespace_name, "NS",
                "list the items of this namespace only"),
    option_flag("watch", 'w', struct status_values, is_watch,
                "print changes: of one item until its job is finished, else until interrupted"),
    option_text_with("lines", 0, struct status_values, lines, "N",
                     "lines of the log to show for one item", NULL, "20"),
    CLUSTER_ROWS(struct status_values),
    option_flag("hints", 0, struct status_values, is_hints,
                "print all known errors with cause and solution, without a cluster"),
    option_choice("output", 'o', struct status_values, output, "FORMAT", OUTPUT_HELP, "text json",
                  "text"),
    TABLE_LAST_ROWS(struct status_values),
};

static const struct option_fact status_facts[] = {
    TABLE_EXIT_DONE,
    {"EXIT STATUS", "1", "failed; with --watch of one item also if its job failed"},
    TABLE_EXIT_INVALID,
    KUBECONFIG_FACT,
    {"EXAMPLES", "longshore status", "lists all items with phase, age, duration and reason"},
    {"EXAMPLES", "longshore status team/item",
     "shows what an item is doing, what it waits for, its error and what to do about it"},
    {"EXAMPLES", "longshore status team/item --watch", "waits until the job is finished"},
    {0},
};

const struct option_command COMMAND_STATUS = {
    .program = "longshore status",
    .brief = "show what the DeployItems of a cluster are doing",
    .synopsis = "[OPTIONS] [NAMESPACE/NAME]",
    .summary = "Lists the DeployItems of a cluster, or shows one of them: its timeline, what it "
               "waits for, its last error with cause and solution, and the end of the log. Reads "
               "with the permissions of your kubeconfig and changes nothing",
    .operand = "ITEM",
    .rows = status_rows,
    .facts = status_facts,
};

static const struct option_row logs_rows[] = {
    option_flag("follow", 'f', struct logs_values, is_follow,
                "wait for the run to start, and print its log until it ends"),
    option_choice("container", 'c', struct logs_values, container, "NAME", "container of the pod",
                  CONTAINER_INIT " " CONTAINER_MAIN " " CONTAINER_WAIT, CONTAINER_MAIN),
    option_text("lines", 0, struct logs_values, lines, "N", "only the last N lines"),
    CLUSTER_ROWS(struct logs_values),
    TABLE_LAST_ROWS(struct logs_values),
};

static const struct option_fact logs_facts[] = {
    TABLE_EXIT_DONE,
    TABLE_EXIT_FAILED,
    TABLE_EXIT_INVALID,
    KUBECONFIG_FACT,
    {"EXAMPLES", "longshore logs team/item --follow", "prints the log of the present or next run"},
    {0},
};

const struct option_command COMMAND_LOGS = {
    .program = "longshore logs",
    .brief = "print the log of a DeployItem's run",
    .synopsis = "[OPTIONS] NAMESPACE/NAME",
    .summary = "Prints the log of the pod of a DeployItem. If the pod is gone, prints the lines "
               "that the status of the item has. Reads with the permissions of your kubeconfig",
    .operand = "ITEM",
    .rows = logs_rows,
    .facts = logs_facts,
};

/* ---- schema, version, completion, man, help ---- */

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

static const struct option_fact schema_facts[] = {
    {"EXAMPLES", "longshore schema", "lists the names"},
    {"EXAMPLES", "longshore schema deployitem > deployitem.json",
     "writes a schema that an editor can use to check DeployItems"},
    {0},
};

const struct option_command COMMAND_SCHEMA = {
    .program = "longshore schema",
    .brief = "print the JSON Schema of a document, for editors",
    .synopsis = "[NAME]",
    .summary = "Prints the JSON Schema of a document, or the names of all schemas",
    .operand = "NAME",
    .operand_choices = "configuration context deployerregistration deployitem environment kyma "
                       "manifest modulereleasemeta moduletemplate target "
                       "provider-container provider-script provider-helm "
                       "provider-kubernetes-manifest",
    .rows = plain_rows,
    .facts = schema_facts,
};

static const struct option_fact completion_facts[] = {
    {"EXAMPLES", "source <(longshore completion bash)",
     "enables completion in the current bash; works the same in zsh"},
    {"EXAMPLES", "longshore completion fish > ~/.config/fish/completions/longshore.fish",
     "enables completion in every new fish"},
    {0},
};

const struct option_command COMMAND_COMPLETION = {
    .program = "longshore completion",
    .brief = "print a completion script for bash, zsh or fish",
    .synopsis = "bash|zsh|fish [PROGRAM]",
    .summary =
        "Prints a completion script for longshore, or for PROGRAM, which is longshore-init or "
        "longshore-wait",
    .operand = "SHELL",
    .operand_choices = "bash zsh fish",
    .rows = plain_rows,
    .facts = completion_facts,
};

static const struct option_fact man_facts[] = {
    {"EXAMPLES", "longshore man run | man -l -", "shows the man page of longshore run"},
    {0},
};

const struct option_command COMMAND_MAN = {
    .program = "longshore man",
    .brief = "print the man page of a command",
    .synopsis = "[COMMAND]",
    .summary = "Prints the man page of longshore, of one of its commands, or of longshore-init or "
               "longshore-wait if COMMAND is init or wait",
    .operand = "COMMAND",
    .operand_choices =
        "run validate render diff status logs controller registrations lifecycle agent schema "
        "version completion man help init wait",
    .rows = plain_rows,
    .facts = man_facts,
};

const struct option_command COMMAND_HELP = {
    .program = "longshore help",
    .brief = "print this list or the help of a command",
    .synopsis = "[COMMAND]",
    .summary = "Prints the list of commands, or the help of COMMAND",
    .operand = "COMMAND",
    .operand_choices = "run validate render diff status logs controller registrations lifecycle "
                       "agent schema version completion man",
    .rows = plain_rows,
};

/* ---- longshore ---- */

static const struct option_row longshore_rows[] = {
    TABLE_PROGRAM_ROWS(struct longshore_values),
};

static const struct option_command *const longshore_commands[] = {
    &COMMAND_RUN,        &COMMAND_VALIDATE, &COMMAND_RENDER,     &COMMAND_DIFF,
    &COMMAND_STATUS,     &COMMAND_LOGS,     &COMMAND_CONTROLLER, &COMMAND_REGISTRATIONS,
    &COMMAND_LIFECYCLE,  &COMMAND_AGENT,    &COMMAND_SCHEMA,     &COMMAND_VERSION,
    &COMMAND_COMPLETION, &COMMAND_MAN,      &COMMAND_HELP,       NULL,
};

const struct option_command COMMAND_LONGSHORE = {
    .program = "longshore",
    .brief = "container deployer for Landscaper, in a cluster or on one machine",
    .synopsis = "COMMAND [OPTIONS]",
    .summary = "Container deployer for Landscaper, in a cluster or on one machine",
    .rows = longshore_rows,
    .facts = usual_exits,
    .commands = longshore_commands,
};
