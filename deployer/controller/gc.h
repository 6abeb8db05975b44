/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what a crash, a finalizer taken off by hand or another deployer's rollback left behind:
 * objects of items that are gone, inputs of runs that are over, pods nobody needs. Only what
 * carries our deployer-id tells that an item was ours, and only an item that the API server itself
 * does not know is gone. */
#pragma once

#include "deployer/controller/controller.h"

struct gc;

struct gc *gc_new(struct controller *controller);
void gc_free(struct gc *gc); /* NULL is fine */
/* Has the first pass begin in a moment, once items and pods are listed and we lead; the next ones
 * come collection_ms after each other. */
void gc_prompt(struct gc *gc);
