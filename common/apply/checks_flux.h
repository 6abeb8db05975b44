/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: whether a Kustomization of Flux has applied the newest revision of its
 * source. Its own status cannot tell: it may be Ready with the revision before, while the source
 * has a new one already. */
#pragma once

#include "common/apply/follow.h"
#include "common/apply/reference.h"

struct check_flux {
    struct object_ref source; /* name NULL: the object has none */
    struct follow *follow;
    char *applied;        /* revision; NULL: none */
    char *available;      /* of the source; NULL: none */
    char *problem;        /* why nothing is known of the source; NULL: it is known */
    bool is_unknown_kind; /* the cluster does not serve the source in this version: no rule */
    void (*on_change)(void *data);
    void *data;
};

/* The source of an object; false: it has none. ret_ref NULL is fine. */
bool check_flux_find_source(const json_t *object, struct object_ref *ret_ref);
/* The object has changed: follows its source from now on. object NULL: it does not exist. */
void check_flux_set_object(struct check_flux *flux, struct cluster *cluster, const json_t *object);
/* Otherwise err->text says what is missing. */
bool check_flux_holds(const struct check_flux *flux, struct error *err);
void check_flux_done(struct check_flux *flux);
