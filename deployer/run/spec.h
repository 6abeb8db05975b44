/* SPDX-License-Identifier: Apache-2.0 */
/* Translates the pod that the controller would create to the config.json of an OCI runtime: main
 * gets the same program, arguments, environment, user, groups, capabilities, seccomp profile and
 * paths as in a cluster. No I/O. */
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
    const struct spec_mount *mounts; /* in addition to /proc, /dev and /sys */
    size_t mount_count;
    const char *const *shell; /* replaces main's program, or NULL; NULL-terminated */
    const char *cgroup;       /* NULL: no control group, so no memory limit */
    bool has_terminal;
    bool has_network;        /* uses the machine's network; else it has none */
    bool has_user_namespace; /* the user is unprivileged: some mounts are not possible */
};

/* Fails with ERROR_INVALID if neither image nor item names a program. *ret_spec is a new reference.
 */
int spec_make(const struct spec_request *request, json_t **ret_spec, struct error *err) must_check;

/* The program and arguments of main; empty if neither image nor item names a program. New
 * reference.
 */
json_t *spec_program(const json_t *pod, const json_t *image_config);

/* The container of the pod with this name, borrowed, or NULL. */
const json_t *spec_container(const json_t *pod, const char *name);
/* The environment of a container as NAME=value strings: that of the image (may be NULL), then that
 * of the pod. NULL-terminated; free with spec_environment_free(). */
char **spec_environment(const json_t *pod, const json_t *container, const json_t *image_config);
/* The pod's part of it only; field references are resolved and $(NAME) is expanded. */
char **spec_own_environment(const json_t *pod, const json_t *container);
void spec_environment_free(char **environment);
/* Expands text as a kubelet does: $(NAME) becomes its value if NAME is in the environment, $$
 * becomes
 * $, everything else stays. The caller frees. */
char *spec_expand(char *const *environment, const char *text);
/* A Kubernetes quantity in bytes, rounded up; -1 if it is malformed or too large. */
int64_t spec_memory_bytes(const char *quantity);
