/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest engine: it executes items by remembering their job. It implements only what
 * deployer/engine.h requires, and is meant as the beginning of a new engine. The tests of the
 * protocol that need no execution outside of the process run with it, too. */
#pragma once

#include "deployer/engine.h"

extern const struct engine_class SMALLEST_ENGINE;
