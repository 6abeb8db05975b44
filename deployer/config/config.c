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
    LEASE_MAX_MS = 3600 * 1000,
    STATE_GENERATIONS = 2,
    LOG_TAIL_LINES = 20,
    METRICS_PORT = 8080,
    HEALTH_PORT = 8081,
    GRACE_MAX_SECONDS = 300,
    LATE_INTERVAL_MS = 10 * 60 * 1000,
    HELM_VERSION = 3, /* in the image longshore-helm */
};

#define IMAGE_DEFAULT "ubuntu:18.04" /* the default of the Go deployer */
#define IMAGE_SCRIPT "alpine:3"
#define IMAGE_INIT "longshore-init:" LONGSHORE_VERSION
#define IMAGE_WAIT "longshore-wait:" LONGSHORE_VERSION
#define IMAGE_HELM "longshore-helm:" LONGSHORE_VERSION
#define SHARED_VOLUME_SIZE "10Gi"
#define LEASE_NAME "container-deployer-longshore"
#define LEASE_NAME_MANIFEST "manifest-deployer-longshore"
#define LEASE_NAME_HELM "helm-deployer-longshore"

/* Which deployer a Configuration was written for, by its apiVersion. */
enum deployer_kind { DEPLOYER_CONTAINER, DEPLOYER_MANIFEST, DEPLOYER_HELM };

static void container_done(struct config_container *container)
{
    free(container->image);
    json_decref(container->command);
    json_decref(container->args);
    free(container->image_pull_policy);
    json_decref(container->resources);
    json_decref(container->env);
}

static void text_list_free(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

void config_free(struct deployer_config *config)
{
    if (!config)
        return;
    free(config->identity);
    free(config->namespace_name);
    text_list_free(config->namespaces);
    text_list_free(config->oci_config_files);
    free(config->oci_ca_bundle);
    selector_free(config->target_selector);
    json_decref(config->target_selector_document);
    container_done(&config->init);
    container_done(&config->wait);
    container_done(&config->default_image);
    container_done(&config->script);
    container_done(&config->helm);
    free(config->host_target);
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

/* The fields of a sub-object. key is borrowed. */
static struct fields section(const struct fields *root, const char *key)
{
    return (struct fields){field_object(root, key), key, root->mistakes};
}

/* A copy of the resources; relations between them are checked. */
static json_t *read_resources(const struct fields *fields)
{
    cleanup_free char *path = field_path(fields, "resources");

    validate_resources(field_any(fields, "resources"), path, fields->mistakes);
    return field_copy(fields, "resources");
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
    ret_container->image = field_text_copy(fields, "image", image);
    ret_container->command = field_text_list(fields, "command");
    ret_container->image_pull_policy = field_text_copy(fields, "imagePullPolicy", NULL);
    ret_container->resources = read_resources(fields);
}

/* A list of strings, NULL at the end. */
static char **read_text_list(const struct fields *fields, const char *key)
{
    cleanup_json json_t *given = field_text_list(fields, key);
    size_t count = json_array_size(given);
    char **list = xcalloc(count + 1, sizeof(*list));

    for (size_t i = 0; i < count; i++)
        list[i] = xstrdup(json_string_value(json_array_get(given, i)));
    return list;
}

/* The variables of a helper container, in addition to those that it gets anyway. */
static json_t *read_env(const struct fields *fields)
{
    cleanup_free char *path = field_path(fields, "env");
    json_t *env = field_copy(fields, "env");

    validate_env(env, path, fields->mistakes);
    return env ? env : json_array();
}

static void read_container(const struct fields *root, const char *key, const char *image,
                           struct config_container *ret_container)
{
    const struct fields fields = section(root, key);

    read_image(&fields, image, ret_container);
    ret_container->args = field_text_list(&fields, "args");
    ret_container->is_go_image = field_bool(&fields, "goImage", false);
    ret_container->env = read_env(&fields);
}

static void read_script(const struct fields *root, struct deployer_config *config)
{
    const struct fields fields = section(root, "script");

    read_image(&fields, IMAGE_SCRIPT, &config->script);
    config->is_script_enabled = field_bool(&fields, "enabled", true);
}

static void read_helm(const struct fields *root, struct deployer_config *config)
{
    const struct fields fields = section(root, "helm");

    read_image(&fields, IMAGE_HELM, &config->helm);
    config->helm_version = field_integer(&fields, "version", HELM_VERSION);
}

static void read_oci(const struct fields *root, struct deployer_config *config)
{
    const struct fields fields = section(root, "oci");

    config->oci_config_files = read_text_list(&fields, "configFiles");
    if (*doc_text_or(fields.object, "caBundle", ""))
        config->oci_ca_bundle = field_text_copy(&fields, "caBundle", NULL);
    config->oci_plain_http = field_bool(&fields, "allowPlainHttp", false);
    config->oci_insecure = field_bool(&fields, "insecureSkipVerify", false);
}

static void read_go_sections(const struct fields *root, struct deployer_config *config)
{
    struct fields fields = section(root, "garbageCollection");

    config->is_collecting = !field_bool(&fields, "disable", false);
    config->collection_ms = field_integer(&fields, "requeueTimeSeconds", COLLECTION_SECONDS) * 1000;
    fields = section(root, "debug");
    config->is_pod_kept = field_bool(&fields, "keepPod", false);
    fields = section(root, "hpa");
    config->max_replicas = field_integer(&fields, "maxReplicas", 1);
}

/* The field of a Lease object has whole seconds. */
static int64_t read_lease(const struct fields *election)
{
    int64_t lease_ms = field_duration_ms(election, "leaseDuration", LEASE_MS);

    if (lease_ms % 1000 == 0 && lease_ms <= LEASE_MAX_MS)
        return lease_ms;
    mistakes_add(election->mistakes, MISTAKE_INVALID, "leaderElection.leaseDuration",
                 "must be whole seconds, at most 1h");
    return LEASE_MS;
}

static void read_operation_sections(const struct fields *root, enum deployer_kind kind,
                                    struct deployer_config *config)
{
    static const char *const leases[] = {[DEPLOYER_CONTAINER] = LEASE_NAME,
                                         [DEPLOYER_MANIFEST] = LEASE_NAME_MANIFEST,
                                         [DEPLOYER_HELM] = LEASE_NAME_HELM};
    const char *delete_operation = field_text(root, "deleteOperation");
    struct fields fields = {0};

    config->is_delete_run = !delete_operation || strcmp(delete_operation, "skip") != 0;
    config->image_grace_ms = field_duration_ms(root, "imageGracePeriod", IMAGE_GRACE_MS);
    fields = section(root, "state");
    config->state_generations = field_integer(&fields, "generations", STATE_GENERATIONS);
    fields = section(root, "logTail");
    config->log_tail_lines = field_integer(&fields, "lines", LOG_TAIL_LINES);
    fields = section(root, "leaderElection");
    config->is_electing = field_bool(&fields, "enabled", true);
    config->lease_name = field_text_copy(&fields, "leaseName", leases[kind]);
    config->lease_namespace = field_text_copy(&fields, "leaseNamespace", NULL);
    config->lease_ms = read_lease(&fields);
    fields = section(root, "serve");
    config->serve_address = field_text_copy(&fields, "address", "");
    config->metrics_port = field_integer(&fields, "metricsPort", METRICS_PORT);
    config->health_port = field_integer(&fields, "healthPort", HEALTH_PORT);
    fields = section(root, "ui");
    config->is_page_enabled = field_bool(&fields, "enabled", false);
    config->is_page_authenticated = field_bool(&fields, "authentication", false);
}

static void read_grace(const struct fields *pod, struct deployer_config *config)
{
    int64_t grace = field_integer(pod, "terminationGracePeriodSeconds", MAIN_GRACE_SECONDS_DEFAULT);
    int64_t max_default = grace > GRACE_MAX_SECONDS ? grace : GRACE_MAX_SECONDS;

    config->grace_seconds = grace;
    config->max_grace_seconds = field_integer(pod, "maxTerminationGracePeriodSeconds", max_default);
    if (config->max_grace_seconds < grace)
        mistakes_add(pod->mistakes, MISTAKE_INVALID, "pod.maxTerminationGracePeriodSeconds",
                     "%" PRId64 ": must not be below pod.terminationGracePeriodSeconds (%" PRId64
                     ")",
                     config->max_grace_seconds, grace);
}

static void read_pod(const struct fields *root, struct deployer_config *config)
{
    const struct fields fields = section(root, "pod");

    config->shared_volume_size =
        field_text_copy(&fields, "sharedVolumeSizeLimit", SHARED_VOLUME_SIZE);
    config->node_selector = field_copy(&fields, "nodeSelector");
    config->tolerations = field_copy(&fields, "tolerations");
    validate_tolerations(config->tolerations, "pod.tolerations", root->mistakes);
    config->runtime_class = field_text_copy(&fields, "runtimeClassName", NULL);
    config->priority_class = field_text_copy(&fields, "priorityClassName", NULL);
    config->main_resources = read_resources(&fields);
    read_grace(&fields, config);
}

/* The type of the document says which types of items are served. Others can be enabled in addition,
 * but not container items. */
static void read_types(const struct fields *root, enum deployer_kind kind,
                       struct deployer_config *config)
{
    struct fields fields = section(root, "helm");

    config->is_helm_enabled = field_bool(&fields, "enabled", kind == DEPLOYER_HELM);
    fields = section(root, "manifest");
    config->is_manifest_enabled = field_bool(&fields, "enabled", kind == DEPLOYER_MANIFEST);
    config->host_target = field_text_copy(&fields, "hostTarget", NULL);
    config->is_container_enabled = kind == DEPLOYER_CONTAINER;
    config->is_script_enabled = config->is_script_enabled && config->is_container_enabled;
    fields = (struct fields){field_object(&fields, "lateChanges"), "manifest.lateChanges",
                             root->mistakes};
    config->is_late_trigger = field_bool(&fields, "trigger", false);
    config->late_interval_ms = field_duration_ms(&fields, "minimumInterval", LATE_INTERVAL_MS);
}

/* The bundle is passed to init in a variable, of which there can be only one. */
static void check_ca_bundle(const struct fields *root, const struct deployer_config *config)
{
    for (size_t i = 0; config->oci_ca_bundle && i < json_array_size(config->init.env); i++) {
        const char *name = doc_text_or(json_array_get(config->init.env, i), "name", "");

        if (strcmp(name, "SSL_CERT_DIR") == 0 || strcmp(name, "SSL_CERT_FILE") == 0)
            mistakes_add(
                root->mistakes, MISTAKE_FORBIDDEN, "initContainer.env",
                "\"%s\" can't be combined with oci.caBundle: add the certificates to one of "
                "them",
                name);
    }
}

static enum deployer_kind kind_of(const struct fields *root)
{
    const char *api_version = field_text(root, "apiVersion");

    if (api_version &&
        strncmp(api_version, MANIFEST_GROUP "/", sizeof(MANIFEST_GROUP "/") - 1) == 0)
        return DEPLOYER_MANIFEST;
    return api_version && strncmp(api_version, HELM_GROUP "/", sizeof(HELM_GROUP "/") - 1) == 0
               ? DEPLOYER_HELM
               : DEPLOYER_CONTAINER;
}

static void read_root(const struct fields *root, struct deployer_config *config)
{
    enum deployer_kind kind = kind_of(root);
    const json_t *selector = field_any(root, "targetSelector");

    rules_check(root->object, CONFIG_FIELDS, "", root->mistakes);
    config->identity = field_text_copy(root, "identity", "");
    config->namespace_name = field_text_copy(root, "namespace", "default");
    config->namespaces = read_text_list(root, "namespaces");
    if (!json_is_array(selector) && !json_is_object(selector))
        selector = NULL; /* reported by rules_check() */
    config->target_selector = selector_parse(selector, "targetSelector", root->mistakes);
    config->target_selector_document = selector ? json_deep_copy(selector) : json_array();
    read_oci(root, config);
    read_go_sections(root, config);
    read_operation_sections(root, kind, config);
    read_pod(root, config);
    read_container(root, "initContainer", IMAGE_INIT, &config->init);
    read_container(root, "waitContainer", IMAGE_WAIT, &config->wait);
    read_container(root, "defaultImage", IMAGE_DEFAULT, &config->default_image);
    read_script(root, config);
    read_helm(root, config);
    read_types(root, kind, config);
    check_ca_bundle(root, config);
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
