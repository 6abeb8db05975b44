/* SPDX-License-Identifier: Apache-2.0 */
/* Restores the state of the last run: from chunks that our controller has mounted, or from Secrets
 * through the API, if the Go controller has mounted a token. */
#pragma once

#include <stdint.h>

#include "common/base/loop.h"
#include "common/net/http.h"
#include "init/volume.h"

struct restore_counts {
    char source[16]; /* "mounted", "secrets" or "none" */
    char *uuid;      /* of the restored generation; NULL: there is no state */
    int64_t sequence;
    uint64_t entries, bytes;
    size_t skipped; /* generations that were incomplete or damaged */
    size_t removed; /* Secrets of old generations; only under the Go controller */
};

/* Where the state is read from. Opened before init enters the sandbox. */
struct restore_source;
int restore_source_open(const struct options *options, struct loop *loop, struct http_client *http,
                        struct restore_source **ret_source, struct error *err) must_check;
void restore_source_free(struct restore_source *source);

/* Blocks. Logs generations and Secrets that are skipped. A state that can't be read, or of which no
 * generation is usable, is an error: a run without its state would do harm. */
int restore_state(struct restore_source *source, const struct options *options,
                  const struct volume *volume, struct restore_counts *ret_counts, struct error *err)
    must_check;
void restore_counts_done(struct restore_counts *counts);

define_cleanup(struct restore_source *, restore_source_free)
#define cleanup_restore_source __attribute__((cleanup(restore_source_freep)))
