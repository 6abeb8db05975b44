/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: the memory of documents. A document is hundreds of small pieces that come and
 * go together; malloc keeps seven of a size at hand and sorts all others through its bins, which
 * was a tenth of what the controller did. Here the pieces of one document wait for the next. */
#pragma once

#include <stddef.h>

void *node_take(size_t size); /* never NULL */
void node_give(void *memory); /* of node_take(); may be NULL */
