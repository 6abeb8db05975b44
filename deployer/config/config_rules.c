/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of the Configuration document. Defaults are compared with those of config.c by
 * tests/config_test.c. */
#include "common/contract.h"
#include "deployer/config/config.h"
#include "deployer/validation/shared_rules.h"

enum {
    COLLECTION_SECONDS_MAX = 86400 * 365,
    LEASE_MIN_MS = 2 * 1000,
    STATE_GENERATIONS_MAX = 10,
    LOG_TAIL_LINES_MAX = 200,
    PORT_MAX = 65535,
    GRACE_LIMIT_SECONDS = 24 * 3600,
    NAMESPACES_MAX = 100,
};

/* The chart writes "" for values that are not set. */
#define ROW_OPTIONAL_NAME ROW_OBJECT_NAME, .is_empty_allowed = true
#define ROW_PULL_POLICY .types = RULE_TEXT, .choices = PULL_POLICIES, .is_empty_allowed = true
#define ROW_INTEGER(min_, max_) .types = RULE_INTEGER, .min = (min_), .max = (max_)

static const struct field_rule oci_fields[] = {
    {.name = "configFiles",
     ROW_TEXT_LIST,
     .fallback = "[]",
     .help = "Docker configuration files with registry credentials for every item"},
    {.name = "cache",
     .is_unused = true,
     .help = "cache of the Go deployer",
     .reason = "nothing is cached between runs"},
    {.name = "allowPlainHttp",
     .types = RULE_BOOL,
     .fallback = "false",
     .help = "init may use HTTP for registries"},
    {.name = "insecureSkipVerify",
     .types = RULE_BOOL,
     .fallback = "false",
     .help = "init does not verify certificates of registries"},
    {.name = "caBundle",
     .types = RULE_TEXT,
     .is_empty_allowed = true,
     .help = "certificates in PEM that init trusts in addition to those of its image"},
    RULES_END,
};

#define ROW_COMMAND                                                                                \
    {                                                                                              \
        .name = "command", ROW_TEXT_LIST, .help = "replaces the entrypoint of the image"           \
    }
#define ROW_ARGS                                                                                   \
    {                                                                                              \
        .name = "args", ROW_TEXT_LIST, .help = "replaces the arguments of the image"               \
    }
#define ROW_POLICY                                                                                 \
    {                                                                                              \
        .name = "imagePullPolicy", ROW_PULL_POLICY,                                                \
        .help = "when the image is pulled; default: as Kubernetes decides"                         \
    }

#define ROWS_CONTAINER                                                                             \
    {.name = "image", ROW_IMAGE, .help = "image reference"}, ROW_COMMAND, ROW_ARGS, ROW_POLICY,    \
        {.name = "name",                                                                           \
         .types = RULE_TEXT,                                                                       \
         .is_unused = true,                                                                        \
         .help = "name of the container",                                                          \
         .reason = "the containers' names are fixed"},                                             \
        {.name = "resources", ROW_RESOURCES, .help = "requests and limits of the container"},      \
    {                                                                                              \
        .name = "goImage", .types = RULE_BOOL,                                                     \
        .help = "the image is the Go deployer's and gets the permissions that it needs"            \
    }

static const struct field_rule container_fields[] = {ROWS_CONTAINER, RULES_END};
static const struct field_rule helper_fields[] = {
    ROWS_CONTAINER,
    {.name = "env",
     .types = RULE_LIST,
     .elements = &ELEMENT_ENV,
     .max = VALIDATE_ENV_MAX,
     .help = "additional environment variables, for example HTTPS_PROXY and NO_PROXY"},
    RULES_END,
};
static const struct field_rule element_namespace = {ROW_OBJECT_NAME};

static const struct field_rule script_fields[] = {
    {.name = "enabled",
     .types = RULE_BOOL,
     .fallback = "true",
     .help = "false: script items are ignored"},
    {.name = "image",
     ROW_IMAGE,
     .fallback = "\"alpine:3\"",
     .help = "image of script items that name none"},
    {.name = "command",
     ROW_TEXT_LIST,
     .help = "interpreter of scripts that name none; default: /bin/sh"},
    {.name = "args",
     .is_forbidden = true,
     .help = "not supported",
     .reason = "arguments belong to the item; put options of the interpreter into script.command"},
    ROW_POLICY,
    {.name = "resources", ROW_RESOURCES, .help = "requests and limits; default: pod.resources"},
    RULES_END,
};

static const struct field_rule helm_fields[] = {
    {.name = "enabled",
     .types = RULE_BOOL,
     .help = "helm items are served; default: only with a document of the helm deployer"},
    {.name = "image",
     ROW_IMAGE,
     .help = "image with helm, which is its entrypoint; default: longshore-helm of this version"},
    {.name = "command", ROW_TEXT_LIST, .help = "helm in the image; default: its entrypoint"},
    {.name = "version",
     .types = RULE_INTEGER,
     .min = 3,
     .max = 4,
     .fallback = "3",
     .help = "major version of helm in the image, which decides on its options"},
    ROW_POLICY,
    {.name = "resources", ROW_RESOURCES, .help = "requests and limits; default: pod.resources"},
    RULES_END,
};

static const struct field_rule collection_fields[] = {
    {.name = "disable",
     .types = RULE_BOOL,
     .fallback = "false",
     .help = "do not remove objects of items that no longer exist"},
    {.name = "worker",
     .is_unused = true,
     .help = "workers of the Go deployer",
     .reason = "one collector serves all objects"},
    {.name = "requeueTimeSeconds",
     ROW_INTEGER(1, COLLECTION_SECONDS_MAX),
     .fallback = "3600",
     .help = "time between two collections"},
    RULES_END,
};

static const struct field_rule debug_fields[] = {
    {.name = "keepPod",
     .types = RULE_BOOL,
     .fallback = "false",
     .help = "keep the pod of a finished run until the next run of the item"},
    RULES_END,
};

static const struct field_rule hpa_fields[] = {
    {.name = "maxReplicas",
     ROW_INTEGER(0, INT32_MAX),
     .fallback = "1",
     .help = "above 1, items are locked with SyncObjects"},
    {.name = "averageCpuUtilization", .help = "evaluated by the chart only"},
    {.name = "averageMemoryUtilization", .help = "evaluated by the chart only"},
    RULES_END,
};

static const struct field_rule controller_fields[] = {
    {.name = "workers",
     ROW_INTEGER(1, INT32_MAX),
     .is_unused = true,
     .help = "workers of the Go deployer",
     .reason = "one thread serves all items"},
    {.name = "cacheSyncTimeout",
     .types = RULE_TEXT,
     .format = &FORMAT_DURATION,
     .min = 1,
     .is_unused = true,
     .help = "timeout of the Go deployer",
     .reason = "lists are always read to the end"},
    RULES_END,
};

static const struct field_rule state_fields[] = {
    {.name = "generations",
     ROW_INTEGER(1, STATE_GENERATIONS_MAX),
     .fallback = "2",
     .help = "how many complete generations of an item's state are kept"},
    RULES_END,
};

static const struct field_rule tail_fields[] = {
    {.name = "lines",
     ROW_INTEGER(0, LOG_TAIL_LINES_MAX),
     .fallback = "20",
     .help = "lines of main's log in the error of a failed run; 0: none"},
    RULES_END,
};

static const struct field_rule election_fields[] = {
    {.name = "enabled",
     .types = RULE_BOOL,
     .fallback = "true",
     .help = "one of several replicas works, the others stand by"},
    {.name = "leaseName",
     ROW_OPTIONAL_NAME,
     .fallback = "\"container-deployer-longshore\"",
     .help = "name of the Lease"},
    {.name = "leaseNamespace",
     ROW_OPTIONAL_NAME,
     .help = "namespace of the Lease; default: that of the controller's pod"},
    {.name = "leaseDuration",
     .types = RULE_TEXT,
     .format = &FORMAT_DURATION,
     .min = LEASE_MIN_MS,
     .fallback = "\"15s\"",
     .help = "time after which a standby takes over; whole seconds, 2s to 1h"},
    RULES_END,
};

static const struct field_rule serve_fields[] = {
    {.name = "address",
     .types = RULE_TEXT,
     .is_empty_allowed = true,
     .help = "address that both ports are bound to; default: all"},
    {.name = "metricsPort",
     ROW_INTEGER(0, PORT_MAX),
     .fallback = "8080",
     .help = "port of /metrics; 0: off"},
    {.name = "healthPort",
     ROW_INTEGER(0, PORT_MAX),
     .fallback = "8081",
     .help = "port of /healthz and /readyz; 0: off"},
    RULES_END,
};

static const struct field_rule ui_fields[] = {
    {.name = "enabled",
     .types = RULE_BOOL,
     .fallback = "false",
     .help = "serve the status page at /ui/ on the port of /metrics"},
    {.name = "authentication",
     .types = RULE_BOOL,
     .fallback = "false",
     .help = "the page needs a bearer token of a user who may list DeployItems"},
    RULES_END,
};

static const struct field_rule pod_fields[] = {
    {.name = "sharedVolumeSizeLimit",
     .types = RULE_TEXT,
     .format = &FORMAT_QUANTITY,
     .is_empty_allowed = true,
     .fallback = "\"10Gi\"",
     .help = "maximum size of the volume that init, main and wait share"},
    {.name = "nodeSelector", ROW_NODE_SELECTOR, .help = "labels of the nodes for every pod"},
    {.name = "tolerations", ROW_TOLERATIONS, .help = "tolerations of every pod"},
    {.name = "runtimeClassName", ROW_OPTIONAL_NAME, .help = "RuntimeClass of every pod"},
    {.name = "priorityClassName", ROW_OPTIONAL_NAME, .help = "PriorityClass of every pod"},
    {.name = "resources",
     ROW_RESOURCES,
     .fallback = "{\"requests\": {\"cpu\": \"50m\", \"memory\": \"64Mi\"}}",
     .help = "requests and limits of main, unless the item has its own"},
    {.name = "terminationGracePeriodSeconds",
     ROW_INTEGER(1, GRACE_LIMIT_SECONDS),
     .fallback = "30",
     .help = "how long main may run after SIGTERM, unless the item says otherwise"},
    {.name = "maxTerminationGracePeriodSeconds",
     ROW_INTEGER(1, GRACE_LIMIT_SECONDS),
     .fallback = "300",
     .help = "maximum of the same field of an item"},
    RULES_END,
};

static const struct field_rule late_fields[] = {
    {.name = "trigger",
     .types = RULE_BOOL,
     .fallback = "false",
     .help =
         "items may trigger jobs of their root Installation; needs permission to get executions "
         "and to get and patch installations"},
    {.name = "minimumInterval",
     .types = RULE_TEXT,
     .format = &FORMAT_DURATION,
     .min = 1000,
     .fallback = "\"10m\"",
     .help = "shortest time between two such jobs of an item, whatever the item says"},
    RULES_END,
};

static const struct field_rule manifest_fields[] = {
    {.name = "enabled",
     .types = RULE_BOOL,
     .help = "manifest items are served; default: only with a document of the manifest deployer"},
    {.name = "hostTarget",
     .types = RULE_TEXT,
     .is_empty_allowed = true,
     .help = "NAMESPACE/NAME of the Target that may use an account of the host cluster "
             "(" TARGET_HOST_CONFIG "); for the deployer beside an agent"},
    {.name = "lateChanges",
     .types = RULE_OBJECT,
     .fields = late_fields,
     .help = "changes after the end of a job, for items with watch"},
    RULES_END,
};

static const struct field_rule export_fields[] = {
    {.name = "defaultTimeout",
     .is_unused = true,
     .help = "timeout of the Go deployer",
     .reason = "the timeout of the item applies"},
    RULES_END,
};

static const char *const api_versions[] = {DEPLOYER_API_VERSION, MANIFEST_API_VERSION,
                                           MANIFEST_API_VERSION_OLD, HELM_API_VERSION, NULL};
static const char *const kinds[] = {KIND_CONFIGURATION, NULL};
static const char *const delete_operations[] = {"run", "skip", NULL};

const struct field_rule CONFIG_FIELDS[] = {
    {.name = "apiVersion",
     .types = RULE_TEXT,
     .choices = api_versions,
     .help = "version of the document"},
    {.name = "kind", .types = RULE_TEXT, .choices = kinds, .help = "kind of the document"},
    {.name = "identity",
     .types = RULE_TEXT,
     .is_empty_allowed = true,
     .fallback = "\"\"",
     .help = "name of this deployer, if several work for one Landscaper"},
    {.name = "namespace",
     ROW_OPTIONAL_NAME,
     .fallback = "\"default\"",
     .help = "namespace of all pods and Secrets on the host cluster"},
    {.name = "namespaces",
     .types = RULE_LIST,
     .elements = &element_namespace,
     .max = NAMESPACES_MAX,
     .fallback = "[]",
     .help = "namespaces whose DeployItems are served; empty: all. Each has a watch of its own"},
    {.name = "oci", .types = RULE_OBJECT, .fields = oci_fields, .help = "access to registries"},
    {.name = "targetSelector",
     .types = RULE_LIST,
     .elements = &SELECTOR_ELEMENT,
     .is_single_allowed = true,
     .is_checked_by_code = true,
     .fallback = "[]",
     .help = "items of which targets belong to this deployer; one element has to match"},
    {.name = "defaultImage",
     .types = RULE_OBJECT,
     .fields = container_fields,
     .help = "image of container items that name none"},
    {.name = "initContainer",
     .types = RULE_OBJECT,
     .fields = helper_fields,
     .help = "the container that writes the inputs"},
    {.name = "waitContainer",
     .types = RULE_OBJECT,
     .fields = helper_fields,
     .help = "the container that saves state and exports"},
    {.name = "garbageCollection",
     .types = RULE_OBJECT,
     .fields = collection_fields,
     .help = "removal of objects of items that no longer exist"},
    {.name = "debug", .types = RULE_OBJECT, .fields = debug_fields, .help = "debugging"},
    {.name = "hpa", .types = RULE_OBJECT, .fields = hpa_fields, .help = "replicas"},
    {.name = "controller",
     .types = RULE_OBJECT,
     .fields = controller_fields,
     .help = "settings of the Go deployer"},
    {.name = "deleteOperation",
     .types = RULE_TEXT,
     .choices = delete_operations,
     .fallback = "\"run\"",
     .help = "whether main runs with OPERATION=DELETE when an item is deleted"},
    {.name = "imageGracePeriod",
     .types = RULE_TEXT,
     .format = &FORMAT_DURATION,
     .fallback = "\"5m\"",
     .help = "how long pulling an image may fail before the job does"},
    {.name = "state", .types = RULE_OBJECT, .fields = state_fields, .help = "state of items"},
    {.name = "logTail", .types = RULE_OBJECT, .fields = tail_fields, .help = "logs in errors"},
    {.name = "leaderElection",
     .types = RULE_OBJECT,
     .fields = election_fields,
     .help = "choice of the replica that works"},
    {.name = "serve", .types = RULE_OBJECT, .fields = serve_fields, .help = "probes and metrics"},
    {.name = "ui", .types = RULE_OBJECT, .fields = ui_fields, .help = "status page in the browser"},
    {.name = "pod",
     .types = RULE_OBJECT,
     .fields = pod_fields,
     .help = "settings of every pod; items can add to them, but not change them"},
    {.name = "script", .types = RULE_OBJECT, .fields = script_fields, .help = "script items"},
    {.name = "manifest", .types = RULE_OBJECT, .fields = manifest_fields, .help = "manifest items"},
    {.name = "helm", .types = RULE_OBJECT, .fields = helm_fields, .help = "helm items"},
    {.name = "export",
     .types = RULE_OBJECT,
     .fields = export_fields,
     .help = "settings of the Go manifest deployer"},
    RULES_END,
};
