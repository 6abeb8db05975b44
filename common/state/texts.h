/* SPDX-License-Identifier: Apache-2.0 */
/* The text files of a generation of state, for code that must know them without restoring it. */
#pragma once

#include "common/archive/unpack_texts.h"
#include "common/state/restore.h"

/* Calls on_text for every file of a complete generation as unpack_texts() does. Fails if restoring
 * would fail (ERROR_INVALID), if the budget is used up (ERROR_TOO_LARGE), or with the source's
 * error; on_text has then been called for the files before. */
int state_find_texts(const struct state_generation *generation, const struct state_source *source,
                     struct text_budget *budget, unpack_text_fn *on_text, void *data,
                     struct error *err) must_check;
