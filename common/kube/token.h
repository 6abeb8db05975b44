/* SPDX-License-Identifier: Apache-2.0 */
/* The bearer token of a configuration, read again when its file is replaced. Part of kube/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/base/error.h"

enum { KUBE_TOKEN_PERIOD_MS = 60000 };

struct kube_token {
    const char *file; /* NULL: text never changes */
    char *text;
    dev_t device;
    ino_t inode;
    struct timespec changed;
    uint64_t read_ms;
    bool is_stale; /* the server refused it */
};

void kube_token_init(struct kube_token *token, const char *text, const char *file);
void kube_token_done(struct kube_token *token);
/* *ret_text is NULL where there is no token, else borrowed until the next call. An unreadable file
 * is an error only as long as nothing was ever read. */
int kube_token_get(struct kube_token *token, uint64_t now_ms, const char **ret_text,
                   struct error *err) must_check;
