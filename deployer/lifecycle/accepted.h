/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a module that are known to be in the cluster: 24 bytes for each. A control plane
 * knows hundreds of thousands of them, so names and content are kept as hashes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/cleanup.h"

struct accepted_object {
    uint64_t key;
    uint64_t live;   /* drift_hash() of it as it was last accepted; 0: it was changed by others */
    uint64_t wanted; /* the hash of the content that it was compared with or made of; 0: unknown */
};

struct accepted {
    struct accepted_object *objects; /* by key */
    size_t count;
};

/* Up to 16 hexadecimal digits, in lower case, as a number. NULL: 0. */
uint64_t accepted_number(const char *hex);
void accepted_done(struct accepted *accepted);
/* NULL: it is not there. Borrowed until the next change. */
const struct accepted_object *accepted_find(const struct accepted *accepted, const char *key);
/* live and wanted are hashes, see accepted_number(). */
void accepted_set(struct accepted *accepted, const char *key, const char *live, const char *wanted);
void accepted_remove(struct accepted *accepted, const char *key);
/* Whether it is there, unchanged since it was accepted, and made of this content. */
bool accepted_is(const struct accepted *accepted, const char *key, const char *wanted);
/* Whether it is there, and as it was when it was accepted. */
bool accepted_is_live(const struct accepted *accepted, const char *key, const char *live);
