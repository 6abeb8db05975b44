/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the last run, put back: from chunks that our controller has mounted, or from Secrets
 * through the API where the Go controller has mounted a token. */
#pragma once

#include <stdint.h>

#include "common/base/loop.h"
#include "common/net/http.h"
#include "init/volume.h"

struct restore_counts {
    char source[16]; /* "mounted", "secrets" or "none" */
    char *uuid;      /* of the generation, or NULL: there was nothing to restore */
    int64_t sequence;
    uint64_t entries, bytes;
    size_t skipped; /* generations that were torn or altered */
    size_t removed; /* Secrets of older generations (Go controller only) */
};

/* Opened before the sandbox closes: what there is to read from. */
struct restore_source;
int restore_source_open(const struct options *options, struct loop *loop, struct http_client *http,
                        struct restore_source **ret_source, struct error *err) must_check;
void restore_source_free(struct restore_source *source);

/* Logs what is passed over. */
int restore_state(struct restore_source *source, const struct options *options,
                  const struct volume *volume, struct restore_counts *ret_counts, struct error *err)
    must_check;
void restore_counts_done(struct restore_counts *counts);

define_cleanup(struct restore_source *, restore_source_free)
#define cleanup_restore_source __attribute__((cleanup(restore_source_freep)))
