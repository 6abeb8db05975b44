/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: whether one object fulfils a check. Pure. */
#pragma once

#include "common/apply/checks.h"

/* What is kept of an object: not the object itself, but the verdict on it, and the values that have
 * to be compared with those of another object later. */
struct check_subject {
    bool is_present;
    enum readiness readiness; /* without the requirements that have a value_from */
    char *reason;             /* why it is not ready; NULL: it is */
    json_t **found;     /* parallel to the requirements; NULL elements: they have no value_from */
    size_t found_count; /* 0: no requirement has one */
};

void check_subject_done(struct check_subject *subject);
/* Judges an object; NULL: it does not exist. check NULL: the default check. */
void check_subject_judge(struct check_subject *subject, const struct custom_check *check,
                         enum readiness_rules rules, const json_t *object);
/* Whether the object fulfils the check. sources is parallel to the requirements: what each
 * value_from found, an array; NULL elements: nothing was found yet. NULL: there are none. Otherwise
 * err->text says why, with names, paths and types, never with values. */
bool check_subject_holds(const struct check_subject *subject, const struct custom_check *check,
                         json_t *const *sources, struct error *err);
/* Whether an object that is ready stays so whatever its status becomes: then it need not be
 * watched. */
bool check_is_settled(const json_t *object, enum readiness_rules rules);
/* What a value_from finds in its object, a new array; NULL, with the reason in err, if there is
 * nothing to compare with. object NULL: it does not exist. */
json_t *check_find_source(const struct check_requirement *requirement, const json_t *object,
                          struct error *err) must_check;
