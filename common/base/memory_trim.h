/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the resident memory of programs small that mostly wait.
 *
 * Measured by e2e/wait/test_memory.py (dynamic build, glibc): without this module 12.2 instead
 * of 4.0 MiB while waiting, and 21.3 instead of 14.2 MiB at the peak of storing 200 MiB. The agent
 * (e2e/api/agent/test_tokens.py) needs 15.7 MiB without it. */
#pragma once

/* To be called first in main(): large buffers are allocated with mmap(), so that free() returns
 * them to the kernel. */
void memory_trim_set_up(void);

/* Returns free heap memory to the kernel and unmaps the pages of code and constants. The kernel
 * loads those again from the page cache when they are used. */
void memory_trim(void);
