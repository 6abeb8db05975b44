/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/gc_judge.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/objects.h"
#include "deployer/pod/owner.h"

bool gc_is_ours(const struct deployer_config *config, const struct gone_list *gone,
                const json_t *object, const char *namespace_name, const char *name)
{
    switch (owner_of(config, object)) {
    case OWNER_OURS:
        return true;
    case OWNER_UNSAID:
        return gone_has(gone, namespace_name, name);
    case OWNER_THEIRS:
        break;
    }
    return false;
}

static const char *created(const struct pod_entry *entry)
{
    return doc_text_or(entry->pod, "metadata.creationTimestamp", "");
}

/* The result of the newest pod with a finalizer may not have been read yet. */
static bool is_newest(const struct record *record, const struct pod_entry *entry)
{
    for (const struct pod_entry *other = record_pods(record); other; other = other->next) {
        /* RFC 3339 timestamps in UTC can be compared as text. */
        if (other != entry && object_has_finalizer(other->pod, FINALIZER_POD) &&
            strcmp(created(other), created(entry)) > 0)
            return false;
    }
    return true;
}

enum gc_pod gc_judge_pod(const struct record *record, const struct pod_entry *entry, bool is_ours,
                         bool is_pod_kept)
{
    bool is_over = pod_is_over(entry->pod);

    if (!record->is_known)
        return is_ours ? GC_POD_ASK : GC_POD_KEEP;
    if (!is_over || is_pod_kept || !record->is_finished)
        return GC_POD_KEEP;
    if (object_has_finalizer(entry->pod, FINALIZER_POD) && is_newest(record, entry))
        return GC_POD_KEEP;
    /* Only a finalizer of somebody else is left. */
    if (doc_text(entry->pod, "metadata.deletionTimestamp") &&
        !object_has_finalizer(entry->pod, FINALIZER_POD))
        return GC_POD_KEEP;
    return GC_POD_REMOVE;
}

bool gc_is_item_gone(const char *name, const struct error *err)
{
    cleanup_free char *message =
        xasprintf(": " RESOURCE_DEPLOY_ITEMS "." LANDSCAPER_GROUP " \"%s\" not found", name);

    return err->kind == ERROR_NOT_FOUND && strstr(err->text, message);
}

bool gc_is_old_input(const json_t *object, const struct record *record, int64_t before_unix_ms)
{
    const char *role = object_label(object, LABEL_ROLE);
    int64_t created_unix_ms = 0;
    struct error err = {0};

    if (!role || strcmp(role, LABEL_ROLE_RUN) != 0)
        return false;
    if (!record->is_finished || record->task || record->tracked)
        return false;
    return timestamp_parse(doc_text_or(object, "metadata.creationTimestamp", ""), &created_unix_ms,
                           &err) == 0 &&
           created_unix_ms < before_unix_ms;
}
