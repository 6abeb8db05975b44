/* SPDX-License-Identifier: Apache-2.0 */
/* The three parts of the sandbox, one file each. Internal to common/sandbox. */
#pragma once

#include "common/sandbox/sandbox.h"

/* Sanitizers need ptrace and more system calls for their reports. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                         \
    __has_feature(thread_sanitizer)
#define SANDBOX_IS_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_IS_SANITIZED
#define SANDBOX_IS_SANITIZED 0
#endif

int capabilities_drop(struct error *err) must_check;
/* *ret_has_landlock is false if the kernel does not support it or it is disabled. */
int landlock_enter(const struct sandbox_options *options, bool *ret_has_landlock, struct error *err)
    must_check;
int filter_enter(const struct sandbox_options *options, struct error *err) must_check;
