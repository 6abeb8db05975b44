/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of a cluster, as templates of a chart see them. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"

/* From an APIGroupDiscoveryList or an APIGroupList of an API server: "group/version" and
 * "group/version/Kind" of everything but the core group, which every cluster has. Versions come
 * first, so that they are kept if there is no room for all. A new array of strings. */
json_t *helm_api_versions(const json_t *discovery);

/* Whether the server refuses to say its version or its API groups, which every user of a cluster
 * may usually read. helm then has its defaults. Other errors may pass. */
bool helm_is_capability_refused(const struct error *err);
