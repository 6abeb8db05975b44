/* SPDX-License-Identifier: Apache-2.0 */
/* Docker configurations as people write them: one bad entry must not spoil the good ones. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Something that is passed over; none of its texts holds a credential. */
struct docker_config_trouble {
    const char *file;  /* NULL: in no file */
    const char *entry; /* the registry; NULL: all of the file */
    const char *why;
    bool is_helper;
};
typedef void docker_config_tell_fn(void *data, const struct docker_config_trouble *trouble);

/* Takes out of config (an object) the entries that nobody can use, and tells of each and of each
 * credential helper, which is a program that no pod has. The number of credentials left. */
size_t docker_config_clean(json_t *config, const char *file, docker_config_tell_fn *tell,
                           void *data);

/* What of config the images (NULL at their end) can be pulled with: {"auths"}, maybe empty. New
 * reference. */
json_t *docker_config_for_images(const json_t *config, const char *const *images);
