/* SPDX-License-Identifier: Apache-2.0 */
/* Loads an item and what it refers to from files instead of an API server, for run, render and
 * validate. */
#pragma once

#include <jansson.h>

#include "common/base/buffer.h"
#include "common/base/options.h"
#include "common/state/generation.h"
#include "deployer/config/config.h"
#include "deployer/item/bundle.h"
#include "deployer/item/item.h"
#include "deployer/item/provider.h"
#include "deployer/pod/names.h"
#include "deployer/pod/run_objects.h"

/* The configuration in a file, or the default one if path is NULL. */
int offline_config(const char *path, struct deployer_config **ret_config, struct error *err)
    must_check;

/* A copy of the item, with namespace "default" if it has none. New reference. */
json_t *offline_complete(const json_t *item);

/* Prefixes paths that are relative to the provider configuration, as in statuses of the Go
 * deployer, with "spec.config". */
void offline_complete_paths(struct mistakes *mistakes);

/* Fails with ERROR_INVALID if there is an error; several are listed one per line, as many as fit.
 */
int offline_fail(const struct item *item, const struct mistakes *mistakes, struct error *err)
    must_check;

/* One item with everything that it refers to. */
struct offline {
    struct bundle bundle;
    struct deployer_config *config;
    struct item *item;
    struct run_spec *run;
    struct object_names names;
    struct state_set state;
    json_t *docker_configs;
    char *target_file;
    const char *job;
    struct mistakes unknown_fields; /* fields of the provider configuration without effect */
};

/* Loads the operands of a command, then the files of its options --target, --context and --secret.
 * A file that cannot be read is ERROR_INVALID as well. */
int offline_load_files(struct bundle *bundle, const char *const *files, size_t count,
                       const struct option_list *more, struct error *err) must_check;
/* The only DeployItem of the bundle, borrowed; *ret_item is NULL if there is none. ERROR_INVALID if
 * there are several. */
int offline_find_item(const struct bundle *bundle, const json_t **ret_item, struct error *err)
    must_check;

/* Finds a Target of the files and its content. *ret_target is borrowed. ERROR_INVALID if it, or the
 * Secret that it names, is missing; option is the one that the message recommends for the Target.
 */
int offline_target(const struct bundle *bundle, const char *namespace_name, const char *name,
                   const char *option, const json_t **ret_target, struct buffer *ret_content,
                   struct error *err) must_check;

/* Takes the content of bundle over. ERROR_INVALID lists mistakes in the item, or names an object
 * that is missing and the option for it; only the default Context is optional. *ret_offline is
 * released by offline_done(). */
int offline_load(struct bundle *bundle, const char *config_path, const json_t *item,
                 struct offline *ret_offline, struct error *err) must_check;
void offline_done(struct offline *offline);
static inline void offline_donep(struct offline *offline)
{
    offline_done(offline);
}
#define cleanup_offline __attribute__((cleanup(offline_donep)))

/* The Context that the item names, or NULL. Borrowed. */
const json_t *offline_context(const struct offline *offline);

/* A warning if there is no Context, which only the default one may be; else NULL. A constant. */
const char *offline_missing_context(const struct offline *offline);

/* Creates the objects of the run. Uses no clock, so that equal files give equal objects. */
int offline_objects(const struct offline *offline, const char *operation,
                    struct pod_objects *ret_objects, struct error *err) must_check;
