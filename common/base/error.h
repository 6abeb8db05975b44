/* SPDX-License-Identifier: Apache-2.0 */
/* An error is a value on the caller's stack: nothing to free, nothing that can leak.
 *
 * Functions return 0 or -1 (or a count >= 0) and take `struct error *err` last. err is never NULL
 * and is written only on failure. The kind drives the program (retry, report, give up); the text is
 * for a person and ends in logs and status fields, so no secret may ever enter it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/cleanup.h"

enum error_kind {
    ERROR_NONE = 0,
    ERROR_INVALID,   /* the input is wrong; retrying cannot help */
    ERROR_NOT_FOUND, /* 404 */
    ERROR_DENIED,    /* authentication, RBAC, file mode */
    ERROR_EXISTS,    /* create of something that is there already */
    ERROR_CONFLICT,  /* stale resourceVersion, lost lease: read again, then retry */
    ERROR_GONE,      /* 410: the place in a watch or list has expired, start over */
    ERROR_TOO_LARGE, /* a stated limit was exceeded */
    ERROR_TEMPORARY, /* network, 429, 5xx: retry with back-off */
    ERROR_CANCELLED, /* we were told to stop */
    ERROR_INTERNAL,  /* a bug of ours, or the machine fails */
};

struct error {
    enum error_kind kind;
    int os;                  /* errno, or 0 */
    int http_status;         /* of the answer that was the cause, or 0 */
    uint32_t retry_after_ms; /* what a server asked for, or 0 */
    char text[1000];
};

/* All three are -1, so that a function can end with `return error_set(...)`; as macros, because
 * then every compiler and analyzer knows it. error_set_errno() picks the kind by errno.
 * error_wrap() puts context in front: "context: text". */
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

/* The stable lower-case name of a kind, for logs and metrics. */
const char *error_kind_name(enum error_kind kind);
