/* SPDX-License-Identifier: Apache-2.0 */
/* Errors are values on the caller's stack, so there is nothing to free.
 *
 * Functions return 0 or -1 (or a count >= 0) and take `struct error *err` last. err is never NULL
 * and is written only on failure. The program decides by the kind (retry, report, give up). The
 * text is for people and appears in logs and status fields, so it must never contain a secret. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/cleanup.h"

enum error_kind {
    ERROR_NONE = 0,
    ERROR_INVALID,   /* the input is wrong; retrying cannot help */
    ERROR_NOT_FOUND, /* 404 */
    ERROR_DENIED,    /* authentication, RBAC, file mode */
    ERROR_EXISTS,    /* create: the object exists already */
    ERROR_CONFLICT,  /* stale resourceVersion, lost lease: read again, then retry */
    ERROR_GONE,      /* 410: resourceVersion or continue token expired; list again */
    ERROR_TOO_LARGE, /* a limit was exceeded */
    ERROR_TEMPORARY, /* network, 429, 5xx: retry with back-off */
    ERROR_CANCELLED, /* the caller asked to stop */
    ERROR_INTERNAL,  /* a bug, or a failure of the machine */
};

struct error {
    enum error_kind kind;
    int os;                  /* errno, or 0 */
    int http_status;         /* of the response that caused it, or 0 */
    uint32_t retry_after_ms; /* from the Retry-After header, or 0 */
    char text[1000];
};

/* All three evaluate to -1, so that a function can end with `return error_set(...)`. They are
 * macros so that compilers and analyzers see the value. error_set_errno() derives the kind from
 * errno and appends its description. error_wrap() adds context in front: "context: text". The
 * arguments may be taken from err itself. */
#define error_set(...)                                                                             \
    ({                                                                                             \
        error_write(__VA_ARGS__);                                                                  \
        -1;                                                                                        \
    })
#define error_set_errno(...)                                                                       \
    ({                                                                                             \
        error_write_errno(__VA_ARGS__);                                                            \
        -1;                                                                                        \
    })
#define error_wrap(...)                                                                            \
    ({                                                                                             \
        error_prefix(__VA_ARGS__);                                                                 \
        -1;                                                                                        \
    })
void error_write(struct error *err, enum error_kind kind, const char *format, ...)
    printf_like(3, 4);
void error_write_errno(struct error *err, int os, const char *format, ...) printf_like(3, 4);
void error_prefix(struct error *err, const char *format, ...) printf_like(2, 3);
/* Replaces an error in memory of its own by a copy of err, or by NULL if err is NULL. */
void error_keep(struct error **kept, const struct error *err);

/* The stable lower-case name of a kind, for logs and metrics. */
const char *error_kind_name(enum error_kind kind);
