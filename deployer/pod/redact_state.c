/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the state that a run was given and the one that it left, before the output of main is
 * shown: both may contain secrets. */
#include "common/base/log.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/state_read.h"

enum {
    GENERATIONS_MAX = 2, /* the one that the run was given, and the one that it has saved */
    CHUNKS_MAX = 4,
    /* The event loop is blocked meanwhile: this takes some tens of milliseconds. The text may be as
     * large as all other inputs together. */
    UNPACKED_MAX = 16 * 1024 * 1024,
    TEXT_MAX = 1024 * 1024,
};

static void add_text(void *data, const char *name, const char *text, size_t size)
{
    (void)name;
    if (text)
        redaction_add_state_text(data, text, size);
}

/* Without the state the output of main is not shown; the job still ends. */
static void on_state(struct task *task, const struct error *err)
{
    struct redaction *redaction = &pod_task(task)->chain.redaction;

    if (err->kind != ERROR_NONE) {
        log_info("log of main suppressed: state could not be read",
                 log_text("deployItem", task->record->name),
                 log_text("namespace", task->record->namespace_name),
                 log_text("jobID", task->item->job), log_text("error", err->text));
        redaction->is_state_incomplete = true;
    }
    redaction->is_state_known = true;
    pod_redaction_is_read(task);
}

void pod_read_redaction_state(struct task *task)
{
    const struct state_reading_options options = {
        .generations_max = GENERATIONS_MAX,
        .chunks_max = CHUNKS_MAX,
        .budget = {.unpacked = UNPACKED_MAX, .text = TEXT_MAX},
        .on_text = add_text,
        .data = &pod_task(task)->chain.redaction,
        .on_done = on_state,
    };

    pod_read_state(task, &options);
}
