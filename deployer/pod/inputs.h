/* SPDX-License-Identifier: Apache-2.0 */
/* The Secrets that a run reads: one with all inputs, mounted by key into init (and a script's files
 * into main), and one with the credentials that the kubelet pulls the three images with. */
#pragma once

#include <jansson.h>

#include "deployer/pod/request.h"

/* Adds {"origin", "config"} to docker_configs (an array): origin names the file or Secret in
 * messages, config is a Docker config (config.json or the map of .dockercfg). Order is precedence:
 * Configuration.oci.configFiles, Context.registryPullSecrets, the item's registryPullSecrets. */
void inputs_add_docker_config(json_t *docker_configs, const char *origin, json_t *config);
/* The same from a Secret with .dockerconfigjson, .dockercfg or .ocmcredentialconfig; none of them
 * is ERROR_INVALID. Where init needs no registry, only what the run's images are pulled with is
 * kept. What is kept of all Secrets together is bounded by SECRET_MAX_BYTES: it could be no input
 * of a pod; beyond that is ERROR_TOO_LARGE. */
int inputs_add_docker_secret(json_t *docker_configs, const json_t *secret,
                             const struct run_spec *run, const struct deployer_config *config,
                             struct error *err) must_check;

int inputs_secret(const struct pod_request *request, json_t **ret_secret, struct error *err)
    must_check;
/* *ret_secret is NULL where no credential matches main's, init's or wait's image. */
int inputs_pull_secret(const struct pod_request *request, json_t **ret_secret, struct error *err)
    must_check;

/* Keys of the input Secret, as the pod mounts them. */
enum { INPUT_KEY_MAX = 32 };
void input_key_docker_config(size_t index, char ret_key[INPUT_KEY_MAX]);
void input_key_file(size_t index, char ret_key[INPUT_KEY_MAX]);
void input_key_state(size_t index, char ret_key[INPUT_KEY_MAX]);

/* The chunks that init gets: those of the newest whole generation, then of older whole ones to fall
 * back to while they fit. Borrowed from the set; *ret_chunks belongs to the caller. ERROR_TOO_LARGE
 * if the newest alone is over POD_STATE_CHUNKS_MAX. */
int inputs_state_chunks(const struct pod_request *request,
                        const struct state_chunk *const **ret_chunks, size_t *ret_count,
                        struct error *err) must_check;
/* Whether init needs registries at all: only then it gets credentials. */
bool inputs_has_registry_access(const struct pod_request *request);
