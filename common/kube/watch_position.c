/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/watch_position.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"

const char *watch_position_get(const struct watch_position *position,
                               char text[WATCH_POSITION_TEXT_SIZE])
{
    if (!position->number)
        return position->text;
    (void)snprintf(text, WATCH_POSITION_TEXT_SIZE, "%" PRIu64, position->number);
    return text;
}

bool watch_position_is_set(const struct watch_position *position)
{
    return position->number || position->text;
}

void watch_position_remember(struct watch_position *position, const char *version)
{
    char text[WATCH_POSITION_TEXT_SIZE];
    struct watch_position next = {0};

    if (!version || !version[0])
        return;
    watch_position_forget(position);
    if (number_parse(version, UINT64_MAX, &next.number) && next.number > position->newest)
        position->newest = next.number;
    /* "007" must be sent back as it is. */
    if (next.number && strcmp(watch_position_get(&next, text), version) == 0)
        position->number = next.number;
    else
        position->text = xstrdup(version);
}

void watch_position_forget(struct watch_position *position)
{
    free(position->text);
    position->text = NULL;
    position->number = 0;
}

void watch_position_reset(struct watch_position *position)
{
    watch_position_forget(position);
    position->newest = 0;
}

void watch_position_done(struct watch_position *position)
{
    watch_position_forget(position);
}

bool watch_position_is_rewound(const struct watch_position *position, const char *version)
{
    uint64_t number = 0;

    return number_parse(version, UINT64_MAX, &number) && number < position->newest;
}
