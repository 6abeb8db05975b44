/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/config/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/duration.h"
#include "common/data/names.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/validate.h"

enum {
    COLLECTION_SECONDS = 3600,
    IMAGE_GRACE_MS = 5 * 60 * 1000,
    LEASE_MS = 15 * 1000,
    LEASE_MIN_MS = 2 * 1000,
    LEASE_MAX_MS = 3600 * 1000,
    STATE_GENERATIONS = 2,
    STATE_GENERATIONS_MAX = 10,
    LOG_TAIL_LINES = 20,
    LOG_TAIL_LINES_MAX = 200,
    METRICS_PORT = 8080,
    HEALTH_PORT = 8081,
    PORT_MAX = 65535,
    GRACE_MAX_SECONDS = 300,
    GRACE_LIMIT_SECONDS = 24 * 3600,
};

#define IMAGE_DEFAULT "ubuntu:18.04" /* the default of the Go deployer */
#define IMAGE_SCRIPT "alpine:3"
#define IMAGE_INIT "longshore-init:" LONGSHORE_VERSION
#define IMAGE_WAIT "longshore-wait:" LONGSHORE_VERSION
#define SHARED_VOLUME_SIZE "10Gi"
#define LEASE_NAME "container-deployer-longshore"
#define LEASE_NAME_MANIFEST "manifest-deployer-longshore"

static void container_done(struct config_container *container)
{
    free(container->image);
    json_decref(container->command);
    json_decref(container->args);
    free(container->image_pull_policy);
    json_decref(container->resources);
}

void config_free(struct deployer_config *config)
{
    if (!config)
        return;
    free(config->identity);
    free(config->namespace_name);
    for (size_t i = 0; config->oci_config_files && config->oci_config_files[i]; i++)
        free(config->oci_config_files[i]);
    free(config->oci_config_files);
    selector_free(config->target_selector);
    json_decref(config->target_selector_document);
    container_done(&config->init);
    container_done(&config->wait);
    container_done(&config->default_image);
    container_done(&config->script);
    free(config->lease_name);
    free(config->lease_namespace);
    free(config->serve_address);
    free(config->shared_volume_size);
    json_decref(config->node_selector);
    json_decref(config->tolerations);
    free(config->runtime_class);
    free(config->priority_class);
    json_decref(config->main_resources);
    free(config);
}

/* The fields of a sub-object, whose unknown fields are reported. path is borrowed. */
static struct fields section(const struct fields *parent, const char *key, const char *path,
                             const char *const *known)
{
    struct fields fields = {field_object(parent, key), path, parent->mistakes};

    if (fields.object)
        mistakes_add_unknown(parent->mistakes, path, fields.object, known);
    return fields;
}

/* Warns about a field of the Go deployer that has no effect here. */
static void warn_unused(const struct fields *fields, const char *key, const char *why)
{
    cleanup_free char *path = field_path(fields, key);

    if (field_any(fields, key))
        mistakes_add(fields->mistakes, MISTAKE_UNKNOWN, path, "has no effect: %s", why);
}

/* A copy of a DNS name; fallback if the field is absent or "". */
static char *read_object_name(const struct fields *fields, const char *key, const char *fallback)
{
    cleanup_free char *path = field_path(fields, key);
    const json_t *value = field_any(fields, key);

    /* The chart writes "" for values that are not set. */
    if (json_is_string(value) && json_string_length(value) > 0)
        validate_object_name(value, path, fields->mistakes);
    return field_text_copy(fields, key, fallback);
}

static json_t *read_checked(const struct fields *fields, const char *key,
                            void (*check)(const json_t *value, const char *path,
                                          struct mistakes *mistakes))
{
    cleanup_free char *path = field_path(fields, key);
    const json_t *value = field_any(fields, key);

    if (!value)
        return NULL;
    check(value, path, fields->mistakes);
    return json_deep_copy(value);
}

static json_t *default_resources(const char *cpu_request, const char *memory_request,
                                 const char *cpu_limit, const char *memory_limit)
{
    json_t *resources =
        json_pack("{s:{s:s,s:s}}", "requests", "cpu", cpu_request, "memory", memory_request);

    if (cpu_limit)
        (void)json_object_set_new(resources, "limits",
                                  json_pack("{s:s,s:s}", "cpu", cpu_limit, "memory", memory_limit));
    return resources;
}

/* The fields that initContainer, waitContainer, defaultImage and script have in common. */
static void read_image(const struct fields *fields, const char *image,
                       struct config_container *ret_container)
{
    cleanup_free char *image_path = field_path(fields, "image");
    cleanup_free char *policy_path = field_path(fields, "imagePullPolicy");
    const json_t *policy = field_any(fields, "imagePullPolicy");

    ret_container->image = field_text_copy(fields, "image", image);
    validate_image(ret_container->image, image_path, fields->mistakes);
    ret_container->command = field_text_list(fields, "command");
    if (!json_is_string(policy) || json_string_length(policy) > 0)
        validate_pull_policy(policy, policy_path, fields->mistakes);
    ret_container->image_pull_policy = field_text_copy(fields, "imagePullPolicy", NULL);
    ret_container->resources = read_checked(fields, "resources", validate_resources);
}

static void read_container(const struct fields *root, const char *key, const char *image,
                           struct config_container *ret_container)
{
    static const char *const known[] = {"image", "command",   "args",    "imagePullPolicy",
                                        "name",  "resources", "goImage", NULL};
    const struct fields fields = section(root, key, key, known);

    read_image(&fields, image, ret_container);
    ret_container->args = field_text_list(&fields, "args");
    ret_container->is_go_image = field_bool(&fields, "goImage", false);
    warn_unused(&fields, "name", "the containers' names are fixed");
}

static void read_script(const struct fields *root, struct deployer_config *config)
{
    static const char *const known[] = {"enabled",         "image",     "command", "args",
                                        "imagePullPolicy", "resources", NULL};
    const struct fields fields = section(root, "script", "script", known);

    read_image(&fields, IMAGE_SCRIPT, &config->script);
    config->is_script_enabled = field_bool(&fields, "enabled", true);
    if (field_any(&fields, "args"))
        mistakes_add(root->mistakes, MISTAKE_FORBIDDEN, "script.args",
                     "arguments belong to the item; put options of the interpreter into "
                     "script.command");
}

static void read_oci(const struct fields *root, struct deployer_config *config)
{
    static const char *const known[] = {"configFiles", "cache", "allowPlainHttp",
                                        "insecureSkipVerify", NULL};
    const struct fields fields = section(root, "oci", "oci", known);
    cleanup_json json_t *files = field_text_list(&fields, "configFiles");
    size_t count = json_array_size(files);

    config->oci_config_files = xcalloc(count + 1, sizeof(*config->oci_config_files));
    for (size_t i = 0; i < count; i++)
        config->oci_config_files[i] = xstrdup(json_string_value(json_array_get(files, i)));
    config->oci_plain_http = field_bool(&fields, "allowPlainHttp", false);
    config->oci_insecure = field_bool(&fields, "insecureSkipVerify", false);
    warn_unused(&fields, "cache", "nothing is cached between runs");
}

static void read_go_sections(const struct fields *root, struct deployer_config *config)
{
    static const char *const collection_known[] = {"disable", "worker", "requeueTimeSeconds", NULL};
    static const char *const debug_known[] = {"keepPod", NULL};
    static const char *const hpa_known[] = {"maxReplicas", "averageCpuUtilization",
                                            "averageMemoryUtilization", NULL};
    static const char *const controller_known[] = {"workers", "cacheSyncTimeout", NULL};
    struct fields fields =
        section(root, "garbageCollection", "garbageCollection", collection_known);

    config->is_collecting = !field_bool(&fields, "disable", false);
    config->collection_ms =
        field_integer(&fields, "requeueTimeSeconds", COLLECTION_SECONDS, 1, 86400 * 365) * 1000;
    warn_unused(&fields, "worker", "one collector serves all objects");
    fields = section(root, "debug", "debug", debug_known);
    config->is_pod_kept = field_bool(&fields, "keepPod", false);
    fields = section(root, "hpa", "hpa", hpa_known);
    config->max_replicas = field_integer(&fields, "maxReplicas", 1, 0, INT32_MAX);
    fields = section(root, "controller", "controller", controller_known);
    (void)field_integer(&fields, "workers", 1, 1, INT32_MAX);
    warn_unused(&fields, "workers", "one thread serves all items");
    (void)field_duration_ms(&fields, "cacheSyncTimeout", 0, 1);
    warn_unused(&fields, "cacheSyncTimeout", "lists are always read to the end");
}

static void read_delete_operation(const struct fields *root, struct deployer_config *config)
{
    const char *word = field_text(root, "deleteOperation");

    config->is_delete_run = !word || strcmp(word, "skip") != 0;
    if (word && config->is_delete_run && strcmp(word, "run") != 0)
        mistakes_add(root->mistakes, MISTAKE_INVALID, "deleteOperation",
                     "\"%s\": must be run or skip", word);
}

/* The field of a Lease object has whole seconds. */
static int64_t read_lease(const struct fields *election)
{
    int64_t lease_ms = field_duration_ms(election, "leaseDuration", LEASE_MS, LEASE_MIN_MS);

    if (lease_ms % 1000 == 0 && lease_ms <= LEASE_MAX_MS)
        return lease_ms;
    mistakes_add(election->mistakes, MISTAKE_INVALID, "leaderElection.leaseDuration",
                 "must be whole seconds, at most 1h");
    return LEASE_MS;
}

static void read_operation_sections(const struct fields *root, bool is_manifest,
                                    struct deployer_config *config)
{
    static const char *const state_known[] = {"generations", NULL};
    static const char *const tail_known[] = {"lines", NULL};
    static const char *const election_known[] = {"enabled", "leaseName", "leaseNamespace",
                                                 "leaseDuration", NULL};
    static const char *const serve_known[] = {"address", "metricsPort", "healthPort", NULL};
    struct fields fields = {0};

    read_delete_operation(root, config);
    config->image_grace_ms = field_duration_ms(root, "imageGracePeriod", IMAGE_GRACE_MS, 0);
    fields = section(root, "state", "state", state_known);
    config->state_generations =
        field_integer(&fields, "generations", STATE_GENERATIONS, 1, STATE_GENERATIONS_MAX);
    fields = section(root, "logTail", "logTail", tail_known);
    config->log_tail_lines = field_integer(&fields, "lines", LOG_TAIL_LINES, 0, LOG_TAIL_LINES_MAX);
    fields = section(root, "leaderElection", "leaderElection", election_known);
    config->is_electing = field_bool(&fields, "enabled", true);
    config->lease_name =
        read_object_name(&fields, "leaseName", is_manifest ? LEASE_NAME_MANIFEST : LEASE_NAME);
    config->lease_namespace = read_object_name(&fields, "leaseNamespace", NULL);
    config->lease_ms = read_lease(&fields);
    fields = section(root, "serve", "serve", serve_known);
    config->serve_address = field_text_copy(&fields, "address", "");
    config->metrics_port = field_integer(&fields, "metricsPort", METRICS_PORT, 0, PORT_MAX);
    config->health_port = field_integer(&fields, "healthPort", HEALTH_PORT, 0, PORT_MAX);
}

static void read_grace(const struct fields *pod, struct deployer_config *config)
{
    int64_t grace = field_integer(pod, "terminationGracePeriodSeconds", MAIN_GRACE_SECONDS_DEFAULT,
                                  1, GRACE_LIMIT_SECONDS);
    int64_t max_default = grace > GRACE_MAX_SECONDS ? grace : GRACE_MAX_SECONDS;

    config->grace_seconds = grace;
    config->max_grace_seconds =
        field_integer(pod, "maxTerminationGracePeriodSeconds", max_default, 1, GRACE_LIMIT_SECONDS);
    if (config->max_grace_seconds < grace)
        mistakes_add(pod->mistakes, MISTAKE_INVALID, "pod.maxTerminationGracePeriodSeconds",
                     "%" PRId64 ": must not be below pod.terminationGracePeriodSeconds (%" PRId64
                     ")",
                     config->max_grace_seconds, grace);
}

static void read_pod(const struct fields *root, struct deployer_config *config)
{
    static const char *const known[] = {"sharedVolumeSizeLimit",
                                        "nodeSelector",
                                        "tolerations",
                                        "runtimeClassName",
                                        "priorityClassName",
                                        "resources",
                                        "terminationGracePeriodSeconds",
                                        "maxTerminationGracePeriodSeconds",
                                        NULL};
    const struct fields fields = section(root, "pod", "pod", known);

    config->shared_volume_size =
        field_text_copy(&fields, "sharedVolumeSizeLimit", SHARED_VOLUME_SIZE);
    validate_quantity(config->shared_volume_size, "pod.sharedVolumeSizeLimit", root->mistakes);
    config->node_selector = read_checked(&fields, "nodeSelector", validate_node_selector);
    config->tolerations = read_checked(&fields, "tolerations", validate_tolerations);
    config->runtime_class = read_object_name(&fields, "runtimeClassName", NULL);
    config->priority_class = read_object_name(&fields, "priorityClassName", NULL);
    config->main_resources = read_checked(&fields, "resources", validate_resources);
    read_grace(&fields, config);
}

/* Returns whether the document is of the manifest deployer. */
static bool read_kind(const struct fields *root)
{
    const char *api_version = field_text(root, "apiVersion");
    const char *kind = field_text(root, "kind");
    bool is_manifest = api_version && (strcmp(api_version, MANIFEST_API_VERSION) == 0 ||
                                       strcmp(api_version, MANIFEST_API_VERSION_OLD) == 0);

    if (api_version && !is_manifest && strcmp(api_version, DEPLOYER_API_VERSION) != 0)
        mistakes_add(root->mistakes, MISTAKE_INVALID, "apiVersion",
                     "\"%s\": must be " DEPLOYER_API_VERSION " or " MANIFEST_API_VERSION,
                     api_version);
    if (kind && strcmp(kind, KIND_CONFIGURATION) != 0)
        mistakes_add(root->mistakes, MISTAKE_INVALID, "kind", "\"%s\": must be " KIND_CONFIGURATION,
                     kind);
    return is_manifest;
}

/* The type of the document says which types of items are served. A Configuration of the container
 * deployer can enable manifest items in addition. */
static void read_types(const struct fields *root, bool is_manifest, struct deployer_config *config)
{
    static const char *const known[] = {"enabled", NULL};
    static const char *const export_known[] = {"defaultTimeout", NULL};
    struct fields fields = section(root, "manifest", "manifest", known);

    config->is_manifest_enabled = field_bool(&fields, "enabled", is_manifest);
    config->is_container_enabled = !is_manifest;
    config->is_script_enabled = config->is_script_enabled && !is_manifest;
    fields = section(root, "export", "export", export_known);
    warn_unused(&fields, "defaultTimeout", "the timeout of the item applies");
}

static void read_root(const struct fields *root, struct deployer_config *config)
{
    static const char *const known[] = {"apiVersion",
                                        "kind",
                                        "identity",
                                        "namespace",
                                        "oci",
                                        "targetSelector",
                                        "defaultImage",
                                        "initContainer",
                                        "waitContainer",
                                        "garbageCollection",
                                        "debug",
                                        "hpa",
                                        "controller",
                                        "deleteOperation",
                                        "imageGracePeriod",
                                        "state",
                                        "logTail",
                                        "leaderElection",
                                        "serve",
                                        "pod",
                                        "script",
                                        "manifest",
                                        "export",
                                        NULL};
    bool is_manifest = read_kind(root);
    const json_t *selector = field_any(root, "targetSelector");

    if (root->object)
        mistakes_add_unknown(root->mistakes, "", root->object, known);
    config->identity = field_text_copy(root, "identity", "");
    config->namespace_name = read_object_name(root, "namespace", "default");
    config->target_selector = selector_parse(selector, "targetSelector", root->mistakes);
    config->target_selector_document = selector ? json_deep_copy(selector) : json_array();
    read_oci(root, config);
    read_go_sections(root, config);
    read_operation_sections(root, is_manifest, config);
    read_pod(root, config);
    read_container(root, "initContainer", IMAGE_INIT, &config->init);
    read_container(root, "waitContainer", IMAGE_WAIT, &config->wait);
    read_container(root, "defaultImage", IMAGE_DEFAULT, &config->default_image);
    read_script(root, config);
    read_types(root, is_manifest, config);
    if (!config->init.resources)
        config->init.resources = default_resources("10m", "32Mi", "1", "256Mi");
    if (!config->wait.resources)
        config->wait.resources = default_resources("10m", "16Mi", "1", "128Mi");
    if (!config->main_resources)
        config->main_resources = default_resources("50m", "64Mi", NULL, NULL);
}

int config_parse(const json_t *doc, struct deployer_config **ret_config, struct mistakes *mistakes)
{
    cleanup_config struct deployer_config *config = xcalloc(1, sizeof(*config));
    const struct fields root = {json_is_object(doc) ? doc : NULL, "", mistakes};
    size_t errors = mistakes->errors;

    if (doc && !json_is_null(doc) && !json_is_object(doc))
        mistakes_add_type(mistakes, "", "an object", doc);
    read_root(&root, config);
    if (mistakes->errors > errors)
        return -1;
    *ret_config = steal(&config);
    return 0;
}

int config_load(const char *path, struct deployer_config **ret_config, struct mistakes *mistakes)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_json json_t *doc = NULL;
    struct error err = {0};

    buffer_init(&text, CONFIG_BYTES_MAX);
    if (doc_read_file(path, CONFIG_BYTES_MAX, &text, &err) < 0 ||
        doc_parse_yaml(text.data, text.size, CONFIG_BYTES_MAX, &doc, &err) < 0) {
        mistakes_add(mistakes, MISTAKE_TYPE, "", "%s", err.text);
        return -1;
    }
    return config_parse(doc, ret_config, mistakes);
}
