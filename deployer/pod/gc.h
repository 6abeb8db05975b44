/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what a crash, a finalizer taken off by hand or another deployer's rollback left behind:
 * objects of items that are gone, inputs of runs that are over, pods nobody needs. Only an item
 * that the API server itself does not know is gone, and it was ours only if one of its objects
 * carries our identity; without one, the mark of our Landscaper, or if this process has seen the
 * item. */
#pragma once

#include "deployer/controller/controller.h"

struct gc;

struct gc *gc_new(struct controller *controller);
void gc_free(struct gc *gc); /* NULL is fine */
/* Has a pass begin in a moment, once items and pods are listed and we lead, unless the time of the
 * next one is set: they come collection_ms after each other. */
void gc_prompt(struct gc *gc);
/* An item that was there is gone. */
void gc_note_gone(struct gc *gc, const char *namespace_name, const char *name);
