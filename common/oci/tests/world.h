/* SPDX-License-Identifier: Apache-2.0 */
/* A registry client and a fake registry controlled by the test. The clock is fake, so that back-off
 * takes no time. */
#pragma once

#include "common/base/buffer.h"
#include "common/data/digest.h"
#include "common/oci/registry.h"
#include "fake_registry.h"

enum { TURNS_MAX = 20000, STEP_MS = 50, REQUESTS_MAX = 64 };

struct world {
    struct clock_fake clock;
    struct loop *loop;
    struct http_client *http;
    struct fake_registry *server;
    struct registry *registry;
    struct keyring *keyring;
    char host[64];

    struct fake_request requests[REQUESTS_MAX];
    size_t count;
    fake_fn *answer;
    int status; /* what world_answer_status() answers */

    unsigned done, restarts, retries;
    struct error err;
    char digest[DIGEST_TEXT_MAX], media_type[128];
    struct buffer bytes;
    char blob[4096], blob_digest[DIGEST_TEXT_MAX];
};

/* All functions assert success. options may be NULL. */
struct world *world_new(fake_fn *answer);
void world_begin(struct world *world, fake_fn *answer, const struct registry_options *options);
void world_end(struct world *world);
/* user:SECRET for the registry's host. */
void world_add_user(struct world *world);

/* Runs the loop and advances the clock until this many calls have ended. */
void world_run_until(struct world *world, unsigned done);
void world_start_manifest(struct world *world, const char *repository, const char *object);
/* The callback of manifests; data is the world. */
registry_manifest_fn world_on_manifest;
/* Of "some/repo"; run until the call has ended. */
void world_get_manifest(struct world *world, const char *object);
void world_get_blob(struct world *world, int64_t size, uint64_t max);
size_t world_count_paths(const struct world *world, const char *prefix);

/* Answers: {} with a type; world->status with an error that carries a secret. */
fake_fn world_answer_manifest, world_answer_status;
