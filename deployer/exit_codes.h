/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes beside EXIT_SUCCESS and EXIT_FAILURE: an interface, listed in the README. */
#pragma once

#include <stdlib.h>

enum { EXIT_USAGE = 2 };
