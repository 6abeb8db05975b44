/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/template.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/reference.h"
#include "deployer/pod/inputs.h"
#include "deployer/pod/volumes.h"

/* ---- Environment ---- */

/* Without json_pack(): variables are half of a pod, and parsing the format costs time. */
static void add_entry(json_t *env, const char *name, const char *key, json_t *value)
{
    json_t *entry = json_object();

    (void)json_object_set_new_nocheck(entry, "name", json_string(name));
    (void)json_object_set_new_nocheck(entry, key, value);
    (void)json_array_append_new(env, entry);
}

static void add_env(json_t *env, const char *name, const char *value)
{
    add_entry(env, name, "value", json_string(value));
}

static void add_env_number(json_t *env, const char *name, int64_t number)
{
    cleanup_free char *text = xasprintf("%" PRId64, number);

    add_env(env, name, text);
}

static void add_env_field(json_t *env, const char *name, const char *path)
{
    add_entry(env, name, "valueFrom", json_pack("{s:{s:s}}", "fieldRef", "fieldPath", path));
}

/* The order is part of the contract. */
static json_t *common_env(void)
{
    json_t *env = json_array();

    add_env(env, ENV_IMPORTS_PATH, PATH_IMPORTS);
    add_env(env, ENV_EXPORTS_PATH, PATH_EXPORTS);
    add_env(env, ENV_COMPONENT_DESCRIPTOR_PATH, PATH_COMPONENT_DESCRIPTOR);
    add_env(env, ENV_TARGET_PATH, PATH_TARGET);
    add_env(env, ENV_CONTENT_PATH, PATH_CONTENT);
    add_env(env, ENV_STATE_PATH, PATH_STATE);
    add_env_field(env, ENV_POD_NAME, "metadata.name");
    add_env_field(env, ENV_POD_NAMESPACE, "metadata.namespace");
    return env;
}

/* Seconds until the deadline of the job, at least 1; -1: no deadline. */
static int64_t seconds_left(const struct pod_request *request)
{
    int64_t seconds = 0;

    if (request->deadline_unix_ms < 0)
        return -1;
    seconds = (request->deadline_unix_ms - request->now_unix_ms + 999) / 1000;
    return seconds < 1 ? 1 : seconds;
}

/* At the deadline the pod is killed without a message. init must give up earlier, so that it can
 * report which server could not be reached. */
static void add_init_deadline(json_t *env, const struct pod_request *request)
{
    int64_t seconds = seconds_left(request) / 2;
    cleanup_free char *text = xasprintf("%" PRId64 "s", seconds < 1 ? 1 : seconds);

    if (seconds_left(request) >= 0 && seconds < INIT_DEADLINE_SECONDS)
        add_env(env, ENV_INIT_DEADLINE, text);
}

static json_t *init_env(const struct pod_request *request)
{
    json_t *env = common_env();

    add_env(env, ENV_CONFIGURATION_PATH, PATH_CONFIGURATION);
    add_env(env, ENV_DEPLOY_ITEM_NAME, request->item->name);
    add_env(env, ENV_DEPLOY_ITEM_NAMESPACE, request->item->namespace_name);
    add_env(env, ENV_REGISTRY_SECRETS_DIR, PATH_REGISTRY_SECRETS);
    add_env(env, ENV_OCM_CONFIGURATION_PATH, PATH_OCM_CONFIGURATION);
    add_env(env, ENV_JOB_ID, request->job);
    if (!request->config->init.is_go_image)
        add_env(env, ENV_STATE_SOURCE_DIR, PATH_STATE_SOURCE);
    if (request->config->oci_plain_http)
        add_env(env, ENV_OCI_PLAIN_HTTP, "true");
    if (request->config->oci_insecure)
        add_env(env, ENV_OCI_INSECURE, "true");
    if (!request->config->init.is_go_image)
        add_init_deadline(env, request);
    if (inputs_has_ca_bundle(request))
        add_env(env, "SSL_CERT_DIR", "/etc/ssl/certs:" PATH_CA_DIR);
    (void)json_array_extend(env, request->config->init.env);
    return env;
}

static json_t *main_env(const struct pod_request *request)
{
    json_t *env = common_env();

    add_env(env, ENV_OPERATION, request->operation);
    add_env(env, ENV_EXPORT_PATH_OLD, PATH_EXPORTS);
    add_env(env, ENV_STATE_OLD, PATH_STATE);
    (void)json_array_extend(env, request->run->env);
    return env;
}

static json_t *wait_env(const struct pod_request *request)
{
    const struct state_generation *newest =
        request->state ? state_set_newest(request->state) : NULL;
    json_t *env = common_env();

    add_env(env, ENV_DEPLOY_ITEM_NAME, request->item->name);
    add_env(env, ENV_DEPLOY_ITEM_NAMESPACE, request->item->namespace_name);
    add_env(env, ENV_JOB_ID, request->job);
    add_env_field(env, ENV_POD_UID, "metadata.uid");
    add_env(env, ENV_EXPORT_NAME, request->export_name);
    add_env(env, ENV_REPORT_NAME, request->names->report);
    add_env(env, ENV_STATE_NAME_PREFIX, request->names->state_prefix);
    /* wait saves the state only if it differs from this generation. */
    if (newest && newest->is_ours) {
        add_env_number(env, ENV_STATE_SEQUENCE, newest->sequence);
        add_env(env, ENV_STATE_SHA256, newest->sha256);
    } else {
        add_env(env, ENV_STATE_SEQUENCE, "");
        add_env(env, ENV_STATE_SHA256, "");
    }
    add_env_number(env, ENV_STATE_NEXT_SEQUENCE, request->next_sequence);
    add_env_number(env, ENV_MAIN_GRACE_SECONDS, request->run->grace_seconds);
    (void)json_array_extend(env, request->config->wait.env);
    return env;
}

/* ---- Containers ---- */

static json_t *security_context(bool is_root_read_only)
{
    json_t *context = json_pack("{s:b,s:{s:[s]},s:b,s:b}", "allowPrivilegeEscalation", 0,
                                "capabilities", "drop", "ALL", "privileged", 0, "runAsNonRoot", 1);

    if (is_root_read_only)
        (void)json_object_set_new(context, "readOnlyRootFilesystem", json_true());
    return context;
}

/* The default of Kubernetes, made explicit for `longshore render`. */
static const char *default_pull_policy(const char *image)
{
    cleanup_reference struct reference *reference = NULL;
    struct error err = {0};
    const char *tag = NULL;

    if (reference_parse(image, &reference, &err) < 0)
        return "IfNotPresent";
    tag = reference_tag(reference);
    return tag && strcmp(tag, "latest") == 0 ? "Always" : "IfNotPresent";
}

/* Takes env and mounts over. */
static json_t *container_new(const char *name, const char *image, const char *policy,
                             const json_t *command, const json_t *args, const json_t *resources,
                             json_t *env, json_t *mounts, bool is_root_read_only)
{
    json_t *container =
        json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:o}", "name", name, "image", image, "imagePullPolicy",
                  policy, "terminationMessagePolicy", "FallbackToLogsOnError", "env", env,
                  "volumeMounts", mounts, "securityContext", security_context(is_root_read_only));

    if (json_array_size(command) > 0)
        (void)json_object_set_new(container, "command", json_deep_copy(command));
    if (json_array_size(args) > 0)
        (void)json_object_set_new(container, "args", json_deep_copy(args));
    (void)json_object_set_new(container, "resources", json_deep_copy(resources));
    return container;
}

static json_t *helper_container(const char *name, const struct config_container *config,
                                json_t *env, json_t *mounts)
{
    const char *policy =
        config->image_pull_policy ? config->image_pull_policy : default_pull_policy(config->image);

    return container_new(name, config->image, policy, config->command, config->args,
                         config->resources, env, mounts, true);
}

static json_t *main_container(const struct pod_request *request)
{
    const struct run_spec *run = request->run;

    return container_new(CONTAINER_MAIN, run->image,
                         run->image_pull_policy ? run->image_pull_policy : "IfNotPresent",
                         run->command, run->args, run->resources, main_env(request),
                         volumes_of_main(request), false);
}

/* ---- Pod ---- */

static json_t *metadata_new(const struct pod_request *request)
{
    json_t *pod = object_new("v1", "Pod", request->names->pod, request->config, request->item);
    json_t *metadata = json_incref(json_object_get(pod, "metadata"));
    json_t *annotations = json_object_get(metadata, "annotations");
    cleanup_free char *generation = xasprintf("%" PRId64, request->item->generation);

    (void)json_object_set_new(json_object_get(metadata, "labels"), LABEL_ITEM_GENERATION,
                              json_string(generation));
    (void)json_object_set_new(annotations, ANNOTATION_JOB, json_string(request->job));
    (void)json_object_set_new(annotations, ANNOTATION_OPERATION_RUN,
                              json_string(request->operation));
    (void)json_object_set_new(annotations, ANNOTATION_EXPORT_NAME,
                              json_string(request->export_name));
    if (!request->config->wait.is_go_image)
        (void)json_object_set_new(annotations, ANNOTATION_END, json_string(END_ON_REQUEST));
    (void)json_object_set_new(metadata, "finalizers", json_pack("[s]", FINALIZER_POD));
    json_decref(pod);
    return metadata;
}

/* The pod ends some time after the deadline of the job even if no controller is running. Not at the
 * deadline: the kubelet would end it, with the grace period of the spec, while the controller waits
 * for a snapshot of the state. */
static void set_deadline(json_t *spec, const struct pod_request *request)
{
    int64_t seconds = seconds_left(request);

    if (seconds >= 0)
        seconds += POD_SAVE_SECONDS;
    if (seconds > INT32_MAX)
        seconds = INT32_MAX;
    if (seconds >= 0)
        (void)json_object_set_new(spec, "activeDeadlineSeconds", json_integer(seconds));
}

static void set_placement(json_t *spec, const struct pod_request *request)
{
    const struct run_spec *run = request->run;

    if (run->node_selector)
        (void)json_object_set_new(spec, "nodeSelector", json_deep_copy(run->node_selector));
    if (run->tolerations)
        (void)json_object_set_new(spec, "tolerations", json_deep_copy(run->tolerations));
    if (run->runtime_class)
        (void)json_object_set_new(spec, "runtimeClassName", json_string(run->runtime_class));
    if (request->config->priority_class)
        (void)json_object_set_new(spec, "priorityClassName",
                                  json_string(request->config->priority_class));
}

/* Kubernetes has one grace period for all containers of a pod: main gets the first part of it, and
 * wait needs the rest to save the state. */
static json_t *spec_new(const struct pod_request *request, const json_t *pull_secret)
{
    json_t *spec =
        json_pack("{s:s,s:b,s:b,s:s,s:I,s:{s:b,s:i,s:i,s:i,s:{s:s}}}", "serviceAccountName",
                  request->names->account, "automountServiceAccountToken", 0, "enableServiceLinks",
                  0, "restartPolicy", "Never", "terminationGracePeriodSeconds",
                  (json_int_t)(request->run->grace_seconds + POD_SAVE_SECONDS), "securityContext",
                  "runAsNonRoot", 1, "runAsUser", POD_UID_NUMBER, "runAsGroup", POD_GID_NUMBER,
                  "fsGroup", POD_FSGROUP_NUMBER, "seccompProfile", "type", "RuntimeDefault");

    if (pull_secret)
        (void)json_object_set_new(
            spec, "imagePullSecrets",
            json_pack("[{s:s}]", "name", doc_text(pull_secret, "metadata.name")));
    set_deadline(spec, request);
    set_placement(spec, request);
    (void)json_object_set_new(
        spec, "initContainers",
        json_pack("[o]", helper_container(CONTAINER_INIT, &request->config->init, init_env(request),
                                          volumes_of_init(request))));
    (void)json_object_set_new(
        spec, "containers",
        json_pack("[o,o]", main_container(request),
                  helper_container(CONTAINER_WAIT, &request->config->wait, wait_env(request),
                                   volumes_of_wait(request))));
    return spec;
}

int template_pod(const struct pod_request *request, const json_t *pull_secret, json_t **ret_pod,
                 struct error *err)
{
    json_t *volumes = NULL;
    json_t *spec = NULL;

    if (volumes_new(request, &volumes, err) < 0)
        return -1;
    spec = spec_new(request, pull_secret);
    (void)json_object_set_new(spec, "volumes", volumes);
    *ret_pod = json_pack("{s:s,s:s,s:o,s:o}", "apiVersion", "v1", "kind", "Pod", "metadata",
                         metadata_new(request), "spec", spec);
    return 0;
}
