/* SPDX-License-Identifier: Apache-2.0 */
/* A pipe that shows what a program writes to it. */
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

/* Starts reading with the loop. *ret_write_fd is for the program; the caller closes it. */
int output_open(struct output *output, struct loop *loop, struct show *show, const char *name,
                int *ret_write_fd, struct error *err) must_check;
/* Shows what is left in the pipe; to be called after the program has ended. */
void output_drain(struct output *output);
void output_close(struct output *output); /* may be called twice */
