/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/manifest/late_root.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"

const json_t *late_root_owner(const json_t *object)
{
    const json_t *owners = doc_get(object, "metadata.ownerReferences");

    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);
        const char *kind = doc_text_or(owner, "kind", "");

        if (strncmp(doc_text_or(owner, "apiVersion", ""), LANDSCAPER_GROUP "/",
                    sizeof(LANDSCAPER_GROUP "/") - 1) == 0 &&
            (strcmp(kind, KIND_INSTALLATION) == 0 || strcmp(kind, KIND_EXECUTION) == 0) &&
            *doc_text_or(owner, "name", ""))
            return owner;
    }
    return NULL;
}

bool late_root_is_installation(const json_t *object)
{
    return strcmp(doc_text_or(object, "kind", ""), KIND_INSTALLATION) == 0;
}

static const char *annotation(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(doc_get(object, "metadata.annotations"), name));
}

enum late_verdict late_root_judge(const json_t *installation)
{
    const char *phase = doc_text_or(installation, "status.phase", "");
    const char *job = doc_text_or(installation, "status.jobID", "");

    if (doc_get(installation, "metadata.deletionTimestamp") ||
        annotation(installation, ANNOTATION_OPERATION) ||
        strcmp(job, doc_text_or(installation, "status.jobIDFinished", "")) != 0)
        return LATE_INSTALLATION_BUSY;
    if (strcmp(phase, PHASE_FAILED) == 0 || strcmp(phase, PHASE_DELETE_FAILED) == 0)
        return LATE_INSTALLATION_FAILED;
    return strcmp(phase, PHASE_SUCCEEDED) == 0 ? LATE_TRIGGERED : LATE_INSTALLATION_BUSY;
}

/* Begins with the time, so that marks can be compared. */
char *late_root_mark(const struct late_memory *memory, const char *item_uid)
{
    char time[TIMESTAMP_MAX] = {0};

    timestamp_format(memory->triggered_unix_ms, time);
    return xasprintf("%s %s %s", time, item_uid, *memory->change ? memory->change : "schedule");
}

bool late_root_is_marked(const json_t *installation, const char *mark)
{
    const char *found = annotation(installation, ANNOTATION_TRIGGERED_BY);
    size_t time = strcspn(mark, " ");

    return found && (strcmp(found, mark) == 0 || strncmp(found, mark, time) > 0);
}
