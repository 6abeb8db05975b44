/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: the parts of the checks. checks.c decides when all of them hold,
 * checks_watch.c follows single objects, checks_selection.c those that labels select,
 * checks_pods.c finds out why a workload failed. */
#pragma once

#include "common/apply/checks_eval.h"
#include "common/apply/checks_flux.h"
#include "common/apply/checks_pods.h"
#include "common/apply/follow.h"
#include "common/apply/summary.h"
#include "common/base/loop.h"

struct check;

/* One object of the default check, or of the resourceSelector of a custom check. */
struct check_object {
    struct checks *checks;
    struct check *check; /* NULL: the default check */
    const struct object_ref *ref;
    struct follow *follow; /* NULL: not watched */
    struct check_subject subject;
    struct check_flux flux; /* for strict rules */
    bool holds;
    bool is_known; /* it was observed, and can be at present */
    char *problem; /* why it cannot be watched at present; NULL: it can */
};

/* An object that labels selected. */
struct check_member {
    char *namespace_name, *name; /* namespace_name NULL: cluster-scoped */
    struct check_subject subject;
    bool holds;
};

/* What labels select in one namespace, or in all. */
struct check_selection {
    struct check *check;
    struct follow *follow;
    bool is_complete;              /* the list was */
    bool is_away;                  /* it cannot be observed at present */
    struct check_member **members; /* sorted */
    size_t count, capacity;
    char *problem;
};

/* The object of a value_from. */
struct check_source {
    struct check *check;
    const struct check_requirement *requirement; /* NULL: it has none */
    struct follow *follow;
    struct error problem; /* why there is no value; ERROR_NONE: there is one */
    bool is_known;        /* it was observed, and can be at present */
};

/* A custom check. */
struct check {
    struct checks *checks;
    const struct custom_check *custom;
    struct cluster *cluster;
    struct check_object *objects;
    struct check_selection *selections;
    size_t selection_count;
    size_t member_count, open_count; /* of all selections; open: that do not hold */
    bool is_overfull;                /* more than CHECK_OBJECTS_MAX were selected */
    bool holds;                      /* for the members as a whole */
    struct check_source *sources;    /* parallel to the requirements */
    json_t **values;                 /* likewise: what they found, or NULL */
};

struct checks {
    struct checks_options options;
    struct check_object *objects; /* of the default check */
    struct check *custom;
    size_t custom_count; /* without disabled ones */
    size_t open_count;   /* how much does not hold: objects, and custom checks by their members */
    struct error failure;
    struct check_pods pods;  /* of the object that failed */
    struct loop_timer timer; /* ends the checks */
    bool is_over;
};

/* Notes that something holds now, or does not. */
void checks_note(struct checks *checks, bool *holds, bool holds_now);
/* An object failed for good: live, which is called name in messages. */
void checks_fail(struct checks *checks, const struct check *check, const char *name,
                 const char *reason, const json_t *live);
void checks_set_problem(char **problem, const struct error *err); /* err NULL: there is none */

/* object is initialised with checks, check and ref. kind NULL: looked up. */
void check_object_start(struct check_object *object, const struct kind *kind);
void check_object_compare(struct check_object *object); /* a source has changed */
void check_object_describe(const struct check_object *object, struct summary *summary);
void check_object_done(struct check_object *object);

void check_source_start(struct check_source *source);
void check_source_describe(const struct check_source *source, struct summary *summary);
void check_source_done(struct check_source *source);

/* Whether all that the labels select is observed at present. */
bool check_selections_are_known(const struct check *check);
/* Does nothing if the check has no label selector. */
void check_selections_start(struct check *check);
void check_selections_compare(struct check *check);
void check_selections_describe(const struct check *check, struct summary *summary);
void check_selections_done(struct check *check);
