/* SPDX-License-Identifier: Apache-2.0 */
/* Release of local variables at the end of their scope, and other attributes of functions. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define must_check __attribute__((warn_unused_result))
#define printf_like(format_, first_) __attribute__((format(printf, format_, first_)))

/* Defines func##p(type *), the form that __attribute__((cleanup)) needs. */
#define define_cleanup(type, func)                                                                 \
    static inline void func##p(type *p)                                                            \
    {                                                                                              \
        func(*p);                                                                                  \
    }

static inline void freep(void *p)
{
    free(*(void **)p);
}

static inline void closep(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static inline void fclosep(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

#define cleanup_free __attribute__((cleanup(freep)))
#define cleanup_close __attribute__((cleanup(closep)))
#define cleanup_file __attribute__((cleanup(fclosep)))

/* steal(&x) returns the value of x and sets x to NULL, so that its cleanup does nothing. */
#define steal(pointer_)                                                                            \
    ({                                                                                             \
        __typeof__(pointer_) steal_from = (pointer_);                                              \
        __typeof__(*steal_from) stolen = *steal_from;                                              \
        *steal_from = NULL;                                                                        \
        stolen;                                                                                    \
    })

static inline int steal_fd(int *fd)
{
    int stolen = *fd;

    *fd = -1;
    return stolen;
}

#define array_length(array_) (sizeof(array_) / sizeof((array_)[0]))
