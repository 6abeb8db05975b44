/* SPDX-License-Identifier: Apache-2.0 */
/* Inside readiness*.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/apply/readiness.h"
#include "common/base/cleanup.h"

enum { READINESS_REASON_MAX = 64 };

struct readiness_verdict readiness_ready(void);
struct readiness_verdict readiness_not_ready(enum readiness readiness, const char *format, ...)
    printf_like(2, 3);
#define readiness_waiting(...) readiness_not_ready(READINESS_WAITING, __VA_ARGS__)
#define readiness_failed(...) readiness_not_ready(READINESS_FAILED, __VA_ARGS__)

bool readiness_is_group(const json_t *object, const char *group);
bool readiness_is_kind(const json_t *object, const char *group, const char *kind);

/* A number of replicas or pods, limited to 31 bits so that arithmetic cannot overflow. */
int64_t readiness_count(const json_t *object, const char *path, int64_t fallback);

/* The condition of status.conditions with this type; NULL: there is none. Borrowed. */
const json_t *readiness_condition(const json_t *object, const char *type);
/* Whether there is a condition with this type and status. */
bool readiness_has_condition(const json_t *object, const char *type, const char *status);
/* "condition Ready is False (Reason)". The condition exists. */
struct readiness_verdict readiness_by_condition(enum readiness readiness, const json_t *condition);

/* Whether a text looks like a reason: by convention a CamelCase word. Anything else could be a
 * message, which can contain anything. */
bool readiness_is_word(const char *text);

/* The first container of a pod that has a problem, "container c: CrashLoopBackOff, exit code 3":
 * it waits for a reason that is not a normal step of its start, or it has ended with an error.
 * Returns false if no container has one. */
bool readiness_explain_pod(const json_t *pod, char *ret_text, size_t size);

struct readiness_verdict readiness_judge_strictly(const json_t *object);
bool readiness_is_flux(const json_t *object);
/* Rules for Flux kinds that come before those for every kind, because Flux sets observedGeneration
 * only when a reconciliation has succeeded. READINESS_READY: the others decide. */
struct readiness_verdict readiness_judge_flux_first(const json_t *object);
/* The rules for Flux kinds, after those that apply to every kind. */
struct readiness_verdict readiness_judge_flux(const json_t *object);
