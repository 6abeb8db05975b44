/* SPDX-License-Identifier: Apache-2.0 */
/* Test helpers for code that ends the process: it runs in a child. Failures are failed
 * assertions. */
#pragma once

/* Ends this child like _exit(), but keeps its counts in a coverage build. */
_Noreturn void child_exit(int status);

/* Calls run in a child, which must print this text to stderr and abort. */
void child_must_abort(void (*run)(void *data), void *data, const char *text);
