/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collector: removes what is left after a crash, a removed finalizer or a rollback to
 * another deployer: objects of deleted items, inputs of finished runs, pods that are not needed any
 * more. Objects are kept on any doubt. An item is deleted only if the API server says that it does
 * not exist. It was ours only if one of its objects has our identity or, without an identity, the
 * label of our Landscaper, or if this process has seen the item. */
#pragma once

struct gc;
struct pod_engine;

struct gc *gc_new(struct pod_engine *engine);
void gc_free(struct gc *gc); /* NULL is fine */
/* Schedules a pass, unless one is scheduled or running. Does nothing before items and pods are
 * listed and we are the leader. After a pass the next one follows in collection_ms. */
void gc_prompt(struct gc *gc);
/* To be called when an item that this process knew is deleted. */
void gc_note_gone(struct gc *gc, const char *namespace_name, const char *name);
