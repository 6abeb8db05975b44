/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: the allocator of document trees. A document is hundreds of small blocks that
 * are allocated and freed together. They come from slabs of their own, for two reasons:
 * - It is faster. Measured with callgrind, in instructions, on a pod of 8 KB as a watch event, a
 *   DeployItem of 4 KB that is parsed and written, and a page of ten Secrets: 163,000, 186,000 and
 *   417,000 with free lists; 195,000, 216,000 and 465,000 with malloc().
 * - A process that works on thousands of clusters has hundreds of megabytes of documents for a
 *   moment. In the heap of malloc() what lives longer would be allocated between them, and the
 *   pages would stay resident. Here the memory of a slab is given back when its last block is. */
#pragma once

#include <stddef.h>

/* As malloc(), but never returns NULL. Not thread-safe. */
void *node_take(size_t size);
/* Takes blocks of node_take(), and of malloc(): jansson may have allocated before doc_setup(). */
void node_give(void *memory);
