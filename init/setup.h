/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is read or opened before the sandbox closes. */
#pragma once

#include "common/base/loop.h"
#include "common/net/http.h"
#include "common/oci/registry.h"
#include "init/component/fetch.h"
#include "init/configuration.h"
#include "init/options.h"
#include "init/restore.h"
#include "init/volume.h"

struct setup {
    struct configuration configuration;
    struct keyring *component_keyring, *artifact_keyring;
    struct ocmconfig ocm;
    struct repository *given, *context;
    struct repository **resolvers; /* one for each of ocm's */
    /* What to look up first: of the reference or of the inline descriptor. Belongs to it. */
    char *component_name, *component_version;

    struct volume volume;
    struct loop *loop;
    struct http_client *http;
    struct registry *component_registry, *artifact_registry;
    struct restore_source *state;
    bool has_landlock;
};

/* Zeroed, with no descriptor open. */
void setup_init(struct setup *setup);
void setup_done(struct setup *setup);

/* Configuration, OCM configuration, credentials: what a user can have got wrong. */
int setup_configure(struct setup *setup, const struct options *options, struct error *err)
    must_check;
/* Directories, clients, repositories in files. */
int setup_open(struct setup *setup, const struct options *options, struct error *err) must_check;
/* From here on: the volume, the inputs, the network, nothing else. */
int setup_lock_in(struct setup *setup, const struct options *options, struct error *err) must_check;

static inline void setup_donep(struct setup *setup)
{
    setup_done(setup);
}
#define cleanup_setup __attribute__((cleanup(setup_donep)))
