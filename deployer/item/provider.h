/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a provider configuration into a run_spec. Everything after this is independent of the type
 * of the item: a new type is one file with a table of fields and a parse function, and a row in the
 * table of provider.c. The table is also the source of the type's JSON Schema. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deployer/config/config.h"
#include "deployer/item/item.h"
#include "deployer/validation/mistakes.h"
#include "deployer/validation/rules.h"

/* Of the script and each of its files, all of which are stored in one Secret. */
enum { RUN_FILE_BYTES_MAX = 512 * 1024, RUN_FILES_MAX = 64 };

/* A file that is mounted for main only, read-only, in PATH_SCRIPT_DIR. */
struct run_file {
    char *name; /* without a directory */
    char *data;
    size_t size;
};

struct item_type;

struct run_spec {
    const struct item_type *type;
    char *image;                  /* as given or from the configuration */
    json_t *command, *args;       /* arrays of strings; NULL: those of the image */
    char *image_pull_policy;      /* NULL: IfNotPresent */
    json_t *env;                  /* array of {"name", "value"}; never NULL */
    json_t *resources;            /* {"requests", "limits"}; never NULL */
    char *runtime_class;          /* NULL: the default of the cluster */
    json_t *node_selector;        /* merged with the configuration's; NULL if empty */
    json_t *tolerations;          /* the configuration's, then the item's; NULL if empty */
    json_t *pull_secrets;         /* array of {"name", "namespace"}; never NULL */
    json_t *component_descriptor; /* {"ref"|"inline"}, or NULL */
    json_t *blueprint;            /* {"ref"|"inline"}, or NULL */
    bool has_import_values;       /* null is a value, too */
    int64_t grace_seconds;        /* how long main may run after SIGTERM */
    bool is_continuous;           /* continuousReconcile is set, which has no effect */
    json_t *configuration;        /* for init, with the API group of container items */
    struct run_file *files;
    size_t file_count;
    int file_mode; /* of the files */
    bool is_delete;
    bool has_registry_access; /* of init, which then gets credentials */
    bool is_target_hidden;    /* neither init nor main gets the content of the target */
    bool is_state_fresh;      /* the state of earlier runs is not restored */
    void *data;               /* of the type; or NULL */
};

/* Fills in the fields of run that depend on the type; the common ones are set. config is an object,
 * never NULL, that was checked by the table of fields; parts of the wrong type are reported and
 * count as absent. Paths of mistakes are relative to the provider configuration, as in Go. */
typedef void item_type_parse_fn(const json_t *config, const struct deployer_config *deployer,
                                struct run_spec *run, struct mistakes *mistakes);

struct item_type {
    const char *type;                /* DeployItem spec.type */
    const char *api_version;         /* of its provider configuration */
    const struct field_rule *fields; /* of its provider configuration; continues PROVIDER_FIELDS */
    /* fields are all there is: the fields of PROVIDER_FIELDS are not read. */
    bool is_configuration_own;
    item_type_parse_fn *parse;
    void (*free_data)(void *data); /* frees run->data; NULL: there is none */
};

/* The fields that all types have. */
extern const struct field_rule PROVIDER_FIELDS[];

/* NULL if this deployer does not know the type. */
const struct item_type *item_type_find(const char *type);
/* The same, but NULL also for a type that the configuration disables. */
const struct item_type *item_type_served(const struct deployer_config *deployer, const char *type);
/* Enumerates the types; NULL after the last one. */
const struct item_type *item_type_at(size_t index);

extern const struct item_type ITEM_TYPE_CONTAINER; /* type_container.c */
extern const struct item_type ITEM_TYPE_SCRIPT;    /* type_script.c */
extern const struct item_type ITEM_TYPE_HELM;      /* deployer/helm/type_helm.c */

/* Adds a file for main. data has a NUL after its size bytes. For parse functions. */
void run_spec_add_file(struct run_spec *run, const char *name, const char *data, size_t size);

/* Decodes and validates the provider configuration of an item. Fails if there are errors, which are
 * added to mistakes; only otherwise *ret_run is set. An unknown type and a missing configuration
 * are errors, too; the controller handles these cases before. */
int run_spec_parse(const struct item *item, const struct deployer_config *deployer,
                   struct run_spec **ret_run, struct mistakes *mistakes) must_check;
void run_spec_free(struct run_spec *run);
define_cleanup(struct run_spec *, run_spec_free)
#define cleanup_run_spec __attribute__((cleanup(run_spec_freep)))
