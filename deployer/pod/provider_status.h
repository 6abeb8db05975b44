/* SPDX-License-Identifier: Apache-2.0 */
/* status.providerStatus and status.conditions of a DeployItem, made from its pod. No I/O. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "deployer/pod/verdict.h"

/* The providerStatus, a new reference. pod may be NULL if nothing is known about it, and so may
 * last_successful_job, verdict and log_tail; the last two fill the fields that the Go deployer does
 * not have (podStatus.outcome, mainLogTail). */
json_t *status_provider(const json_t *pod, const char *operation, const char *last_successful_job,
                        const struct pod_verdict *verdict, const char *log_tail);

/* pod_running_container() of the pod that the providerStatus was made from. */
const char *status_running_container(const json_t *provider_status);

/* Merges InitContainer and WaitContainer into status.conditions by the rules of the Go deployer. */
void status_set_conditions(json_t *status, const json_t *pod, int64_t now_unix_ms);
