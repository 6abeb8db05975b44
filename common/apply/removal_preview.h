/* SPDX-License-Identifier: Apache-2.0 */
/* What a removal of recorded objects would do. Only reads. */
#pragma once

#include "common/apply/removal.h"

struct removal_forecast {
    json_t *live;  /* NULL: it does not exist any more, or it could not be read */
    bool is_taken; /* a group takes it, so that it is removed if the verdict says so */
    enum removal_verdict verdict; /* if live is set */
    struct error error;           /* why it could not be read; ERROR_NONE: it could */
};

/* Everything is borrowed until on_done or removal_preview_cancel(). */
struct removal_preview_options {
    struct cluster *cluster;
    const struct removal_group *groups;
    size_t group_count;
    const struct inventory *entries;
    struct apply_owner owner;
    /* One for each entry. They belong to the callee. The preview is freed. */
    void (*on_done)(void *data, struct removal_forecast *forecasts);
    void *data;
};

struct removal_preview;
/* on_done is called once, from the loop, unless cancelled before. */
struct removal_preview *removal_preview_start(const struct removal_preview_options *options);
void removal_preview_cancel(struct removal_preview *preview); /* NULL is fine; not after on_done */
void removal_forecasts_free(struct removal_forecast *forecasts, size_t count);
