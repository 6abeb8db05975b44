/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/watch_position.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/base/number.h"

void watch_position_remember(struct watch_position *position, const char *version)
{
    uint64_t number = 0;

    if (!version || !version[0])
        return;
    free(position->version);
    position->version = xstrdup(version);
    if (number_parse(version, UINT64_MAX, &number) && number > position->newest)
        position->newest = number;
}

void watch_position_forget(struct watch_position *position)
{
    free(position->version);
    position->version = NULL;
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
