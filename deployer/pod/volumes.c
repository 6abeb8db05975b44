/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/volumes.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "deployer/pod/inputs.h"

enum {
    MODE_INPUT = 0440, /* root, group 2000 */
    TOKEN_SECONDS = 3600,
};

/* ---- Volumes ---- */

static json_t *item_new(const char *key, const char *path)
{
    return json_pack("{s:s,s:s}", "key", key, "path", path);
}

/* A volume with some keys of the input Secret. Consumes items. */
static json_t *input_volume(const struct pod_request *request, const char *name, json_t *items,
                            int mode)
{
    return json_pack("{s:s,s:{s:s,s:i,s:o}}", "name", name, "secret", "secretName",
                     request->names->input, "defaultMode", mode, "items", items);
}

static json_t *scratch_volume(const struct pod_request *request, const char *name)
{
    return json_pack("{s:s,s:{s:s}}", "name", name, "emptyDir", "sizeLimit",
                     request->config->shared_volume_size);
}

/* A token that is bound to the pod, expires, and is renewed by the kubelet. */
static json_t *token_volume(const char *name)
{
    return json_pack(
        "{s:s,s:{s:i,s:[{s:{s:s,s:i}},{s:{s:s,s:[{s:s,s:s}]}},{s:{s:[{s:s,s:{s:s}}]}}]}}", "name",
        name, "projected", "defaultMode", MODE_INPUT, "sources", "serviceAccountToken", "path",
        "token", "expirationSeconds", TOKEN_SECONDS, "configMap", "name", "kube-root-ca.crt",
        "items", "key", "ca.crt", "path", "ca.crt", "downwardAPI", "items", "path", "namespace",
        "fieldRef", "fieldPath", "metadata.namespace");
}

static json_t *registry_volume(const struct pod_request *request)
{
    json_t *items = json_array();

    for (size_t i = 0; i < json_array_size(request->docker_configs); i++) {
        char key[INPUT_KEY_MAX];
        cleanup_free char *path = xasprintf("%03zu/" FILE_DOCKER_CONFIG_JSON, i);

        input_key_docker_config(i, key);
        (void)json_array_append_new(items, item_new(key, path));
    }
    return input_volume(request, VOLUME_REGISTRY_SECRETS, items, MODE_INPUT);
}

static json_t *script_volume(const struct pod_request *request)
{
    json_t *items = json_array();

    for (size_t i = 0; i < request->run->file_count; i++) {
        char key[INPUT_KEY_MAX];

        input_key_file(i, key);
        (void)json_array_append_new(items, item_new(key, request->run->files[i].name));
    }
    return input_volume(request, VOLUME_SCRIPT, items, request->run->file_mode);
}

/* One source of the projected volume. Consumes items. */
static json_t *secret_source(const char *name, json_t *items, bool is_optional)
{
    json_t *source = json_pack("{s:{s:s,s:o}}", "secret", "name", name, "items", items);

    if (is_optional)
        (void)json_object_set_new(json_object_get(source, "secret"), "optional", json_true());
    return source;
}

/* One directory per chunk: "config" from its own Secret, "metadata.json" from the input Secret. The
 * Secrets are optional: a missing chunk does not keep the pod from starting, and init reports it.
 */
static int state_volume(const struct pod_request *request, json_t **ret_volume, struct error *err)
{
    cleanup_free const struct state_chunk *const *chunks = NULL;
    json_t *sources = NULL;
    json_t *metadata = NULL;
    size_t count = 0;

    if (inputs_state_chunks(request, &chunks, &count, err) < 0)
        return -1;
    sources = json_array();
    metadata = json_array();
    for (size_t i = 0; i < count; i++) {
        char key[INPUT_KEY_MAX];
        cleanup_free char *data_path = xasprintf("%03zu/" SECRET_KEY_CONFIG, i);
        cleanup_free char *metadata_path = xasprintf("%03zu/" FILE_STATE_METADATA, i);

        input_key_state(i, key);
        (void)json_array_append_new(metadata, item_new(key, metadata_path));
        (void)json_array_append_new(
            sources, secret_source(chunks[i]->object,
                                   json_pack("[o]", item_new(SECRET_KEY_CONFIG, data_path)), true));
    }
    if (count > 0)
        (void)json_array_append_new(sources, secret_source(request->names->input, metadata, false));
    else
        json_decref(metadata);
    *ret_volume = json_pack("{s:s,s:{s:i,s:o}}", "name", VOLUME_STATE_SOURCE, "projected",
                            "defaultMode", MODE_INPUT, "sources", sources);
    return 0;
}

static bool has_registry_volume(const struct pod_request *request)
{
    return inputs_has_registry_access(request) && json_array_size(request->docker_configs) > 0;
}

static bool has_tmp(const struct pod_request *request)
{
    return request->config->init.is_go_image || request->config->wait.is_go_image;
}

int volumes_new(const struct pod_request *request, json_t **ret_volumes, struct error *err)
{
    json_t *volumes = NULL;
    json_t *state = NULL;

    if (!request->config->init.is_go_image && state_volume(request, &state, err) < 0)
        return -1;
    volumes = json_array();
    if (request->config->init.is_go_image)
        (void)json_array_append_new(volumes, token_volume(VOLUME_SERVICE_ACCOUNT_INIT));
    (void)json_array_append_new(volumes, token_volume(VOLUME_SERVICE_ACCOUNT_WAIT));
    (void)json_array_append_new(volumes, scratch_volume(request, VOLUME_SHARED));
    (void)json_array_append_new(
        volumes, input_volume(request, VOLUME_CONFIGURATION,
                              json_pack("[o]", item_new(FILE_CONFIGURATION, FILE_CONFIGURATION)),
                              MODE_INPUT));
    if (request->ocm_config_map)
        (void)json_array_append_new(
            volumes,
            input_volume(request, VOLUME_OCM_CONFIGURATION,
                         json_pack("[o]", item_new(FILE_OCM_CONFIGURATION, FILE_OCM_CONFIGURATION)),
                         MODE_INPUT));
    (void)json_array_append_new(
        volumes, input_volume(request, VOLUME_TARGET,
                              json_pack("[o]", item_new(FILE_TARGET, FILE_TARGET)), MODE_INPUT));
    if (has_registry_volume(request))
        (void)json_array_append_new(volumes, registry_volume(request));
    if (inputs_has_ca_bundle(request))
        (void)json_array_append_new(
            volumes,
            input_volume(request, VOLUME_CA,
                         json_pack("[o]", item_new(FILE_CA_BUNDLE, FILE_CA_BUNDLE)), MODE_INPUT));
    if (state)
        (void)json_array_append_new(volumes, state);
    if (request->run->file_count > 0)
        (void)json_array_append_new(volumes, script_volume(request));
    if (has_tmp(request))
        (void)json_array_append_new(volumes, scratch_volume(request, VOLUME_TMP));
    *ret_volumes = volumes;
    return 0;
}

/* ---- Mounts ---- */

static void add_mount(json_t *mounts, const char *volume, const char *path, bool is_read_only)
{
    json_t *mount = json_pack("{s:s,s:s}", "name", volume, "mountPath", path);

    if (is_read_only)
        (void)json_object_set_new(mount, "readOnly", json_true());
    (void)json_array_append_new(mounts, mount);
}

json_t *volumes_of_init(const struct pod_request *request)
{
    json_t *mounts = json_array();

    add_mount(mounts, VOLUME_CONFIGURATION, PATH_CONFIGURATION_DIR, true);
    if (request->ocm_config_map)
        add_mount(mounts, VOLUME_OCM_CONFIGURATION, PATH_OCM_DIR, true);
    add_mount(mounts, VOLUME_TARGET, PATH_TARGET_SOURCE_DIR, true);
    if (has_registry_volume(request))
        add_mount(mounts, VOLUME_REGISTRY_SECRETS, PATH_REGISTRY_SECRETS, true);
    if (inputs_has_ca_bundle(request))
        add_mount(mounts, VOLUME_CA, PATH_CA_DIR, true);
    if (request->config->init.is_go_image) {
        add_mount(mounts, VOLUME_SERVICE_ACCOUNT_INIT, PATH_SERVICE_ACCOUNT, true);
        add_mount(mounts, VOLUME_TMP, PATH_TMP, false);
    } else {
        add_mount(mounts, VOLUME_STATE_SOURCE, PATH_STATE_SOURCE, true);
    }
    add_mount(mounts, VOLUME_SHARED, PATH_SHARED, false);
    return mounts;
}

json_t *volumes_of_main(const struct pod_request *request)
{
    json_t *mounts = json_array();

    if (request->run->file_count > 0)
        add_mount(mounts, VOLUME_SCRIPT, PATH_SCRIPT_DIR, true);
    add_mount(mounts, VOLUME_SHARED, PATH_SHARED, false);
    return mounts;
}

json_t *volumes_of_wait(const struct pod_request *request)
{
    json_t *mounts = json_array();

    add_mount(mounts, VOLUME_SERVICE_ACCOUNT_WAIT, PATH_SERVICE_ACCOUNT, true);
    if (request->config->wait.is_go_image)
        add_mount(mounts, VOLUME_TMP, PATH_TMP, false);
    add_mount(mounts, VOLUME_SHARED, PATH_SHARED, false);
    return mounts;
}
