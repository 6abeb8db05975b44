/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/reference.h"
#include "common/data/timestamp.h"
#include "common/oci/keyring.h"
#include "deployer/pod/docker_config.h"
#include "deployer/pod/ocm_credentials.h"

/* The data of a Secret under construction and its total size, which the API server limits. */
struct secret_data {
    json_t *data;
    size_t size;
};

void input_key_docker_config(size_t index, char ret_key[INPUT_KEY_MAX])
{
    (void)snprintf(ret_key, INPUT_KEY_MAX, "dockerconfig-%03zu", index);
}

void input_key_file(size_t index, char ret_key[INPUT_KEY_MAX])
{
    (void)snprintf(ret_key, INPUT_KEY_MAX, "file-%03zu", index);
}

void input_key_state(size_t index, char ret_key[INPUT_KEY_MAX])
{
    (void)snprintf(ret_key, INPUT_KEY_MAX, "state-%03zu.json", index);
}

void inputs_add_docker_config(json_t *docker_configs, const char *origin, json_t *config)
{
    (void)json_array_append_new(docker_configs,
                                json_pack("{s:s,s:O}", "origin", origin, "config", config));
}

typedef int docker_config_fn(const char *text, size_t size, json_t **ret_config, struct error *err);

static int parse_docker_config(const char *text, size_t size, json_t **ret_config,
                               struct error *err)
{
    cleanup_json json_t *config = NULL;

    /* The message of the parser could quote a credential. */
    if (doc_parse_json(text, size, SECRET_MAX_BYTES, &config, err) < 0 || !json_is_object(config))
        return error_set(err, ERROR_INVALID, "not a Docker configuration");
    *ret_config = steal(&config);
    return 0;
}

/* Counts unusable entries of a pull Secret. */
struct unusable {
    size_t helpers, entries;
};

static void count_unusable(void *data, const struct docker_config_problem *problem)
{
    struct unusable *unusable = data;

    *(problem->is_helper ? &unusable->helpers : &unusable->entries) += 1;
}

/* Unlike in a file of the operator, an unusable entry is an error: the author of the item can fix
 * it. Entries are counted and not quoted, because a credential may be in the wrong place. */
static int check_docker_config(json_t *config, const char *origin, struct error *err)
{
    struct unusable unusable = {0};
    size_t count = docker_config_clean(config, NULL, count_unusable, &unusable);

    if (unusable.entries > 0)
        return error_set(err, ERROR_INVALID,
                         "%zu of its entries can't be used: address without a host, or 'auth' "
                         "is not base64 of user:password",
                         unusable.entries);
    if (unusable.helpers == 0)
        return 0;
    if (count == 0)
        return error_set(
            err, ERROR_INVALID,
            "contains only credential helpers (credHelpers, credsStore), which are not "
            "supported: add the credentials themselves");
    log_info("ignored credential helpers", log_text("origin", origin));
    return 0;
}

/* Adds the part of the configuration that the run needs. */
static int keep_docker_config(json_t *docker_configs, const char *origin, json_t *config,
                              const struct run_spec *run,
                              const struct deployer_config *deployer_config, struct error *err)
{
    const char *const images[] = {run->image, deployer_config->init.image,
                                  deployer_config->wait.image, NULL};
    cleanup_json json_t *kept =
        run->has_registry_access ? json_incref(config) : docker_config_for_images(config, images);
    size_t size = json_dumpb(kept, NULL, 0, JSON_COMPACT);
    size_t sum = size;
    json_t *row = NULL;
    size_t index = 0;

    if (!run->has_registry_access && json_object_size(json_object_get(kept, "auths")) == 0)
        return 0;
    json_array_foreach(docker_configs, index, row) sum +=
        (size_t)json_integer_value(json_object_get(row, "size"));
    if (sum > SECRET_MAX_BYTES)
        return error_set(
            err, ERROR_TOO_LARGE,
            "the registry credentials of the run exceed %d bytes in total: remove those "
            "that it does not need",
            SECRET_MAX_BYTES);
    return json_array_append_new(
        docker_configs,
        json_pack("{s:s,s:O,s:I}", "origin", origin, "config", kept, "size", (json_int_t)size));
}

int inputs_add_docker_secret(json_t *docker_configs, const json_t *secret,
                             const struct run_spec *run, const struct deployer_config *config,
                             struct error *err)
{
    static const struct {
        const char *key;
        docker_config_fn *parse;
    } forms[] = {
        {FILE_DOCKER_CONFIG_JSON, parse_docker_config},
        {FILE_DOCKER_CFG, parse_docker_config},
        {FILE_OCM_CREDENTIALS, ocm_credentials_docker_config},
    };
    cleanup_free char *origin =
        xasprintf("secret %s/%s", doc_text_or(secret, "metadata.namespace", ""),
                  doc_text_or(secret, "metadata.name", ""));
    size_t count = 0;

    for (size_t i = 0; i < array_length(forms); i++) {
        const json_t *value = doc_member(doc_member(secret, "data"), forms[i].key);
        cleanup_buffer struct buffer text = {0};
        cleanup_json json_t *found = NULL;

        if (!json_is_string(value))
            continue;
        buffer_init(&text, SECRET_MAX_BYTES);
        if (base64_decode(json_string_value(value), json_string_length(value), &text, err) < 0)
            return error_set(err, ERROR_INVALID, "%s: \"%s\" is not valid base64", origin,
                             forms[i].key);
        if (forms[i].parse(text.data ? text.data : "", text.size, &found, err) < 0 ||
            check_docker_config(found, origin, err) < 0 ||
            keep_docker_config(docker_configs, origin, found, run, config, err) < 0)
            return error_wrap(err, "%s: \"%s\"", origin, forms[i].key);
        count++;
    }
    if (count == 0)
        return error_set(err, ERROR_INVALID,
                         "%s: has none of \"" FILE_DOCKER_CONFIG_JSON "\", \"" FILE_DOCKER_CFG
                         "\", \"" FILE_OCM_CREDENTIALS "\"",
                         origin);
    return 0;
}

bool inputs_has_registry_access(const struct pod_request *request)
{
    return request->run->has_registry_access;
}

bool inputs_has_ca_bundle(const struct pod_request *request)
{
    return inputs_has_registry_access(request) && request->config->oci_ca_bundle;
}

static int put(struct secret_data *secret, const char *key, const char *bytes, size_t size,
               struct error *err)
{
    cleanup_wipe char *encoded = NULL;

    if (size > SECRET_MAX_BYTES || secret->size + size > SECRET_MAX_BYTES)
        return error_set(
            err, ERROR_TOO_LARGE,
            "the inputs of the run (configuration, target, registry credentials, files) "
            "exceed %d bytes in total, the maximum of a Secret",
            SECRET_MAX_BYTES);
    secret->size += size;
    encoded = base64_encode(bytes, size);
    return json_object_set_new(secret->data, key, json_string(encoded));
}

static int put_document(struct secret_data *secret, const char *key, const json_t *doc,
                        struct error *err)
{
    cleanup_wipe char *text = doc_dump(doc);

    return put(secret, key, text, strlen(text), err);
}

static int put_ocm_config(struct secret_data *secret, const struct pod_request *request,
                          struct error *err)
{
    const json_t *map = request->ocm_config_map;
    const json_t *text = doc_member(doc_member(map, "data"), FILE_OCM_CONFIGURATION);

    if (!map)
        return 0;
    if (!json_is_string(text))
        return error_set(err, ERROR_INVALID,
                         "config map \"%s\" of the context has no key \"" FILE_OCM_CONFIGURATION
                         "\"",
                         doc_text_or(map, "metadata.name", ""));
    return put(secret, FILE_OCM_CONFIGURATION, json_string_value(text), json_string_length(text),
               err);
}

static int put_ca_bundle(struct secret_data *secret, const struct pod_request *request,
                         struct error *err)
{
    const char *text = request->config->oci_ca_bundle;

    return inputs_has_ca_bundle(request) ? put(secret, FILE_CA_BUNDLE, text, strlen(text), err) : 0;
}

static int put_docker_configs(struct secret_data *secret, const struct pod_request *request,
                              struct error *err)
{
    if (!inputs_has_registry_access(request))
        return 0;
    for (size_t i = 0; i < json_array_size(request->docker_configs); i++) {
        char key[INPUT_KEY_MAX];

        input_key_docker_config(i, key);
        if (put_document(secret, key, doc_get(json_array_get(request->docker_configs, i), "config"),
                         err) < 0)
            return -1;
    }
    return 0;
}

int inputs_state_chunks(const struct pod_request *request,
                        const struct state_chunk *const **ret_chunks, size_t *ret_count,
                        struct error *err)
{
    const struct state_set *set = request->state;
    cleanup_free const struct state_chunk **chunks = xcalloc(POD_STATE_CHUNKS_MAX, sizeof(void *));
    int64_t generations = 0;
    size_t count = 0;

    for (size_t i = 0; set && !request->run->is_state_fresh && i < set->generation_count; i++) {
        const struct state_generation *generation = &set->generations[i];

        if (!generation->is_complete || generations == request->config->state_generations)
            continue;
        if (count + generation->chunk_count > POD_STATE_CHUNKS_MAX) {
            if (generations == 0)
                return error_set(err, ERROR_TOO_LARGE,
                                 "the state has %zu chunks of 1 MiB (compressed), but the maximum "
                                 "is %d; the program must store less state",
                                 generation->chunk_count, POD_STATE_CHUNKS_MAX);
            break;
        }
        for (size_t j = 0; j < generation->chunk_count; j++)
            chunks[count++] = generation->chunks[j];
        generations++;
    }
    *ret_count = count;
    *ret_chunks = steal(&chunks);
    return 0;
}

static void annotate_number(json_t *annotations, const char *key, int64_t number)
{
    cleanup_free char *text = xasprintf("%" PRId64, number);

    (void)json_object_set_new(annotations, key, json_string(text));
}

/* The labels and annotations by which init finds the generation of a chunk without the API. */
static json_t *chunk_metadata(const struct state_chunk *chunk)
{
    json_t *annotations = json_pack("{s:s}", ANNOTATION_STATE_UUID, chunk->uuid);
    char created[TIMESTAMP_MAX];

    timestamp_format(chunk->created_unix_ms, created);
    annotate_number(annotations, ANNOTATION_STATE_NUMBER, chunk->number);
    if (chunk->sha256) {
        (void)json_object_set_new(annotations, ANNOTATION_STATE_SHA256, json_string(chunk->sha256));
        annotate_number(annotations, ANNOTATION_STATE_CHUNKS, chunk->count);
        annotate_number(annotations, ANNOTATION_STATE_SEQUENCE, chunk->sequence);
    }
    return json_pack("{s:s,s:s,s:o}", "name", chunk->object, "creationTimestamp", created,
                     "annotations", annotations);
}

static int put_state(struct secret_data *secret, const struct pod_request *request,
                     struct error *err)
{
    cleanup_free const struct state_chunk *const *chunks = NULL;
    size_t count = 0;

    if (inputs_state_chunks(request, &chunks, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        cleanup_json json_t *metadata = chunk_metadata(chunks[i]);
        char key[INPUT_KEY_MAX];

        input_key_state(i, key);
        if (put_document(secret, key, metadata, err) < 0)
            return -1;
    }
    return 0;
}

static int put_files(struct secret_data *secret, const struct run_spec *run, struct error *err)
{
    for (size_t i = 0; i < run->file_count; i++) {
        char key[INPUT_KEY_MAX];

        input_key_file(i, key);
        if (put(secret, key, run->files[i].data, run->files[i].size, err) < 0)
            return -1;
    }
    return 0;
}

/* The name depends on the job and the Secret is never changed, so that all pods of a job have the
 * same inputs. */
static json_t *run_secret(const struct pod_request *request, const char *name, const char *type,
                          const char *label, json_t *data)
{
    json_t *secret = object_new("v1", "Secret", name, request->config, request->item);
    json_t *metadata = json_object_get(secret, "metadata");
    json_t *labels = json_object_get(metadata, "labels");

    (void)json_object_set_new(labels, LABEL_TYPE, json_string(label));
    (void)json_object_set_new(labels, LABEL_ROLE, json_string(LABEL_ROLE_RUN));
    (void)json_object_set_new(json_object_get(metadata, "annotations"), ANNOTATION_JOB,
                              json_string(request->job));
    (void)json_object_set_new(secret, "type", json_string(type));
    (void)json_object_set_new(secret, "immutable", json_true());
    (void)json_object_set(secret, "data", data);
    return secret;
}

int inputs_secret(const struct pod_request *request, json_t **ret_secret, struct error *err)
{
    cleanup_json json_t *data = json_object();
    struct secret_data secret = {.data = data};

    if (put_document(&secret, FILE_CONFIGURATION, request->run->configuration, err) < 0 ||
        put(&secret, FILE_TARGET, request->target_file, request->target_file_size, err) < 0 ||
        put_ocm_config(&secret, request, err) < 0 || put_ca_bundle(&secret, request, err) < 0 ||
        put_docker_configs(&secret, request, err) < 0 || put_state(&secret, request, err) < 0 ||
        put_files(&secret, request->run, err) < 0)
        return -1;
    *ret_secret = run_secret(request, request->names->input, SECRET_TYPE_OPAQUE,
                             LABEL_TYPE_CONFIGURATION, data);
    return 0;
}

static int fill_keyring(const struct pod_request *request, struct keyring *keyring,
                        struct error *err)
{
    for (size_t i = 0; i < json_array_size(request->docker_configs); i++) {
        const json_t *entry = json_array_get(request->docker_configs, i);
        size_t helpers = 0;

        if (keyring_add_docker_config(keyring, doc_text_or(entry, "origin", ""),
                                      doc_get(entry, "config"), &helpers, err) < 0)
            return -1;
    }
    return 0;
}

/* Adds the credential of one image. With two credentials for one host the key is the repository,
 * which the kubelet tries first. */
static int add_image(const struct keyring *keyring, const char *image, json_t *auths,
                     struct error *err)
{
    cleanup_reference struct reference *reference = NULL;
    const struct credential *credential = NULL;
    cleanup_json json_t *config = NULL;
    cleanup_free char *address = NULL;
    json_t *own = NULL;
    void *entry = NULL;

    if (reference_parse(image, &reference, err) < 0)
        return error_wrap(err, "image \"%s\"", image);
    credential = keyring_find(keyring, reference_host(reference), reference_repository(reference));
    if (!credential)
        return 0;
    config = keyring_docker_config(reference_host(reference), credential);
    own = json_object_get(config, "auths");
    entry = json_object_iter(own);
    if (!entry)
        return 0;
    if (!json_object_get(auths, json_object_iter_key(entry)))
        return json_object_update(auths, own);
    if (json_equal(json_object_get(auths, json_object_iter_key(entry)),
                   json_object_iter_value(entry)))
        return 0;
    address = xasprintf("%s/%s", reference_host(reference), reference_repository(reference));
    return json_object_set(auths, address, json_object_iter_value(entry));
}

int inputs_pull_secret(const struct pod_request *request, json_t **ret_secret, struct error *err)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    cleanup_json json_t *auths = json_object();
    cleanup_json json_t *config = NULL;
    cleanup_json json_t *data = json_object();
    struct secret_data secret = {.data = data};

    *ret_secret = NULL;
    if (fill_keyring(request, keyring, err) < 0 ||
        add_image(keyring, request->run->image, auths, err) < 0 ||
        add_image(keyring, request->config->init.image, auths, err) < 0 ||
        add_image(keyring, request->config->wait.image, auths, err) < 0)
        return -1;
    if (json_object_size(auths) == 0)
        return 0;
    config = json_pack("{s:O}", "auths", auths);
    if (put_document(&secret, FILE_DOCKER_CONFIG_JSON, config, err) < 0)
        return -1;
    *ret_secret = run_secret(request, request->names->pull, SECRET_TYPE_DOCKER_CONFIG,
                             LABEL_TYPE_PULL_SECRET, data);
    return 0;
}
