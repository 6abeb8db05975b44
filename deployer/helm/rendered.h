/* SPDX-License-Identifier: Apache-2.0 */
/* What the run of a helm item left in its state: the rendered files. No I/O. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "deployer/helm/configuration.h"
#include "deployer/objects/configuration.h"

/* Limits of the state that is read: of its archive, and of the texts in it. */
enum { RENDERED_UNPACKED_MAX = 64 * 1024 * 1024, RENDERED_TEXT_MAX = 32 * 1024 * 1024 };

struct rendered_file {
    char *name; /* "app/templates/service.yaml" */
    char *text; /* wiped when freed */
    size_t size;
};

/* Zeroed memory is empty. */
struct rendered {
    struct rendered_file *files;
    size_t count;
    char *seen; /* what templates see, as FILE_HELM_SEEN renders it; NULL: not found. Wiped. */
};

void rendered_done(struct rendered *rendered);
#define cleanup_rendered __attribute__((cleanup(rendered_done)))

/* Adds a file of the state; other files than those above are ignored. text has a NUL after its
 * size bytes. data is the struct rendered: this is an unpack_text_fn. */
void rendered_add(void *data, const char *name, const char *text, size_t size);

/* Adds every document to config, with the namespace of the release where it has none, and with the
 * label of the item; and the namespace itself if it is to be created. ERROR_INVALID names file and
 * line of a document that cannot be parsed; none is ever left out. */
int rendered_objects(struct rendered *rendered, const struct helm_config *helm,
                     const char *item_name, struct manifest_config *config, struct error *err)
    must_check;

/* All that follows from the rendered files and the item's provider configuration: objects, checks
 * and groups, and the exports from values (NULL: it has none). Both belong to the caller. Fails as
 * the functions that it calls: rendered_objects(), rendered_values(), helm_value_exports(). */
int rendered_config(struct rendered *rendered, const json_t *document, const char *item_name,
                    struct manifest_config **ret_config, json_t **ret_exports, struct error *err)
    must_check;

/* What templates see: {"Values", "Chart", "Release", "Capabilities"}, as helm has computed it. A
 * new reference. ERROR_INVALID: it was not rendered. */
int rendered_values(const struct rendered *rendered, json_t **ret_seen, struct error *err)
    must_check;
