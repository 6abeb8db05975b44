/* SPDX-License-Identifier: Apache-2.0 */
/* The status page of the lifecycle manager: clusters (Kymas) and modules (Manifests) by state. */
#pragma once

#include "deployer/page/watched.h"

enum clusters_page_kind { CLUSTERS_PAGE_KYMAS, CLUSTERS_PAGE_MANIFESTS, CLUSTERS_PAGE_KINDS };

/* What watched_page_new() needs to know about Kymas and Manifests: program, kinds, watched and
 * kind_count. The caller fills in the rest. */
extern const struct watched_options CLUSTERS_PAGE;
