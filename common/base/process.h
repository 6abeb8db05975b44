/* SPDX-License-Identifier: Apache-2.0 */
/* What every main() does first. */
#pragma once

/* Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed, so that no file is opened
 * as one of them and receives log lines; and ignores SIGPIPE, so that writing to a closed
 * connection is an error of that write. Must be called before any file is opened. */
void process_prepare(void);
