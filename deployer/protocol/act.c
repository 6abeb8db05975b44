/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/act.h"

typedef void act_fn(struct task *task);

void act_run(struct task *task)
{
    static act_fn *const acts[] = {
        [ACTION_NONE] = task_done,
        [ACTION_WAIT] = task_done,
        [ACTION_LOCK] = act_lock,
        [ACTION_UNLOCK] = act_unlock,
        [ACTION_CLAIM] = act_claim,
        [ACTION_RESOLVE_TARGET] = act_resolve_target,
        [ACTION_LOOK_BACK] = act_look_back,
        [ACTION_BEGIN] = act_begin,
        [ACTION_DROP_NOTE] = act_drop_note,
        [ACTION_ADD_FINALIZER] = act_add_finalizer,
        [ACTION_START] = act_start,
        [ACTION_REPORT] = act_report,
        [ACTION_REPORT_FAULT] = act_report_fault,
        [ACTION_VERIFY_POD] = act_verify_pod,
        [ACTION_END_POD] = act_end_pod,
        [ACTION_DISCARD_POD] = act_discard_pod,
        [ACTION_CLEAN_RUN] = act_clean_run,
        [ACTION_COMPLETE] = act_complete,
        [ACTION_FAIL] = act_fail,
        [ACTION_FINISH_AS_IS] = act_finish_as_is,
        [ACTION_CLEAN_ITEM] = act_clean_item,
    };

    acts[task->action](task);
}
