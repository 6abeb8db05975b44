/* SPDX-License-Identifier: Apache-2.0 */
#include "init/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/base/log.h"
#include "common/contract.h"

static bool is_in_registry(enum step step)
{
    return step == STEP_COMPONENTS || step == STEP_BLUEPRINT || step == STEP_CHART;
}

static const char *advice_on_input(enum step step)
{
    switch (step) {
    case STEP_CONFIGURATION:
        return "correct the provider configuration of the item";
    case STEP_COMPONENTS:
    case STEP_BLUEPRINT:
        return "correct the repository context of the configuration, or publish a corrected "
               "component "
               "version";
    case STEP_CHART:
        return "correct the chart of the provider configuration, or publish a corrected chart";
    case STEP_STATE:
        return "repair the state Secrets of the item, or delete them to start without state";
    case STEP_VOLUME:
    case STEP_SANDBOX:
    case STEP_IMPORTS:
    case STEP_TARGET:
        break;
    }
    return "check the volumes that the controller has mounted into the pod";
}

/* For errors of the shared volume, whatever the step; NULL for others. */
static const char *advice_on_volume(int os)
{
    if (os == ENOSPC || os == EDQUOT)
        return "the shared volume is full: raise pod.sharedVolumeSizeLimit in the configuration of "
               "the "
               "deployer, or reduce the blueprint and the state";
    if (os == EROFS)
        return "the shared volume is read-only: check the disk of the node, and whether an "
               "admission "
               "webhook changes the pod";
    return NULL;
}

const char *failure_advice(enum step step, const struct error *err)
{
    const char *volume = advice_on_volume(err->os);

    if (volume)
        return volume;
    switch (err->kind) {
    case ERROR_DENIED:
        /* TLS errors have neither a status nor an errno. */
        if (is_in_registry(step) && !err->http_status && !err->os)
            return "make init trust the certificate authority of the registry, see \"Private "
                   "certificate authorities\" in docs/inputs.md";
        if (step == STEP_CHART)
            return "check the credentials of the context: registryPullSecrets for registries, "
                   "configurations.helmChartRepoCredentials for chart repositories";
        if (is_in_registry(step))
            return "check the registry pull secrets of the context and the item, and the "
                   "credentials of the OCM configuration";
        if (step == STEP_STATE)
            return "check the role of the service account of the pod";
        return "check the permissions of the volumes of the pod";
    case ERROR_NOT_FOUND:
        if (step == STEP_CHART)
            return "check name, version and address of the chart";
        if (is_in_registry(step))
            return "check component name, version, resource name and repository context";
        return advice_on_input(step);
    case ERROR_TEMPORARY:
        return "start the job again when the server is available; " ENV_INIT_DEADLINE
               " sets how long init retries";
    case ERROR_TOO_LARGE:
        return "reduce its size; the limits protect the node and can't be changed";
    case ERROR_INVALID:
        return advice_on_input(step);
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
    int length = snprintf(message, sizeof(message), "init failed at step \"%s\": %s; %s\n",
                          step_name(step), err->text, advice);

    if (message_fd >= 0 && length > 0)
        (void)!write(message_fd, message, strlen(message));
    log_error("init failed", log_text("step", step_name(step)), log_text("error", err->text),
              log_text("kind", error_kind_name(err->kind)), log_text("advice", advice));
}
