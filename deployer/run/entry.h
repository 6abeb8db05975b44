/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why main's program could not be executed. OCI runtimes report only the error of
 * execve(), which does not name the file that is missing if it is the interpreter of a script. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum entry_fault {
    ENTRY_FINE,           /* no fault found */
    ENTRY_MISSING,        /* the program or its interpreter does not exist */
    ENTRY_NOT_EXECUTABLE, /* it exists, but the pod's user cannot execute it */
};

/* Looks for the program of a container as execve() does. spec is the content of its config.json;
 * its root file system is mounted. If there is a fault, *ret_text describes it; the caller frees
 * it.
 */
enum entry_fault entry_examine(const json_t *spec, char **ret_text);

/* The interpreter in the first line of a script, or the dynamic loader of a 64-bit ELF program;
 * NULL if there is none in these bytes, the beginning of a file. No I/O. The caller frees. */
char *entry_interpreter(const char *bytes, size_t size, bool *ret_is_script);
