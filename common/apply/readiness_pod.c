/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "common/apply/readiness_internal.h"
#include "common/data/doc.h"
#include "common/data/names.h"

static bool is_normal_wait(const char *reason)
{
    return strcmp(reason, "ContainerCreating") == 0 || strcmp(reason, "PodInitializing") == 0;
}

/* The exit code of the last failed execution of a container; 0 if none has failed. */
static int64_t failed_exit_code(const json_t *container)
{
    int64_t now = doc_integer_or(container, "state.terminated.exitCode", 0);

    return now ? now : doc_integer_or(container, "lastState.terminated.exitCode", 0);
}

static bool explain_container(const json_t *container, char *ret_text, size_t size)
{
    const char *name = doc_text_or(container, "name", "");
    const char *reason = doc_text_or(container, "state.waiting.reason", "");
    int64_t code = failed_exit_code(container);
    bool is_waiting = readiness_is_word(reason) && !is_normal_wait(reason);
    char exit_text[48] = "";

    if (!is_waiting && code == 0)
        return false;
    if (code != 0)
        (void)snprintf(exit_text, sizeof(exit_text), "%sexit code %lld", is_waiting ? ", " : "",
                       (long long)code);
    (void)snprintf(ret_text, size, "container %s: %s%s", name_is_dns_subdomain(name) ? name : "?",
                   is_waiting ? reason : "", exit_text);
    return true;
}

bool readiness_explain_pod(const json_t *pod, char *ret_text, size_t size)
{
    static const char *const lists[] = {"status.initContainerStatuses", "status.containerStatuses"};

    for (size_t i = 0; i < array_length(lists); i++) {
        const json_t *statuses = doc_get(pod, lists[i]);

        for (size_t j = 0; j < json_array_size(statuses); j++) {
            if (explain_container(json_array_get(statuses, j), ret_text, size))
                return true;
        }
    }
    return false;
}
