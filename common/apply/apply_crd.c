/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/apply_internal.h"
#include "common/apply/readiness_internal.h"
#include "common/data/doc.h"

/* Ends the job if the CRD says enough. Returns whether it did. */
static bool judge(struct apply_job *job, const json_t *crd)
{
    struct error err = {0};

    if (readiness_has_condition(crd, "Established", "True")) {
        apply_job_done(job, job->outcome, crd);
        return true;
    }
    if (doc_text(crd, "metadata.deletionTimestamp"))
        (void)error_set(&err, ERROR_CONFLICT, "it is being deleted");
    else if (readiness_has_condition(crd, "NamesAccepted", "False"))
        (void)error_set(
            &err, ERROR_CONFLICT, "its names were not accepted: %s",
            doc_text_or(readiness_condition(crd, "NamesAccepted"), "message", "no reason given"));
    else
        return false;
    apply_job_failed(job, &err);
    return true;
}

static void on_crd(void *data, const json_t *object, const struct error *err)
{
    struct apply_job *job = data;
    struct error gone = {0};

    if (object) {
        (void)judge(job, object);
    } else if (!err) {
        (void)error_set(&gone, ERROR_CONFLICT, "it was deleted meanwhile");
        apply_job_failed(job, &gone);
    } else if (err->kind == ERROR_DENIED) {
        /* Without the permission to look, its objects are tried until they are known. */
        apply_job_done(job, job->outcome, job->written);
    } else {
        job->waiting_err = *err;
    }
}

void apply_job_wait_established(struct apply_job *job)
{
    const struct plan_object *object = job->object;
    cleanup_json json_t *known = json_pack("[O]", job->written);
    int64_t ignored = 0;
    struct error err = {0};

    job->doing = "established";
    if (judge(job, job->written))
        return;
    if (cluster_watch_known(job->apply->cluster, &object->kind, NULL, object->ref.name, NULL, known,
                            on_crd, job, &ignored, &job->interest, &err) < 0)
        apply_job_failed(job, &err);
}
