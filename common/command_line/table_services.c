/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that run for long: controller, registrations, lifecycle and agent. */
#include "common/command_line/table.h"
#include "common/contract.h"

/* ---- controller ---- */

static const struct option_row controller_rows[] = {
    option_text("config", 0, struct controller_values, config, "FILE",
                "configuration file, YAML or JSON"),
    option_text("kubeconfig", 0, struct controller_values, kubeconfig, "FILE",
                "kubeconfig of the host cluster (default: $KUBECONFIG, the pod's service account, "
                "~/.kube/config)"),
    option_text("landscaper-kubeconfig", 0, struct controller_values, landscaper_kubeconfig, "FILE",
                "kubeconfig of Landscaper's cluster (default: the host cluster)"),
    option_text("metrics-address", 0, struct controller_values, metrics_address, "HOST:PORT",
                "address for /metrics, or 'off'"),
    option_text("health-address", 0, struct controller_values, health_address, "HOST:PORT",
                "address for /healthz and /readyz, or 'off'"),
    option_flag("check", 0, struct controller_values, is_check,
                "print which permissions and CustomResourceDefinitions are missing, and exit"),
    TABLE_LOG_ROWS(struct controller_values),
    TABLE_PROGRAM_ROWS(struct controller_values),
};

static const struct option_fact controller_facts[] = {
    TABLE_EXIT_DONE,
    TABLE_EXIT_FAILED,
    TABLE_EXIT_INVALID,
    {"ENVIRONMENT", ENV_MY_POD_NAME ", " ENV_MY_POD_NAMESPACE,
     "identity of this process in locks and leases"},
    {"ENVIRONMENT", "KUBECONFIG", "kubeconfig of the host cluster, unless --kubeconfig is given"},
    {"ENVIRONMENT", "HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "proxy for the API servers"},
    {"SIGNALS", "SIGTERM, SIGINT", "releases the lease and exits; runs continue in their pods"},
    {"SIGNALS", "SIGUSR1, SIGUSR2", "raise and lower the log level"},
    {0},
};

const struct option_command COMMAND_CONTROLLER = {
    .program = "longshore controller",
    .brief = "run the DeployItems of a Landscaper as pods",
    .synopsis = "[OPTIONS]",
    .summary =
        "Runs the DeployItems of a Landscaper as pods and reports their results as status and "
        "exports. SIGUSR1 and SIGUSR2 raise and lower the log level",
    .rows = controller_rows,
    .facts = controller_facts,
};

/* ---- registrations ---- */

static const struct option_row registrations_rows[] = {
    option_text("config", 0, struct registrations_values, config, "FILE",
                "a LandscaperConfiguration with deployerManagement, or its fields; the following "
                "options replace fields"),
    option_text("namespace", 'n', struct registrations_values, namespace_name, "NAME",
                "namespace of the Installations of deployers (default " DEPLOYERS_NAMESPACE ")"),
    option_text("cluster-role", 0, struct registrations_values, role, "NAME",
                "ClusterRole that deployers get in Landscaper's cluster (default " DEPLOYERS_ROLE
                ")"),
    option_text("external-types", 0, struct registrations_values, external_types, "TYPES",
                "types of items, separated by commas, that other deployers serve in every "
                "environment"),
    option_text("token-seconds", 0, struct registrations_values, token_seconds, "SECONDS",
                "lifetime of the tokens of deployers, which are renewed at half of it (default "
                "7776000)"),
    option_text_with("acceptance", 0, struct registrations_values, acceptance, "MODE",
                     "whether deployers are installed in every environment, or only in accepted "
                     "ones (default auto)",
                     "auto manual", NULL),
    option_text("kubeconfig", 0, struct registrations_values, kubeconfig, "FILE",
                "kubeconfig of Landscaper's cluster (default: $KUBECONFIG, the pod's service "
                "account, ~/.kube/config)"),
    option_text_with("metrics-address", 0, struct registrations_values, metrics_address,
                     "HOST:PORT", "address for /metrics, or 'off'", NULL, ":8080"),
    option_text_with("health-address", 0, struct registrations_values, health_address, "HOST:PORT",
                     "address for /healthz and /readyz, or 'off'", NULL, ":8081"),
    option_text_with("ui", 0, struct registrations_values, page, "MODE",
                     "status page at /ui/ on the address of /metrics: for everyone who reaches it, "
                     "or with a bearer token",
                     "off on token", "off"),
    option_flag("check", 0, struct registrations_values, is_check,
                "print which permissions and CustomResourceDefinitions are missing, and exit"),
    TABLE_LOG_ROWS(struct registrations_values),
    TABLE_LAST_ROWS(struct registrations_values),
};

static const struct option_fact registrations_facts[] = {
    TABLE_EXIT_DONE,
    TABLE_EXIT_FAILED,
    TABLE_EXIT_INVALID,
    {"ENVIRONMENT", ENV_MY_POD_NAME, "identity of this process in the Lease"},
    {"ENVIRONMENT", "KUBECONFIG",
     "kubeconfig of Landscaper's cluster, unless --kubeconfig is given"},
    {"SIGNALS", "SIGTERM, SIGINT", "releases the lease and exits"},
    {"SIGNALS", "SIGUSR1, SIGUSR2", "raise and lower the log level"},
    {0},
};

const struct option_command COMMAND_REGISTRATIONS = {
    .program = "longshore registrations",
    .brief = "install registered deployers in all environments",
    .synopsis = "[OPTIONS]",
    .summary = "Creates, updates and deletes an Installation for each pair of Environment and "
               "DeployerRegistration, with everything that it needs. Runs in Landscaper's cluster",
    .rows = registrations_rows,
    .facts = registrations_facts,
};

/* ---- lifecycle ---- */

static const struct option_row lifecycle_rows[] = {
    option_text_with("namespace", 'n', struct lifecycle_values, namespace_name, "NAME",
                     "namespace of Kymas, Manifests, the catalog and the access Secrets", NULL,
                     "kcp-system"),
    option_flag("own-cluster", 0, struct lifecycle_values, is_own_cluster,
                "a Kyma without an access Secret is about the control plane itself"),
    option_flag("share-clusters", 0, struct lifecycle_values, is_shared,
                "all replicas work, each on a share of the clusters; the default is that one works "
                "and the others stand by"),
    option_text("oci-registry-host", 0, struct lifecycle_values, registry, "HOST",
                "registry with the components of modules, [http://]host[:port]"),
    option_text("modules-repository-subpath", 0, struct lifecycle_values, sub_path, "PATH",
                "path of the components in the registry"),
    option_text("registry-config", 0, struct lifecycle_values, registry_config, "FILE",
                "Docker configuration with the credentials of the registry"),
    option_text_with("module-state", 0, struct lifecycle_values, module_state, "SOURCE",
                     "what decides the state of a module: its workload, its custom resource, or "
                     "the worse of both",
                     "both manager resource", "both"),
    option_text("maintenance-policy", 0, struct lifecycle_values, policy, "FILE",
                "JSON file with the maintenance windows"),
    option_text_with("min-maintenance-window-size", 0, struct lifecycle_values, window_size,
                     "DURATION", "least rest of a maintenance window in which an update begins",
                     NULL, "20m"),
    option_text("kubeconfig", 0, struct lifecycle_values, kubeconfig, "FILE",
                "kubeconfig of the control plane (default: $KUBECONFIG, the pod's service account, "
                "~/.kube/config)"),
    option_text_with("metrics-address", 0, struct lifecycle_values, metrics_address, "HOST:PORT",
                     "address for /metrics, or 'off'", NULL, ":8080"),
    option_text_with("health-address", 0, struct lifecycle_values, health_address, "HOST:PORT",
                     "address for /healthz and /readyz, or 'off'", NULL, ":8081"),
    option_text_with("ui", 0, struct lifecycle_values, page, "MODE",
                     "status page at /ui/ on the address of /metrics: for everyone who reaches it, "
                     "or with a bearer token",
                     "off on token", "off"),
    option_text_with("output", 'o', struct lifecycle_values, output, "FORMAT",
                     "output format of plan", "text json", "text"),
    option_flag("check", 0, struct lifecycle_values, is_check,
                "print which permissions and CustomResourceDefinitions are missing, and exit"),
    TABLE_LOG_ROWS(struct lifecycle_values),
    TABLE_LAST_ROWS(struct lifecycle_values),
};

static const struct option_fact lifecycle_facts[] = {
    TABLE_EXIT_DONE,
    TABLE_EXIT_FAILED,
    TABLE_EXIT_INVALID,
    {"ENVIRONMENT", ENV_MY_POD_NAME, "identity of this process in the Lease"},
    {"ENVIRONMENT", "KUBECONFIG", "kubeconfig of the control plane, unless --kubeconfig is given"},
    {"SIGNALS", "SIGTERM, SIGINT", "releases the lease and exits"},
    {"SIGNALS", "SIGUSR1, SIGUSR2", "raise and lower the log level"},
    {"EXAMPLES", "longshore lifecycle plan cluster-1 --oci-registry-host=registry.example.com",
     "compares the modules of a cluster with the catalog; exit status 1: something would change"},
    {0},
};

const struct option_command COMMAND_LIFECYCLE = {
    .program = "longshore lifecycle",
    .brief = "keep modules installed on many clusters",
    .synopsis = "[plan KYMA] [OPTIONS]",
    .summary =
        "Installs the modules that each Kyma lists on its cluster, keeps them as they should "
        "be, and reports one state per cluster. Runs in the control plane. With 'plan', prints "
        "what would change in the cluster of a Kyma, and changes nothing",
    .operand = "COMMAND",
    .operand_choices = "plan",
    .rows = lifecycle_rows,
    .facts = lifecycle_facts,
};

/* ---- agent ---- */

static const struct option_row agent_rows[] = {
    option_text("config", 0, struct agent_values, config, "FILE",
                "configuration file (AgentConfiguration), YAML or JSON; required"),
    option_text("landscaper-kubeconfig", 0, struct agent_values, landscaper_kubeconfig, "FILE",
                "kubeconfig of Landscaper's cluster; required"),
    option_text("kubeconfig", 0, struct agent_values, kubeconfig, "FILE",
                "kubeconfig of the cluster of the agent (default: $KUBECONFIG, the pod's service "
                "account, ~/.kube/config)"),
    option_flag("leave", 0, struct agent_values, is_leave,
                "remove the environment with everything that belongs to it, and exit"),
    option_text_with("timeout", 0, struct agent_values, timeout, "TIME",
                     "how long --leave waits until all deployers are uninstalled", NULL, "10m"),
    option_flag("register", 0, struct agent_values, is_register,
                "register again although this agent has left before"),
    option_text("credential-directory", 0, struct agent_values, directory, "DIR",
                "write a kubeconfig with the agent's token for Landscaper's cluster to this "
                "directory, for the deployer beside the agent"),
    option_flag("prepare", 0, struct agent_values, is_prepare,
                "write the files of --credential-directory once, and exit"),
    option_flag("check", 0, struct agent_values, is_check,
                "print which permissions and CustomResourceDefinitions are missing, and exit"),
    option_text_with("metrics-address", 0, struct agent_values, metrics_address, "HOST:PORT",
                     "address for /metrics, or 'off'", NULL, ":8080"),
    option_text_with("health-address", 0, struct agent_values, health_address, "HOST:PORT",
                     "address for /healthz and /readyz, or 'off'", NULL, ":8081"),
    TABLE_LOG_ROWS(struct agent_values),
    TABLE_PROGRAM_ROWS(struct agent_values),
};

static const struct option_fact agent_facts[] = {
    TABLE_EXIT_DONE,
    TABLE_EXIT_FAILED,
    TABLE_EXIT_INVALID,
    {"ENVIRONMENT", ENV_MY_POD_NAME, "identity of this process in the Lease"},
    {"ENVIRONMENT", "KUBECONFIG",
     "kubeconfig of the cluster of the agent, unless --kubeconfig is given"},
    {"SIGNALS", "SIGTERM, SIGINT", "releases the lease and exits; the environment remains"},
    {"SIGNALS", "SIGUSR1, SIGUSR2", "raise and lower the log level"},
    {0},
};

const struct option_command COMMAND_AGENT = {
    .program = "longshore agent",
    .brief = "register a cluster as an environment of a Landscaper",
    .synopsis = "--config FILE --landscaper-kubeconfig FILE [OPTIONS]",
    .summary = "Registers the cluster in which it runs as an Environment, renews the credentials, "
               "and removes all of it when the Environment is deleted. It only opens outgoing "
               "connections. Also answers to the program name landscaper-agent",
    .rows = agent_rows,
    .facts = agent_facts,
};
