/* SPDX-License-Identifier: Apache-2.0 */
/* Where an image comes from, named as skopeo names it: oci:DIR[:TAG], oci-archive:FILE[:TAG],
 * docker-archive:FILE[:NAME:TAG], rootfs:DIR, an absolute path that is one of these, or else a
 * reference for a registry. */
#pragma once

#include <stdbool.h>

#include "common/base/error.h"

enum source_kind {
    SOURCE_REGISTRY,
    SOURCE_OCI,            /* directory in the OCI image layout */
    SOURCE_OCI_ARCHIVE,    /* the same as a tar file */
    SOURCE_DOCKER_ARCHIVE, /* what `docker save` writes */
    SOURCE_ROOTFS,         /* a directory that is the root file system itself */
};

struct source {
    enum source_kind kind;
    char *path; /* file or directory; of a registry: the reference */
    char *tag;  /* which image of a layout or archive; NULL: the only one */
};

/* Absolute paths are looked at on disk. ERROR_INVALID, ERROR_NOT_FOUND name what is wrong. */
int source_parse(const char *text, struct source *ret_source, struct error *err) must_check;
void source_done(struct source *source);
/* Whether text names something on this machine: no registry reference has these forms. */
bool source_is_local(const char *text);
