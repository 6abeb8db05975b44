/* SPDX-License-Identifier: Apache-2.0 */
/* What init reads and opens before it enters the sandbox. */
#pragma once

#include "common/base/loop.h"
#include "common/component/fetch.h"
#include "common/net/http.h"
#include "common/oci/registry.h"
#include "init/configuration.h"
#include "init/options.h"
#include "init/progress.h"
#include "init/restore.h"
#include "init/volume.h"

struct setup {
    struct configuration configuration;
    struct keyring *component_keyring, *artifact_keyring;
    struct ocmconfig ocm;
    struct repository *inline_descriptors, *context; /* or NULL */
    struct repository **resolvers;                   /* parallel to ocm.resolvers */
    /* The root component, of the reference or the inline descriptor. NULL: there is none. */
    char *component_name, *component_version;

    struct volume volume;
    struct loop *loop;
    struct http_client *http;
    struct registry *component_registry, *artifact_registry;
    struct restore_source *state;
    struct http_tls chart_tls; /* for downloads of charts; ca_pem belongs to it */
    bool has_landlock;
};

void setup_init(struct setup *setup);
void setup_done(struct setup *setup);

/* Reads the configuration, the OCM configuration and the credentials. Errors here are mistakes of
 * the user. */
int setup_configure(struct setup *setup, const struct options *options, struct error *err)
    must_check;
/* Opens the shared volume, the clients, repositories in files and the source of the state. Retries
 * are logged; progress, which must outlive setup, is cleared before. */
int setup_open(struct setup *setup, const struct options *options, struct progress *progress,
               struct error *err) must_check;
/* Enters the sandbox: from here on only the shared volume, the inputs and the network can be
 * reached. Irreversible. */
int setup_enter_sandbox(struct setup *setup, const struct options *options, struct error *err)
    must_check;

static inline void setup_donep(struct setup *setup)
{
    setup_done(setup);
}
#define cleanup_setup __attribute__((cleanup(setup_donep)))
