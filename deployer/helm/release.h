/* SPDX-License-Identifier: Apache-2.0 */
/* A release as helm stores it in a Secret of the target cluster. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/apply/inventory.h"
#include "common/base/error.h"

/* Of a release that was unpacked: the manifest, the values and the metadata of the chart count. */
enum { HELM_RELEASE_BYTES_MAX = 32 * 1024 * 1024 };

/* Selects the Secrets of a release by their labels. Belongs to the caller. */
char *helm_release_selector(const char *name, bool is_deployed_only);
/* The Secret with the highest revision; NULL if the list is empty. Borrowed. */
const json_t *helm_release_newest(const json_t *secrets);
/* Whether an operation on the revision has begun and not ended. */
bool helm_release_is_pending(const json_t *secret);

/* Reads the release of a Secret of type helm.sh/release.v1: base64 of gzipped JSON, or of JSON. The
 * templates and files of the chart are skipped. *ret_release is a new reference. No message
 * contains a part of it. */
int helm_release_parse(const json_t *secret, json_t **ret_release, struct error *err) must_check;

/* The objects of the release's manifest whose readiness the default check knows, as in the Go
 * deployer: Pods, Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers. Those
 * without a namespace are in that of the release. */
int helm_release_objects(const json_t *release, struct inventory *ret_objects, struct error *err)
    must_check;

/* What templates saw: {"Values", "Chart", "Release"}. A new reference. */
json_t *helm_release_values(const json_t *release);
