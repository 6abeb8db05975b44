/* SPDX-License-Identifier: Apache-2.0 */
/* How a helm item was deployed, which is not always what its configuration says now: helmDeployment
 * can be changed, and the configuration of an item that is deleted can be broken or missing. The
 * provider status knows it: the release, or the objects that were applied. No I/O. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

enum helm_deployed {
    HELM_DEPLOYED_NOTHING, /* or it is not known, as in a status of the Go deployer */
    HELM_DEPLOYED_OBJECTS,
    HELM_DEPLOYED_RELEASE,
};

enum helm_deployed helm_deployed_as(const json_t *provider_status);

/* The member of the provider status for a release: a new reference. */
json_t *helm_deployed_release(const json_t *config);
#define HELM_STATUS_RELEASE "release"

/* Whether a deletion has to uninstall a release, and not to remove objects. */
bool helm_is_uninstall(const json_t *config, const json_t *provider_status);
/* What uninstalling the release of the status needs, whatever became of the item's configuration: a
 * new reference; NULL: the status has no release. */
json_t *helm_uninstall_config(const json_t *config, const json_t *provider_status);

/* ERROR_INVALID if helmDeployment was changed since the item was deployed: helm would not adopt
 * objects that belong to no release, and objects of a release would not be recorded. */
int helm_check_deployed(const json_t *config, const json_t *provider_status, struct error *err)
    must_check;
