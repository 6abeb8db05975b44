/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the back-off that kube_share_back_off() turns on, for metrics. */
#pragma once

#include "common/kube/client.h"

/* Whether the server did not respond to the last attempt, so that requests fail until the next one.
 */
bool kube_is_backing_off(const struct kube *kube);
