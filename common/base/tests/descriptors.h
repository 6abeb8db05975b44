/* SPDX-License-Identifier: Apache-2.0 */
/* Test helper. */
#pragma once

/* The number of open descriptors of this process plus a constant: compare two results. */
unsigned open_descriptors(void);
