/* SPDX-License-Identifier: Apache-2.0 */
/* The effective configuration as a document, for the log at start-up and for tests. */
#include <string.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/duration.h"
#include "deployer/config/config.h"

enum { DURATION_TEXT_MAX = 32, NS_PER_MS = 1000000 };

static void set_duration(json_t *doc, const char *path, int64_t ms)
{
    char text[DURATION_TEXT_MAX];

    duration_format(ms * NS_PER_MS, text, sizeof(text));
    doc_set_text(doc, path, text);
}

static void set_text(json_t *doc, const char *path, const char *text)
{
    if (text)
        doc_set_text(doc, path, text);
}

static void set_copy(json_t *doc, const char *path, const json_t *value)
{
    if (value)
        doc_set_new(doc, path, json_deep_copy(value));
}

static json_t *container_document(const struct config_container *container)
{
    json_t *doc = json_object();

    set_text(doc, "image", container->image);
    set_copy(doc, "command", container->command);
    set_copy(doc, "args", container->args);
    set_text(doc, "imagePullPolicy", container->image_pull_policy);
    set_copy(doc, "resources", container->resources);
    if (json_array_size(container->env) > 0)
        set_copy(doc, "env", container->env);
    if (container->is_go_image)
        doc_set_new(doc, "goImage", json_true());
    return doc;
}

static void add_operations(json_t *doc, const struct deployer_config *config)
{
    doc_set_new(doc, "garbageCollection.disable", json_boolean(!config->is_collecting));
    doc_set_new(doc, "garbageCollection.requeueTimeSeconds",
                json_integer(config->collection_ms / 1000));
    doc_set_new(doc, "debug.keepPod", json_boolean(config->is_pod_kept));
    doc_set_new(doc, "hpa.maxReplicas", json_integer(config->max_replicas));
    doc_set_text(doc, "deleteOperation", config->is_delete_run ? "run" : "skip");
    set_duration(doc, "imageGracePeriod", config->image_grace_ms);
    doc_set_new(doc, "state.generations", json_integer(config->state_generations));
    doc_set_new(doc, "logTail.lines", json_integer(config->log_tail_lines));
    doc_set_new(doc, "leaderElection.enabled", json_boolean(config->is_electing));
    set_text(doc, "leaderElection.leaseName", config->lease_name);
    set_text(doc, "leaderElection.leaseNamespace", config->lease_namespace);
    set_duration(doc, "leaderElection.leaseDuration", config->lease_ms);
    if (*config->serve_address)
        doc_set_text(doc, "serve.address", config->serve_address);
    doc_set_new(doc, "serve.metricsPort", json_integer(config->metrics_port));
    doc_set_new(doc, "serve.healthPort", json_integer(config->health_port));
    doc_set_new(doc, "ui.enabled", json_boolean(config->is_page_enabled));
    doc_set_new(doc, "ui.authentication", json_boolean(config->is_page_authenticated));
}

json_t *config_document(const struct deployer_config *config)
{
    json_t *doc = json_object();
    json_t *files = json_array();
    json_t *namespaces = json_array();

    doc_set_text(doc, "apiVersion",
                 config->is_container_enabled ? DEPLOYER_API_VERSION
                 : config->is_helm_enabled    ? HELM_API_VERSION
                                              : MANIFEST_API_VERSION);
    doc_set_text(doc, "kind", KIND_CONFIGURATION);
    doc_set_text(doc, "identity", config->identity);
    doc_set_text(doc, "namespace", config->namespace_name);
    for (size_t i = 0; config->namespaces[i]; i++)
        (void)json_array_append_new(namespaces, json_string(config->namespaces[i]));
    doc_set_new(doc, "namespaces", namespaces);
    for (size_t i = 0; config->oci_config_files[i]; i++)
        (void)json_array_append_new(files, json_string(config->oci_config_files[i]));
    doc_set_new(doc, "oci.configFiles", files);
    doc_set_new(doc, "oci.allowPlainHttp", json_boolean(config->oci_plain_http));
    doc_set_new(doc, "oci.insecureSkipVerify", json_boolean(config->oci_insecure));
    set_text(doc, "oci.caBundle", config->oci_ca_bundle);
    set_copy(doc, "targetSelector", config->target_selector_document);
    doc_set_new(doc, "initContainer", container_document(&config->init));
    doc_set_new(doc, "waitContainer", container_document(&config->wait));
    doc_set_new(doc, "defaultImage", container_document(&config->default_image));
    doc_set_new(doc, "script", container_document(&config->script));
    doc_set_new(doc, "script.enabled", json_boolean(config->is_script_enabled));
    doc_set_new(doc, "helm", container_document(&config->helm));
    doc_set_new(doc, "helm.enabled", json_boolean(config->is_helm_enabled));
    doc_set_new(doc, "helm.version", json_integer(config->helm_version));
    doc_set_new(doc, "manifest.enabled", json_boolean(config->is_manifest_enabled));
    if (config->is_manifest_enabled) {
        if (config->host_target)
            doc_set_text(doc, "manifest.hostTarget", config->host_target);
        doc_set_new(doc, "manifest.lateChanges.trigger", json_boolean(config->is_late_trigger));
        set_duration(doc, "manifest.lateChanges.minimumInterval", config->late_interval_ms);
    }
    add_operations(doc, config);
    doc_set_text(doc, "pod.sharedVolumeSizeLimit", config->shared_volume_size);
    set_copy(doc, "pod.nodeSelector", config->node_selector);
    set_copy(doc, "pod.tolerations", config->tolerations);
    set_text(doc, "pod.runtimeClassName", config->runtime_class);
    set_text(doc, "pod.priorityClassName", config->priority_class);
    set_copy(doc, "pod.resources", config->main_resources);
    doc_set_new(doc, "pod.terminationGracePeriodSeconds", json_integer(config->grace_seconds));
    doc_set_new(doc, "pod.maxTerminationGracePeriodSeconds",
                json_integer(config->max_grace_seconds));
    return doc;
}
