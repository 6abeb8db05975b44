/* SPDX-License-Identifier: Apache-2.0 */
/* Whose item is this, and what is its target? */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "deployer/controller/act.h"
#include "deployer/controller/observe.h"
#include "deployer/item/target.h"

enum { TARGET_CONTENT_MAX = SECRET_MAX_BYTES };

static const char *pass_name(const struct task *task)
{
    return task->item->is_deleting ? "delete" : "reconcile";
}

/* The target's content can be wrong in two ways: unreadable now (the user may mend it), or not
 * allowed. The second is kept, because it must not keep an item from being cleaned up by force. */
static void keep_target(struct task *task, const json_t *secret)
{
    struct task_inputs *inputs = &task->inputs;
    cleanup_buffer struct buffer content = {0};
    struct error err = {0};

    buffer_init(&content, TARGET_CONTENT_MAX);
    if (target_content(inputs->target_object, secret, &content, &err) < 0) {
        (void)error_wrap(&err, "target '%s'", item_effective_target(task->item));
        /* A missing key is the user's to add; the job's time decides. */
        err.kind = ERROR_TEMPORARY;
        task_set_fault(task, pass_name(task), "ResolveTarget", &err, NULL);
        return;
    }
    inputs->target_error = (struct error){0};
    (void)!target_validate(content.data ? content.data : "", content.size, &inputs->target_error);
    wipe_free(inputs->target_file);
    inputs->target_file =
        target_document(inputs->target_object, content.data ? content.data : "", content.size);
    inputs->target_file_size = strlen(inputs->target_file);
    if (content.data)
        explicit_bzero(content.data, content.size);
    task->target = TARGET_KNOWN;
    task_done(task);
}

static void on_secret(struct task *task, json_t *object, const struct error *err)
{
    struct error cause = *err;

    if (err->kind == ERROR_NONE) {
        keep_target(task, object);
        return;
    }
    (void)error_wrap(&cause, "target '%s'", item_effective_target(task->item));
    cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, pass_name(task), "ResolveTarget", &cause, NULL);
}

static void on_target(struct task *task, json_t *object, const struct error *err)
{
    struct task_inputs *inputs = &task->inputs;
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .left_out = OBJECT_LEFT_OUT,
                                   .namespace_name = task->record->namespace_name};

    task_set_held(task, task->controller->has_selector && err->kind != ERROR_NONE &&
                            err->kind != ERROR_NOT_FOUND);
    if (err->kind == ERROR_NOT_FOUND) {
        task->target = TARGET_MISSING;
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        struct error cause = *err;

        (void)error_wrap(&cause, "target '%s'", item_effective_target(task->item));
        cause.kind = ERROR_TEMPORARY;
        /* Nobody knows yet whether the item is ours, so nothing is written to it, nor about it. */
        if (task->is_held)
            task_hold(task, "the target can't be read", &cause);
        else
            task_set_fault(task, pass_name(task), "ResolveTarget", &cause, NULL);
        return;
    }
    if (!selector_matches(task->controller->config->target_selector, object)) {
        task->target = TARGET_NOT_OURS;
        task_done(task);
        return;
    }
    if (task->action == ACTION_CLAIM) {
        task->target = TARGET_OURS;
        task_done(task);
        return;
    }
    json_decref(inputs->target_object);
    inputs->target_object = json_incref(object);
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
                                   .left_out = OBJECT_LEFT_OUT,
                                   .namespace_name = task->record->namespace_name,
                                   .name = item_effective_target(task->item)};

    /* What is wrong with the item is said before what it refers to is looked for: the name of its
     * target may be the mistake. With a selector the target has to say first whose item it is. */
    if (!task->controller->has_selector && !task->item->is_deleting &&
        task->item->mistakes.errors > 0) {
        task->target = TARGET_KNOWN;
        task_done(task);
        return;
    }
    task_request(task, task->controller->landscaper, &request, on_target);
}
