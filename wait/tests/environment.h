/* SPDX-License-Identifier: Apache-2.0 */
/* Test helper: every variable that wait reads. */
#pragma once

#include "common/contract.h"

static const char *const wait_variables[] = {
    ENV_EXPORTS_PATH,
    ENV_EXPORT_PATH_OLD,
    ENV_STATE_PATH,
    ENV_STATE_OLD,
    ENV_POD_NAME,
    ENV_POD_NAMESPACE,
    ENV_DEPLOY_ITEM_NAME,
    ENV_DEPLOY_ITEM_NAMESPACE,
    ENV_JOB_ID,
    ENV_POD_UID,
    ENV_STATE_SEQUENCE,
    ENV_STATE_SHA256,
    ENV_SINK_DIR,
    ENV_STATE_NEXT_SEQUENCE,
    ENV_STATE_NAME_PREFIX,
    ENV_MAIN_END_FD,
    ENV_GRACE_SECONDS,
    ENV_MAIN_GRACE_SECONDS,
    ENV_TERMINATION_LOG,
    ENV_EXPORT_NAME,
    ENV_REPORT_NAME,
};
