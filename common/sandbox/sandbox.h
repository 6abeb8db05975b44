/* SPDX-License-Identifier: Apache-2.0 */
/* Sandbox that a program enters after its set-up: no capabilities, no_new_privs, a seccomp
 * allow-list, and Landlock if the kernel supports it. Inside no other program can be started;
 * `longshore run`, which starts a container runtime, does not use it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct sandbox_path {
    const char *path; /* must exist */
    bool is_writable; /* allows to create, write, rename and remove below it */
};

struct sandbox_options {
    const struct sandbox_path *paths; /* no other file can be opened (Landlock) */
    size_t path_count;
    bool is_network_allowed; /* outgoing TCP and DNS */
    bool is_listening;       /* also bind, listen and accept */
};

struct sandbox_result {
    bool has_landlock; /* false: not supported by the kernel; the rest is in effect */
};

/* To be called first in main(): disables core files and ptrace by the same user, so that neither
 * reveals secrets. */
void sandbox_no_core(void);

/* Irreversible. A forbidden system call kills the process (SIGSYS). Must be called before any
 * thread is started: Landlock and capabilities apply to the calling thread and to threads started
 * later. With is_network_allowed the files needed for name resolution and TLS (resolv.conf, hosts,
 * certificates ...) are readable as well. Sanitizer builds do without seccomp, because sanitizer
 * reports need ptrace. */
int sandbox_enter(const struct sandbox_options *options, struct sandbox_result *ret_result,
                  struct error *err) must_check;
