/* SPDX-License-Identifier: Apache-2.0 */
/* What a generation of the state has in it, for who must know its texts and not restore it. */
#pragma once

#include "common/archive/tar_text.h"
#include "common/state/restore.h"

/* Hands on every text file of a complete generation (tar_text.h). Fails where restoring would
 * (ERROR_INVALID), where the budget does not suffice (ERROR_TOO_LARGE), and as the source does;
 * what was found until then has been handed on. */
int state_find_texts(const struct state_generation *generation, const struct state_source *source,
                     struct tar_text_budget *budget, tar_text_fn *on_text, void *data,
                     struct error *err) must_check;
