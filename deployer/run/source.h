/* SPDX-License-Identifier: Apache-2.0 */
/* Where an image comes from, in the notation of skopeo: oci:DIR[:TAG], oci-archive:FILE[:TAG],
 * docker-archive:FILE[:NAME:TAG]. Also rootfs:DIR, a path to any of these that begins with "/",
 * "./" or "../", or a reference to an image in a registry. */
#pragma once

#include <stdbool.h>

#include "common/base/error.h"

enum source_kind {
    SOURCE_REGISTRY,
    SOURCE_OCI,            /* directory with an OCI image layout */
    SOURCE_OCI_ARCHIVE,    /* tar file with an OCI image layout */
    SOURCE_DOCKER_ARCHIVE, /* output of `docker save` */
    SOURCE_ROOTFS,         /* directory that is a root file system */
};

struct source {
    enum source_kind kind;
    char *path; /* file or directory; for SOURCE_REGISTRY the reference */
    char *tag;  /* of the image in a layout or archive; NULL: the only one */
};

/* Finds out the kind; paths are examined on disk. References are not validated.
 * ERROR_NOT_FOUND if a file does not exist, ERROR_INVALID if it is not an image. */
int source_parse(const char *text, struct source *ret_source, struct error *err) must_check;
void source_done(struct source *source);
/* Whether text names an image on this machine rather than in a registry. */
bool source_is_local(const char *text);
/* ERROR_INVALID if text is a reference and at the same time the name of an archive or layout in the
 * current directory: the error has both ways to say which one is meant. */
int source_check_reference(const char *text, struct error *err) must_check;
/* The image without its version: a reference without tag and digest, or the absolute path of a
 * file. The caller frees. */
char *source_identity(const char *text);
