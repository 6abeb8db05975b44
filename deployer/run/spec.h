/* SPDX-License-Identifier: Apache-2.0 */
/* From the pod that the controller would make to the config.json of an OCI runtime: the same
 * program, arguments, environment, user, groups, capabilities, seccomp and paths that main has in a
 * cluster. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct spec_mount {
    const char *source, *target;
    bool is_writable;
};

struct spec_request {
    const json_t *pod;          /* rendered; borrowed */
    const json_t *image_config; /* the "config" object of the image, or NULL */
    const char *rootfs;
    const struct spec_mount *mounts; /* shared volume, files of the run */
    size_t mount_count;
    const char *const *shell; /* in place of the image's program, or NULL; NULL-terminated */
    const char *cgroup;       /* NULL: no cgroup can be made, so no limit either */
    bool has_terminal;
    bool has_network;        /* that of the machine; else none */
    bool has_user_namespace; /* a plain user's: some mounts are not allowed there */
};

/* Fails with ERROR_INVALID where neither image nor item names a program. *ret_spec is a new
 * reference. */
int spec_make(const struct spec_request *request, json_t **ret_spec, struct error *err) must_check;

/* The container of the pod with this name, borrowed, or NULL. */
const json_t *spec_container(const json_t *pod, const char *name);
/* NAME=value texts of a container's environment: the image's (may be NULL), then the pod's own.
 * NULL-terminated; free with spec_environment_free(). */
char **spec_environment(const json_t *pod, const json_t *container, const json_t *image_config);
/* The same of what the pod alone names, with field references resolved and $(NAME) expanded. */
char **spec_own_environment(const json_t *pod, const json_t *container);
void spec_environment_free(char **environment);
/* As a kubelet does in values, commands and arguments: $(NAME) is its value, $$ is $, and anything
 * else stays as it is. */
char *spec_expand(char *const *environment, const char *text);
/* A Kubernetes quantity of memory in bytes, a part of one counted whole; -1 if it is none. */
int64_t spec_memory_bytes(const char *quantity);
