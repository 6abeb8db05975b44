/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `longshore lifecycle`: modules on many clusters. Returns the exit code. */
int lifecycle_main(int argc, char **argv);
