/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/watch_place.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/base/number.h"

void watch_place_remember(struct watch_place *place, const char *version)
{
    uint64_t number = 0;

    if (!version || !version[0])
        return;
    free(place->version);
    place->version = xstrdup(version);
    if (number_parse(version, UINT64_MAX, &number) && number > place->newest)
        place->newest = number;
}

void watch_place_forget(struct watch_place *place)
{
    free(place->version);
    place->version = NULL;
}

void watch_place_reset(struct watch_place *place)
{
    watch_place_forget(place);
    place->newest = 0;
}

void watch_place_done(struct watch_place *place)
{
    watch_place_forget(place);
}

bool watch_place_is_rewound(const struct watch_place *place, const char *version)
{
    uint64_t number = 0;

    return number_parse(version, UINT64_MAX, &number) && number < place->newest;
}
