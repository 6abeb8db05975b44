/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/export.h"

#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/data/timestamp.h"
#include "deployer/item/metadata.h"

/* 0 if it cannot be parsed. */
static int64_t time_of(const json_t *object, const char *path)
{
    int64_t unix_ms = 0;
    struct error err = {0};

    return timestamp_parse(doc_text_or(object, path, ""), &unix_ms, &err) == 0 ? unix_ms : 0;
}

/* The time of the last write to an object. */
static int64_t written_unix_ms(const json_t *object)
{
    const json_t *fields = doc_get(object, "metadata.managedFields");
    const json_t *field = NULL;
    int64_t newest = time_of(object, "metadata.creationTimestamp");
    size_t i = 0;

    json_array_foreach(fields, i, field)
    {
        int64_t time = time_of(field, "time");

        newest = time > newest ? time : newest;
    }
    return newest;
}

/* Both times are the API server's; those of a node (startTime, finishedAt) may be off. They have a
 * resolution of seconds, and no pod is created, pulled and run within one: what was written in the
 * second of its creation existed before. */
static bool is_written_after(const json_t *export, const json_t *pod)
{
    int64_t created_unix_ms = time_of(pod, "metadata.creationTimestamp");

    return created_unix_ms > 0 && written_unix_ms(export) > created_unix_ms;
}

bool export_is_of(const json_t *export, const json_t *pod, const char *job, const char *item_name)
{
    const char *owner = object_annotation(export, ANNOTATION_JOB);
    const char *pod_uid = object_annotation(export, ANNOTATION_POD_UID);
    const char *name = object_label(export, LABEL_NAME);
    cleanup_free char *own_name = name_label_value(item_name);

    if (!json_is_object(doc_member(export, "data")))
        return false;
    if (owner)
        return strcmp(owner, job) == 0 && pod_uid &&
               strcmp(pod_uid, doc_text_or(pod, "metadata.uid", "")) == 0;
    /* The Go deployer's wait leaves no mark, so the time has to do. */
    return (!name || strcmp(name, own_name) == 0) && is_written_after(export, pod);
}
