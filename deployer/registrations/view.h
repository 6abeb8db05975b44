/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is known about one environment, while it is being looked at. */
#pragma once

#include "deployer/registrations/manager.h"

/* A registration, or what is left of one, in the environment. */
struct candidate {
    const char *name;
    const json_t *registration; /* a document with only the name if it is gone */
    const json_t *installation; /* or NULL */
    json_t *stub;
    json_t *needs;
    const char **need_list, **type_list;
    bool exists, is_valid, is_leaving;
};

/* One environment during a pass. */
struct environment_view {
    struct manager *manager;
    const char *name;
    const json_t *environment; /* a document with only the name if it is gone */
    json_t *stub;
    bool exists, is_valid, is_leaving, is_prepared, is_accepted;
    char *problem;
    struct candidate *candidates;
    size_t count;
    struct graph_deployer *deployers;
    struct graph graph;
    json_t *base;
    const char **base_list;
    bool *is_installed, *is_leaving_list;
};

/* Reads the index. The objects are borrowed from it: nothing may change it until
 * environment_view_done(). */
void environment_view_init(struct environment_view *view, struct manager *manager,
                           const char *name);
void environment_view_done(struct environment_view *view);

/* pairs.c: the candidate number index. */
void evaluate_pair(struct environment_view *view, size_t index);
/* leave.c: does the part of an agent that is gone, when no pair is left. True: something is being
 * done. */
bool leave_for_agent(struct environment_view *view);

bool view_is_deleting(const json_t *object);                        /* NULL: false */
const char *view_annotation(const json_t *object, const char *key); /* NULL: absent */
