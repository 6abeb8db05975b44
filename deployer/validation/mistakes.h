/* SPDX-License-Identifier: Apache-2.0 */
/* All mistakes found in a document, each with its path, in the wording of Kubernetes and of the Go
 * deployer: `registryPullSecrets[0].name: Required value: name must not be empty`. Values that
 * could be secret (env values, scripts, credentials) must not be part of a text. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

enum mistake_kind {
    MISTAKE_TYPE,      /* "expected a string, got a number" */
    MISTAKE_REQUIRED,  /* "Required value: ..." */
    MISTAKE_INVALID,   /* "Invalid value: ..." */
    MISTAKE_FORBIDDEN, /* "Forbidden: ..." */
    MISTAKE_DUPLICATE, /* "Duplicate value: ..." */
    MISTAKE_TOO_LONG,  /* "Too long: ..." */
    MISTAKE_UNKNOWN,   /* an unknown or unused field: a warning, not an error */
};

struct mistake {
    enum mistake_kind kind;
    char *path; /* "spec.config.env[2].name"; "" for the document itself */
    char *text; /* without the path, with the prefix of the kind */
};

/* Zeroed memory is an empty list. At most MISTAKES_MAX are kept, since a status has limited room;
 * the others are counted. */
enum { MISTAKES_MAX = 64, MISTAKES_TEXT_MAX = 64 * 1024 };
struct mistakes {
    bool is_unbounded; /* keep all of them, for `longshore validate` */
    struct mistake *items;
    size_t count, dropped;
    size_t errors, decode_errors; /* all but MISTAKE_UNKNOWN; MISTAKE_TYPE only */
};

void mistakes_done(struct mistakes *mistakes);
static inline void mistakes_donep(struct mistakes *mistakes)
{
    mistakes_done(mistakes);
}
#define cleanup_mistakes __attribute__((cleanup(mistakes_donep)))

void mistakes_add(struct mistakes *mistakes, enum mistake_kind kind, const char *path,
                  const char *format, ...) printf_like(4, 5);
/* "expected a string, got a number" at path. */
void mistakes_add_type(struct mistakes *mistakes, const char *path, const char *expected,
                       const json_t *got);
/* "path: text", or "[a, b]" for several errors, as Go joins them. Without MISTAKE_UNKNOWN. Belongs
 * to the caller. */
char *mistakes_text(const struct mistakes *mistakes);
/* Fails with ERROR_INVALID and mistakes_text(), truncated to the size of an error, if there is an
 * error. */
int mistakes_fail(const struct mistakes *mistakes, struct error *err) must_check;

/* "base.key" and "base[3]", as in common/data/places.h; just "key" if base is empty. Belong to the
 * caller. */
char *path_member(const char *base, const char *key);
char *path_index(const char *base, size_t index);
