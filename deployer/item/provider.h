/* SPDX-License-Identifier: Apache-2.0 */
/* From a provider configuration to a run. Everything after this is independent of the item's type:
 * a new type is one file with a parse function and a row in the table of provider.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "deployer/config/config.h"
#include "deployer/item/item.h"
#include "deployer/item/mistakes.h"

/* Fields that a type can have of its own. */
enum { ITEM_TYPE_FIELDS_MAX = 32 };
/* The script and the files beside it: 512 KiB each, and all of them in one Secret. */
enum { RUN_FILE_BYTES_MAX = 512 * 1024, RUN_FILES_MAX = 64 };

/* A file that main finds read-only, mode 0555, in PATH_SCRIPT_DIR. */
struct run_file {
    char *name; /* a file name, no path */
    char *data;
    size_t size;
};

struct item_type;

struct run_spec {
    const struct item_type *type;
    char *image;                  /* as given or from the configuration */
    json_t *command, *args;       /* arrays of strings, or NULL: the image's own */
    char *image_pull_policy;      /* NULL: IfNotPresent */
    json_t *env;                  /* array of {"name", "value"}; never NULL */
    json_t *resources;            /* {"requests", "limits"}; never NULL */
    char *runtime_class;          /* NULL: the cluster's */
    json_t *node_selector;        /* merged with the configuration's; NULL if empty */
    json_t *tolerations;          /* the configuration's, then the item's; NULL if empty */
    json_t *pull_secrets;         /* array of {"name", "namespace"}; never NULL */
    json_t *component_descriptor; /* borrowed shape {"ref"|"inline"}, or NULL */
    json_t *blueprint;            /* {"ref"|"inline"}, or NULL */
    bool has_import_values;       /* null is a value */
    bool is_continuous;           /* continuousReconcile is set: nothing acts on it */
    json_t *configuration;        /* what init reads; group of the container type */
    struct run_file *files;
    size_t file_count;
};

/* Maps config (never NULL, an object) to run, whose common fields were filled in already. path of
 * mistakes is relative to the provider configuration, as Go's is. */
typedef void item_type_parse_fn(const json_t *config, const struct deployer_config *deployer,
                                struct run_spec *run, struct mistakes *mistakes);

struct item_type {
    const char *type;          /* DeployItem spec.type */
    const char *api_version;   /* of its provider configuration */
    const char *const *fields; /* those that only this type has; NULL at the end */
    item_type_parse_fn *parse;
};

/* NULL if the type is none of ours. */
const struct item_type *item_type_find(const char *type);
/* The same for the controller: a type that its configuration switches off is none of ours. */
const struct item_type *item_type_served(const struct deployer_config *deployer, const char *type);
/* All types; NULL behind the last. */
const struct item_type *item_type_at(size_t index);

extern const struct item_type ITEM_TYPE_CONTAINER; /* type_container.c */
extern const struct item_type ITEM_TYPE_SCRIPT;    /* type_script.c */

/* The run of an item: decoding and every check of validate.h. Errors are added to mistakes and
 * *ret_run is set only if there are none. An item of another type, or without a configuration, is a
 * mistake too; the controller tells these cases apart before. */
int run_spec_parse(const struct item *item, const struct deployer_config *deployer,
                   struct run_spec **ret_run, struct mistakes *mistakes) must_check;
void run_spec_free(struct run_spec *run);
define_cleanup(struct run_spec *, run_spec_free)
#define cleanup_run_spec __attribute__((cleanup(run_spec_freep)))
