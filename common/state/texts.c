/* SPDX-License-Identifier: Apache-2.0 */
#include "common/state/texts.h"

#include "common/state/stream.h"

int state_find_texts(const struct state_generation *generation, const struct state_source *source,
                     struct text_budget *budget, unpack_text_fn *on_text, void *data,
                     struct error *err)
{
    cleanup_state_stream struct state_stream stream = {0};
    const struct unpack_texts_options options = {
        .read = state_stream_read,
        .source = &stream,
        .is_go_state_tolerated = !generation->is_ours,
        .on_text = on_text,
        .data = data,
    };

    state_stream_init(&stream, generation, source);
    if (unpack_texts(&options, budget, err) < 0)
        return -1;
    return state_stream_check(&stream, err);
}
