/* SPDX-License-Identifier: Apache-2.0 */
/* The Secrets of a run: one with all inputs, mounted by key into init (a script's files into main),
 * and one with the credentials by which the kubelet pulls the three images. */
#pragma once

#include <jansson.h>

#include "deployer/pod/run_objects.h"

/* Adds {"origin", "config"} to docker_configs (an array). origin names the file or Secret in
 * messages; config is a Docker config (config.json or the map of .dockercfg). Earlier elements take
 * precedence: Configuration.oci.configFiles, Context.registryPullSecrets, the item's
 * registryPullSecrets. */
void inputs_add_docker_config(json_t *docker_configs, const char *origin, json_t *config);
/* The same from a Secret with .dockerconfigjson, .dockercfg or .ocmcredentialconfig; ERROR_INVALID
 * if it has none of them. If init needs no registry, only the credentials for the run's images are
 * kept. ERROR_TOO_LARGE if the credentials of all Secrets exceed SECRET_MAX_BYTES, the maximum of
 * the input Secret. */
int inputs_add_docker_secret(json_t *docker_configs, const json_t *secret,
                             const struct run_spec *run, const struct deployer_config *config,
                             struct error *err) must_check;

int inputs_secret(const struct pod_request *request, json_t **ret_secret, struct error *err)
    must_check;
/* *ret_secret is NULL if no credential matches the image of main, init or wait. */
int inputs_pull_secret(const struct pod_request *request, json_t **ret_secret, struct error *err)
    must_check;

/* Keys of the input Secret, as the pod mounts them. */
enum { INPUT_KEY_MAX = 32 };
void input_key_docker_config(size_t index, char ret_key[INPUT_KEY_MAX]);
void input_key_file(size_t index, char ret_key[INPUT_KEY_MAX]);
void input_key_state(size_t index, char ret_key[INPUT_KEY_MAX]);

/* The chunks that are mounted for init: those of the newest complete generation, then of older
 * complete ones as a fallback, as far as they fit. The chunks are borrowed from the set;
 * *ret_chunks belongs to the caller. ERROR_TOO_LARGE if the newest generation alone exceeds
 * POD_STATE_CHUNKS_MAX. */
int inputs_state_chunks(const struct pod_request *request,
                        const struct state_chunk *const **ret_chunks, size_t *ret_count,
                        struct error *err) must_check;
/* Whether init accesses registries; only then it gets credentials. */
bool inputs_has_registry_access(const struct pod_request *request);
/* Whether init gets the certificates of oci.caBundle. */
bool inputs_has_ca_bundle(const struct pod_request *request);
