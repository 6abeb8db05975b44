/* SPDX-License-Identifier: Apache-2.0 */
/* Meaning of the kubelet's message for an image that can't be pulled. */
#pragma once

#include <stdbool.h>

/* Whether the registry has answered that the image does not exist or must not be pulled, so that
 * waiting does not help. False for a rate limit, a timeout or a certificate. The kubelet passes on
 * the text of the container runtime (containerd, CRI-O), which has no stable codes. */
bool pull_is_refused(const char *message);
