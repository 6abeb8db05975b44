/* SPDX-License-Identifier: Apache-2.0 */
/* Items that can't be read at all (nested deeper than any document of ours may be, say): they are
 * failed, visibly and alone, by a change that needs no reading. */
#pragma once

#include <jansson.h>

#include "deployer/controller/controller.h"

/* object holds what could be read of the metadata; err says what is wrong. */
void poison_fail(struct controller *controller, const json_t *object, const struct error *err);

/* The change: jobIDFinished becomes whatever jobID is. It is the same each time, so that the API
 * server takes a second one for nothing. New reference; NULL if the item is none of ours. */
json_t *poison_patch(const struct deployer_config *config, const json_t *object,
                     const struct error *err);
