/* SPDX-License-Identifier: Apache-2.0 */
#include "init/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/base/log.h"
#include "common/contract.h"

const char *step_name(enum step step)
{
    switch (step) {
    case STEP_CONFIGURATION:
        return "configuration";
    case STEP_VOLUME:
        return "volume";
    case STEP_SANDBOX:
        return "sandbox";
    case STEP_COMPONENTS:
        return "components";
    case STEP_BLUEPRINT:
        return "blueprint";
    case STEP_IMPORTS:
        return "imports";
    case STEP_TARGET:
        return "target";
    case STEP_STATE:
        return "state";
    }
    return "init";
}

static bool is_registry(enum step step)
{
    return step == STEP_COMPONENTS || step == STEP_BLUEPRINT;
}

static const char *advice_on_content(enum step step)
{
    switch (step) {
    case STEP_CONFIGURATION:
        return "correct the configuration and start the job again";
    case STEP_COMPONENTS:
    case STEP_BLUEPRINT:
        return "correct what is published there, or refer to another version";
    case STEP_STATE:
        return "remove or repair the state secrets of the item";
    case STEP_VOLUME:
    case STEP_SANDBOX:
    case STEP_IMPORTS:
    case STEP_TARGET:
        break;
    }
    return "look at what the controller has mounted into the pod";
}

/* What only the volume can be blamed for, whatever the step; NULL if it is not that. */
static const char *advice_on_volume(int os)
{
    if (os == ENOSPC || os == EDQUOT)
        return "the shared volume is full: raise pod.sharedVolumeSizeLimit in the deployer's "
               "configuration, or make content and state smaller";
    if (os == EROFS)
        return "the shared volume is mounted read-only: look at the node's disk and at what "
               "changes pods on their way (admission webhooks)";
    return NULL;
}

const char *failure_advice(enum step step, const struct error *err)
{
    const char *volume = advice_on_volume(err->os);

    if (volume)
        return volume;
    switch (err->kind) {
    case ERROR_DENIED:
        if (is_registry(step))
            return "check the registry pull secrets of the context and the item, and the "
                   "credentials of the OCM configuration";
        if (step == STEP_STATE)
            return "check the role of the pod's service account";
        return "check who may read and write the pod's volumes";
    case ERROR_NOT_FOUND:
        if (is_registry(step))
            return "check component name, version, resource name and repository context";
        return advice_on_content(step);
    case ERROR_TEMPORARY:
        return "start the job again once the server can be reached; " ENV_INIT_DEADLINE
               " says how long init tries";
    case ERROR_TOO_LARGE:
        return "make it smaller: the limit protects the node";
    case ERROR_INVALID:
        return advice_on_content(step);
    case ERROR_NONE:
    case ERROR_EXISTS:
    case ERROR_CONFLICT:
    case ERROR_GONE:
    case ERROR_CANCELLED:
    case ERROR_INTERNAL:
        break;
    }
    return "see the log of the init container";
}

int failure_open_message(const char *path)
{
    return open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

void failure_report(enum step step, const struct error *err, int message_fd)
{
    const char *advice = failure_advice(step, err);
    char message[FAILURE_MESSAGE_MAX];
    int length = snprintf(message, sizeof(message), "init failed at %s: %s; %s\n", step_name(step),
                          err->text, advice);

    if (message_fd >= 0 && length > 0)
        (void)!write(message_fd, message, strlen(message));
    log_error("init failed", log_text("step", step_name(step)), log_text("error", err->text),
              log_text("kind", error_kind_name(err->kind)), log_text("advice", advice));
}
