/* SPDX-License-Identifier: Apache-2.0 */
/* A program locks itself in once its files and connections are set up: no capabilities,
 * no_new_privs, a seccomp allow-list, Landlock where the kernel has it. No program of ours starts
 * another one (except `longshore run` its runtime, which does not use this). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct sandbox_path {
    const char *path; /* must exist */
    bool is_writable; /* create, write, rename and remove beneath it; else read only */
};

struct sandbox_options {
    const struct sandbox_path *paths; /* everything else on disk is out of reach (Landlock) */
    size_t path_count;
    bool is_network_allowed; /* outgoing TCP and DNS */
    bool is_listening;       /* bind, listen, accept too */
};

struct sandbox_result {
    bool has_landlock; /* false: the kernel lacks it; seccomp and capabilities hold all the same */
};

/* First thing in main(): no core file and no debugger of the same user ever sees our secrets. */
void sandbox_no_core(void);

/* Irreversible, for the whole process; a forbidden system call kills it (SIGSYS). All of it or an
 * error. Call it before any thread is started: Landlock and capabilities hold for the caller and
 * the threads it starts (seccomp for all). With is_network_allowed the files that name resolution
 * and TLS read (resolv.conf, hosts, certificates ...) may be read wherever they exist. Under ASan
 * (sanitizer builds) seccomp is left out, because its reports need ptrace and more. */
int sandbox_enter(const struct sandbox_options *options, struct sandbox_result *ret_result,
                  struct error *err) must_check;
