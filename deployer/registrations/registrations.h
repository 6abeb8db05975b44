/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `longshore registrations`: installs registered deployers in all environments. Returns the exit
 * code. */
int registrations_main(int argc, char **argv);
