/* SPDX-License-Identifier: Apache-2.0 */
/* Docker configurations. Unusable entries are removed, so that they do not affect the others. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* An entry that is ignored. The texts contain no credentials. */
struct docker_config_problem {
    const char *file;  /* NULL: not from a file */
    const char *entry; /* the registry; NULL: the whole file */
    const char *why;
    bool is_helper;
};
typedef void docker_config_report_fn(void *data, const struct docker_config_problem *problem);

/* Removes unusable entries from config (an object) and reports each of them, and each credential
 * helper: a program, which no pod has. Returns the number of credentials left. */
size_t docker_config_clean(json_t *config, const char *file, docker_config_report_fn *report,
                           void *data);

/* The part of config that is needed to pull the images, which end with NULL: {"auths"}, possibly
 * empty. New reference. */
json_t *docker_config_for_images(const json_t *config, const char *const *images);
