/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes beside EXIT_SUCCESS and EXIT_FAILURE: an interface, listed in the README. */
#pragma once

#include <stdlib.h>

enum {
    EXIT_DIFFERENT = 1, /* of diff: there are differences */
    EXIT_USAGE = 2,
    EXIT_NOT_COMPARED = 3, /* of diff: it could not find out */
};
