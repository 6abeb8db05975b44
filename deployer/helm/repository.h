/* SPDX-License-Identifier: Apache-2.0 */
/* What init gets from the Context of a helm item: credentials of a chart repository
 * (configurations.helmChartRepoCredentials), and the repository of components. No I/O. */
#pragma once

#include "common/base/buffer.h"
#include "deployer/item/provider.h"

/* chart.repository of the configuration for init; NULL: the chart comes from elsewhere. */
json_t *helm_repository_of(const struct run_spec *run);

/* The entry of the Context for the chart repository of the run; NULL if no entry is for it.
 * Borrowed. */
const json_t *helm_repository_entry(const struct run_spec *run, const json_t *context);
/* The name of the Secret with the entry's credentials; NULL: they are part of the entry. */
const char *helm_repository_secret(const json_t *entry);
/* Appends the credentials of that Secret to ret_header, whose memory the caller wipes.
 * ERROR_INVALID names the Secret and the key. */
int helm_repository_header(const json_t *entry, const json_t *secret, struct buffer *ret_header,
                           struct error *err) must_check;
/* Gives init the entry, with header as its credentials; NULL or "": only the certificates. */
void helm_repository_authorize(struct run_spec *run, const json_t *entry, const char *header);

/* A component without a repository of its own is looked up in that of the Context first. */
void helm_use_repository_context(struct run_spec *run, const json_t *context);
