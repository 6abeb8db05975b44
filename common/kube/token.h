/* SPDX-License-Identifier: Apache-2.0 */
/* The bearer token of a client, read again when its file is replaced, every minute, and after 401.
 * Private to common/kube. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/base/error.h"

enum { KUBE_TOKEN_PERIOD_MS = 60000 };

struct kube_token {
    const char *file; /* borrowed; NULL: text never changes */
    char *text;
    dev_t device;
    ino_t inode;
    struct timespec changed;
    uint64_t read_ms;
    bool is_stale; /* the server answered 401 */
};

void kube_token_init(struct kube_token *token, const char *text, const char *file);
void kube_token_done(struct kube_token *token);
/* *ret_text is borrowed until the next call, NULL if there is no token. An unreadable file is an
 * error only if no token has been read before. */
int kube_token_get(struct kube_token *token, uint64_t now_ms, const char **ret_text,
                   struct error *err) must_check;
