/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files for data that is too large for memory. */
#pragma once

#include "common/base/error.h"

/* Creates a file below directory_fd for reading and writing, mode 0600, and unlinks it, so that
 * nothing stays behind however the program ends. Returns a descriptor of the caller's. Not
 * O_TMPFILE: not every file system of a node has it. */
int scratch_file_open(int directory_fd, struct error *err) must_check;
