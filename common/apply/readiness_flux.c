/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of Flux, as far as one object alone can tell. Unlike other controllers, those of Flux
 * leave Ready as it was until a reconciliation has ended, and acknowledge a request even if they
 * did nothing, so that Ready alone can describe an earlier state. */
#include <string.h>

#include "common/apply/readiness_internal.h"
#include "common/apply/reference.h"
#include "common/data/doc.h"

#define GROUP_SUFFIX ".toolkit.fluxcd.io"
#define REQUESTED_AT "reconcile.fluxcd.io/requestedAt"

bool readiness_is_flux(const json_t *object)
{
    const char *group = NULL;
    const char *version = NULL;
    size_t size = 0;

    api_version_split(doc_text_or(object, "apiVersion", ""), &group, &size, &version);
    return size > strlen(GROUP_SUFFIX) &&
           memcmp(group + size - strlen(GROUP_SUFFIX), GROUP_SUFFIX, strlen(GROUP_SUFFIX)) == 0;
}

/* Kinds that no controller reconciles. */
static bool is_static(const json_t *object)
{
    static const char notification[] = "notification" GROUP_SUFFIX;

    return readiness_is_kind(object, notification, "Alert") ||
           readiness_is_kind(object, notification, "Provider") ||
           (readiness_is_kind(object, "source" GROUP_SUFFIX, "HelmRepository") &&
            strcmp(doc_text_or(object, "spec.type", ""), "oci") == 0);
}

/* Whether a condition was made for the present generation, as far as it says. */
static bool is_current(const json_t *object, const json_t *condition)
{
    int64_t generation = doc_integer_or(object, "metadata.generation", 0);

    return doc_integer_or(condition, "observedGeneration", generation) >= generation;
}

static struct readiness_verdict judge_condition(const json_t *object, const char *type,
                                                bool is_required)
{
    const json_t *condition = readiness_condition(object, type);

    if (!condition)
        return is_required ? readiness_waiting("condition %s is missing", type) : readiness_ready();
    if (strcmp(doc_text_or(condition, "status", ""), "True") != 0)
        return readiness_by_condition(READINESS_WAITING, condition);
    if (!is_current(object, condition))
        return readiness_waiting("condition %s is older than the last change", type);
    return readiness_ready();
}

/* A condition with this status that was made for the present generation; NULL: none. */
static const json_t *current_condition(const json_t *object, const char *type, const char *status)
{
    const json_t *condition = readiness_condition(object, type);

    if (!condition || strcmp(doc_text_or(condition, "status", ""), status) != 0)
        return NULL;
    return is_current(object, condition) ? condition : NULL;
}

struct readiness_verdict readiness_judge_flux_first(const json_t *object)
{
    const char *requested =
        json_string_value(doc_member(doc_get(object, "metadata.annotations"), REQUESTED_AT));
    const json_t *stalled = current_condition(object, "Stalled", "True");
    const json_t *failed = current_condition(object, "Ready", "False");

    if (doc_bool_or(object, "spec.suspend", false))
        return readiness_failed("the object is suspended, so Flux does not reconcile it");
    if (is_static(object) || !doc_get(object, "status.observedGeneration"))
        return readiness_ready();
    /* Until then all conditions may be those of an earlier request. */
    if (requested && *requested &&
        strcmp(requested, doc_text_or(object, "status.lastHandledReconcileAt", "")) != 0)
        return readiness_waiting("the requested reconciliation has not ended yet");
    if (stalled)
        return readiness_by_condition(READINESS_FAILED, stalled);
    return failed ? readiness_by_condition(READINESS_WAITING, failed) : readiness_ready();
}

struct readiness_verdict readiness_judge_flux(const json_t *object)
{
    struct readiness_verdict verdict = judge_condition(object, "Ready", true);

    if (is_static(object))
        return readiness_ready();
    if (!doc_get(object, "status.observedGeneration"))
        return readiness_waiting("its controller has not seen it yet");
    return verdict.readiness == READINESS_READY ? judge_condition(object, "Healthy", false)
                                                : verdict;
}
