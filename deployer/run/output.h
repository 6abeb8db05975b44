/* SPDX-License-Identifier: Apache-2.0 */
/* A pipe from a program to what is shown of it. */
#pragma once

#include "common/base/error.h"
#include "common/base/loop.h"
#include "deployer/run/show.h"

struct output {
    struct loop *loop;
    struct show *show;
    const char *name;
    int fd; /* -1: closed */
};

/* *ret_write_fd is for the program, and the caller's to close. */
int output_open(struct output *output, struct loop *loop, struct show *show, const char *name,
                int *ret_write_fd, struct error *err) must_check;
/* Shows what its writer, who has ended, left in the pipe. */
void output_drain(struct output *output);
void output_close(struct output *output); /* closed already: fine */
