/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the Target and checks whether our target selector matches it. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "deployer/item/target.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/observe.h"

enum { TARGET_CONTENT_MAX = SECRET_MAX_BYTES };

/* The content can be wrong in two ways: unreadable now, which the user may correct, or not allowed.
 * The second is remembered rather than reported here, because it must not keep an item from being
 * removed by force. */
static void keep_target(struct task *task, const json_t *secret)
{
    struct task_target *target = &task->known.target_read;
    cleanup_buffer struct buffer content = {0};
    struct error err = {0};

    buffer_init(&content, TARGET_CONTENT_MAX);
    if (target_content(target->object, secret, &content, &err) < 0) {
        (void)error_wrap(&err, "target \"%s\"", item_effective_target(task->item));
        /* The user may add a missing key; the job's timeout is the limit. */
        err.kind = ERROR_TEMPORARY;
        task_set_fault(task, task_pass_name(task), "ResolveTarget", &err, NULL);
        return;
    }
    target->error = (struct error){0};
    (void)!target_validate(content.data ? content.data : "", content.size, &target->error);
    target->content_size = content.size;
    target->content = buffer_take(&content);
    task->known.target = TARGET_KNOWN;
    task_done(task);
}

static void on_secret(struct task *task, json_t *object, const struct error *err)
{
    struct error cause = *err;

    if (err->kind == ERROR_NONE) {
        keep_target(task, object);
        return;
    }
    (void)error_wrap(&cause, "target \"%s\"", item_effective_target(task->item));
    cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, task_pass_name(task), "ResolveTarget", &cause, NULL);
}

static void on_target(struct task *task, json_t *object, const struct error *err)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name};

    task_set_owner_unknown(task, task->controller->has_selector && err->kind != ERROR_NONE &&
                                     err->kind != ERROR_NOT_FOUND);
    if (err->kind == ERROR_NOT_FOUND) {
        task->known.target = TARGET_MISSING;
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        struct error cause = *err;

        (void)error_wrap(&cause, "target \"%s\"", item_effective_target(task->item));
        cause.kind = ERROR_TEMPORARY;
        /* The item may be another deployer's, so nothing is written to it, not even an Event. */
        if (task->known.is_owner_unknown)
            task_back_off(task, "cannot read the target", &cause);
        else
            task_set_fault(task, task_pass_name(task), "ResolveTarget", &cause, NULL);
        return;
    }
    if (!selector_matches(task->controller->config->target_selector, object)) {
        task->known.target = TARGET_NOT_OURS;
        task_done(task);
        return;
    }
    if (task->chain.action == ACTION_CLAIM) {
        task->known.target = TARGET_OURS;
        task_done(task);
        return;
    }
    task_drop_target(task);
    task->known.target_read.object = json_incref(object);
    request.name = target_secret_name(object);
    if (!request.name) {
        keep_target(task, NULL);
        return;
    }
    task_request(task, task->controller->landscaper, &request, on_secret);
}

void act_claim(struct task *task)
{
    act_resolve_target(task);
}

void act_resolve_target(struct task *task)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_TARGETS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = item_effective_target(task->item)};

    /* Mistakes in the item are reported before its target is looked for: the name of the target may
     * be the mistake. With a selector the target has to be read first, because the item may not be
     * ours.
     */
    if (!task->controller->has_selector && !task->item->is_deleting &&
        task->item->mistakes.errors > 0) {
        task->known.target = TARGET_KNOWN;
        task_done(task);
        return;
    }
    task_request(task, task->controller->landscaper, &request, on_target);
}
