/* SPDX-License-Identifier: Apache-2.0 */
/* The provider configuration of the item, JSON or YAML. Only the fields that init needs are
 * checked; the controller validates the others. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

enum { CONFIGURATION_MAX_BYTES = 4 * 1024 * 1024 };

struct configuration {
    json_t *doc;
    /* importValues as JSON text; verbatim if the configuration is JSON. NULL: not set. */
    char *import_values;

    /* Borrowed from doc; NULL where absent. */
    const json_t *inline_descriptor;
    const json_t *repository_context;
    const char *component_name, *component_version; /* of componentDescriptor.ref */
    bool has_descriptor;
    const json_t *inline_blueprint;  /* its filesystem; JSON null if that is not set */
    const char *resource_name;       /* of the blueprint, or of the chart */
    const json_t *resource_identity; /* of the chart: name and extra identity */
    bool has_blueprint;
    const json_t *chart; /* of a helm item: see init/chart.h */
};

/* ERROR_INVALID names the field that is wrong; another apiVersion or kind than that of a provider
 * configuration is one. ERROR_TOO_LARGE above CONFIGURATION_MAX_BYTES. *ret_configuration is left
 * alone on failure. */
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
