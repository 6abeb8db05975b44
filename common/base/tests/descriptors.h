/* SPDX-License-Identifier: Apache-2.0 */
/* Help for tests. */
#pragma once

/* How many descriptors this process has open, and always a few more: only its changes say
 * something. */
unsigned open_descriptors(void);
