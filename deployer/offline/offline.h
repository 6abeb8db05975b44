/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands without a cluster share: objects from files in place of the API server's. */
#pragma once

#include <jansson.h>

#include "common/state/generation.h"
#include "deployer/config/config.h"
#include "deployer/item/bundle.h"
#include "deployer/item/item.h"
#include "deployer/item/provider.h"
#include "deployer/pod/names.h"
#include "deployer/pod/request.h"

/* The configuration of a file, or the defaults for NULL. */
int offline_config(const char *path, struct deployer_config **ret_config, struct error *err)
    must_check;

/* A copy with what an API server would have filled in: the namespace. New reference. */
json_t *offline_complete(const json_t *item);

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
    struct mistakes unread; /* fields of the provider configuration that no one reads */
};

/* bundle is taken over. Objects that the item needs and the bundle lacks are ERROR_INVALID with the
 * option that gives them. */
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

/* The objects of the run. The clock is not asked: the same files give the same objects. */
int offline_objects(const struct offline *offline, const char *operation,
                    struct pod_objects *ret_objects, struct error *err) must_check;
