/* SPDX-License-Identifier: Apache-2.0 */
/* The provider configuration: JSON in a pod, YAML also for people. Only what init acts on is
 * looked at; unknown fields are the business of others. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

enum { CONFIGURATION_MAX_BYTES = 4 * 1024 * 1024 };

struct configuration {
    json_t *doc;
    /* The JSON text of importValues, byte for byte as it was given; NULL: there is none. */
    char *import_values;

    /* Borrowed from doc; NULL where absent. */
    const json_t *inline_descriptor;
    const json_t *repository_context;
    const char *component_name, *component_version; /* of ref */
    bool has_descriptor;
    const json_t *inline_blueprint; /* the file system; JSON null where it is left out */
    const char *resource_name;
    bool has_blueprint;
};

/* ERROR_INVALID names the field. */
int configuration_parse(const char *text, size_t size, struct configuration *ret_configuration,
                        struct error *err) must_check;
int configuration_read(const char *path, struct configuration *ret_configuration, struct error *err)
    must_check;
void configuration_done(struct configuration *configuration);

static inline void configuration_donep(struct configuration *configuration)
{
    configuration_done(configuration);
}
#define cleanup_configuration __attribute__((cleanup(configuration_donep)))
