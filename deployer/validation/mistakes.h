/* SPDX-License-Identifier: Apache-2.0 */
/* Every mistake in a document, each with its path, in the words that Kubernetes and the Go deployer
 * use: `registryPullSecrets[0].name: Required value: name must not be empty`. Values that could be
 * secret (env values, scripts, credentials) never enter a text. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

enum mistake_kind {
    MISTAKE_TYPE,      /* "expected a string, got a number": the document can't be decoded */
    MISTAKE_REQUIRED,  /* "Required value: ..." */
    MISTAKE_INVALID,   /* "Invalid value: ..." */
    MISTAKE_FORBIDDEN, /* "Forbidden: ..." */
    MISTAKE_DUPLICATE, /* "Duplicate value: ..." */
    MISTAKE_TOO_LONG,  /* "Too long: ..." */
    MISTAKE_UNKNOWN,   /* an unknown field: worth a warning, never a failure */
};

struct mistake {
    enum mistake_kind kind;
    char *path; /* "spec.config.env[2].name"; "" is the document itself */
    char *text; /* without the path, with the words of the kind */
};

/* Zeroed memory is an empty list. At most MISTAKES_MAX are kept, the rest are counted: a status has
 * no room for more. */
enum { MISTAKES_MAX = 64 };
struct mistakes {
    bool is_unbounded; /* all are kept: for people who want to mend them at once */
    struct mistake *items;
    size_t count, dropped;
    size_t errors, decode_errors; /* all kinds but UNKNOWN; those of MISTAKE_TYPE */
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
/* Unknown fields of object, by the list of known ones (NULL at its end). */
void mistakes_add_unknown(struct mistakes *mistakes, const char *path, const json_t *object,
                          const char *const *known);

/* "path: text"; several errors are joined as Go does: "[a, b]". UNKNOWN is left out. Belongs to the
 * caller. */
char *mistakes_text(const struct mistakes *mistakes);
/* ERROR_INVALID with mistakes_text() (cut at the size of an error), or 0 if there is no error. */
int mistakes_fail(const struct mistakes *mistakes, struct error *err) must_check;

/* "a.b", "a[3]"; an empty base gives "b". Belongs to the caller. */
char *path_member(const char *base, const char *key);
char *path_index(const char *base, size_t index);
