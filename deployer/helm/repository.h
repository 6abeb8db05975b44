/* SPDX-License-Identifier: Apache-2.0 */
/* What init gets from the Context of a helm item: credentials of a chart repository
 * (configurations.helmChartRepoCredentials), and the repository of components. No I/O. */
#pragma once

#include "common/base/buffer.h"
#include "deployer/item/provider.h"

/* Whether the chart is a resource of a component, so that only init finds out whether it is in a
 * chart repository, and in which one. */
bool helm_repository_is_found_by_init(const struct run_spec *run);

/* The entries of the Context that init needs: the one for the chart repository of the run, or all
 * if init finds the repository. A new reference to an array, which may be empty. */
json_t *helm_repository_entries(const struct run_spec *run, const json_t *context);
/* The name of the Secret with the entry's credentials; NULL: they are part of the entry. */
const char *helm_repository_secret(const json_t *entry);
/* Appends the credentials of that Secret to ret_header, whose memory the caller wipes.
 * ERROR_INVALID names the Secret and the key. */
int helm_repository_header(const json_t *entry, const json_t *secret, struct buffer *ret_header,
                           struct error *err) must_check;
/* Gives init the entry, with header as its credentials; NULL or "": only the certificates. */
void helm_repository_authorize(struct run_spec *run, const json_t *entry, const char *header);
/* Tells init why there are no credentials, which is an error only if the entry turns out to be that
 * of the chart. */
void helm_repository_refuse(struct run_spec *run, const json_t *entry, const char *problem);

/* A component without a repository of its own is looked up in that of the Context first. */
void helm_use_repository_context(struct run_spec *run, const json_t *context);
