/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command inside of a test and returns what it prints. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "deployer/tests/sample.h"

enum { ARGUMENTS_MAX = 12, OUTPUT_MAX = 1 << 20 };

typedef int command_fn(int argc, char **argv);

/* Runs a command and returns what it wrote to stdout or stderr. The caller frees. */
static inline char *written_by(command_fn *command, const char *const *arguments, int stream,
                               int *ret_code)
{
    char *argv[ARGUMENTS_MAX + 1] = {0};
    FILE *file = tmpfile();
    int argc = 0;
    int saved = 0;
    char *text = NULL;
    long size = 0;

    assert_non_null(file);
    while (arguments[argc]) {
        argv[argc] = xstrdup(arguments[argc]);
        argc++;
    }
    (void)fflush(stdout);
    saved = dup(stream);
    assert_true(dup2(fileno(file), stream) >= 0);
    *ret_code = command(argc, argv);
    (void)fflush(stdout);
    assert_true(dup2(saved, stream) >= 0);
    (void)close(saved);
    size = lseek(fileno(file), 0, SEEK_END);
    assert_true(size >= 0 && size < OUTPUT_MAX);
    text = xcalloc((size_t)size + 1, 1);
    assert_int_equal(pread(fileno(file), text, (size_t)size, 0), size);
    (void)fclose(file);
    while (argc > 0)
        free(argv[--argc]);
    return text;
}

static inline char *output_of(command_fn *command, const char *const *arguments, int *ret_code)
{
    return written_by(command, arguments, STDOUT_FILENO, ret_code);
}
