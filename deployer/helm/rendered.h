/* SPDX-License-Identifier: Apache-2.0 */
/* What the run of a helm item left in its state: the rendered files, and the texts of the chart. No
 * I/O. */
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
    char *chart, *values; /* Chart.yaml and values.yaml of the chart; NULL: not found */
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

/* What templates see: {"Values", "Chart", "Release"}. A new reference. */
int rendered_values(const struct rendered *rendered, const struct helm_config *helm,
                    json_t **ret_values, struct error *err) must_check;
/* The values of config->value_exports in that document, by their keys: a new reference; NULL if
 * there are none. ERROR_INVALID names the key whose path finds nothing, or more than one value. */
int helm_value_exports(const struct manifest_config *config, const json_t *values,
                       json_t **ret_exports, struct error *err) must_check;
/* Chart.yaml as templates see it: the names of its fields begin with a capital letter. A new
 * reference. */
json_t *helm_chart_fields(const json_t *object);
/* Copies of defaults, overridden by values: objects are merged, and null removes a key. A new
 * reference. */
json_t *helm_merge_values(const json_t *defaults, const json_t *values);
