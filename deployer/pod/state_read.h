/* SPDX-License-Identifier: Apache-2.0 */
/* Reads text files of the item's state as a part of a chain of requests: metadata first, because a
 * state can be gigabytes; then chunk by chunk, within limits. The content is untrusted and this
 * process is privileged, so nothing is unpacked (common/archive/unpack_texts.h). */
#pragma once

#include "common/state/texts.h"
#include "deployer/protocol/task.h"

struct state_reading_options {
    size_t generations_max;    /* how many of the newest complete ones are read */
    size_t chunks_max;         /* of each; a chunk is a request, and 1 MiB at most */
    struct text_budget budget; /* of each generation; the event loop is blocked meanwhile */
    unpack_text_fn *on_text;
    void *data;
    /* Goes on with the chain. err->kind is not ERROR_NONE if something could not be read; on_text
     * may have been called for other files. */
    void (*on_done)(struct task *task, const struct error *err);
};

struct state_reading;

/* Begins; options are copied. The chain of the task has what is under way. */
void pod_read_state(struct task *task, const struct state_reading_options *options);
void state_reading_free(struct state_reading *reading); /* wipes it; NULL is fine */
