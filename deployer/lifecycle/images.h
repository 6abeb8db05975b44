/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the images of a module's workloads by those that its component descriptor names, so that
 * a component that was transferred to another registry uses the images there. Pure. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* The parts of a reference as written, with Docker's defaults for the host. All belong to the
 * struct. */
struct image_name {
    char *location; /* host and path: "docker.io/library", "example.com:5000/team" */
    char *key;      /* name and tag: "operator:1.2.3", "operator" */
    char *digest;   /* "" without a digest */
};

int image_name_parse(const char *text, struct image_name *ret_name, struct error *err) must_check;
void image_name_done(struct image_name *name); /* also for zeroed memory */
#define cleanup_image_name __attribute__((cleanup(image_name_done)))

/* Changes a Deployment or StatefulSet; other objects stay as they are. Every image of a container
 * or init container, and every value of an environment variable, whose key is that of one of
 * images (a list of references) is replaced by the whole of the first such reference.
 * ERROR_INVALID, naming the container, for an image of a container that is not a reference. */
int images_localize(json_t *object, const json_t *images, struct error *err) must_check;
