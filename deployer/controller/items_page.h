/* SPDX-License-Identifier: Apache-2.0 */
/* The status page of the controller: a row for each item, and the description of one. */
#pragma once

#include "deployer/protocol/controller.h"
#include "deployer/serve/server.h"

struct items_page;

/* Serves the page and makes it the controller's listener, to be called before items are listed.
 * Both are borrowed. */
struct items_page *items_page_new(struct controller *controller, struct server *server);
/* After server_free(). NULL is fine. */
void items_page_free(struct items_page *page);
