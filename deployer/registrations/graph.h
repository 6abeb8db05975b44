/* SPDX-License-Identifier: Apache-2.0 */
/* Which deployers of one environment can be installed, and in which order. No I/O.
 *
 * A deployer is installed by items of certain types (its needs) that have to be served in the
 * environment. The types that are served eventually are the least fixpoint: start with the base
 * types; add the types of every deployer whose needs are all in the set; repeat. A type with two
 * providers is an alternative, a deployer with two needs requires both, so a cycle is a deadlock
 * only if no other provider breaks it. A deployer is blocked if one of its needs is not in the
 * fixpoint. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Lists of types end with NULL. All strings are borrowed during the call. */
struct graph_deployer {
    const char *name;
    const char *const *provides, *const *needs;
    /* The environment's selectors match its own host Target. Otherwise this deployer cannot install
     * others, and its types do not count. */
    bool serves_host;
    bool is_ready;     /* installed, and the last job succeeded */
    const char *phase; /* of its Installation, for messages; NULL: it does not exist */
};

enum graph_state {
    GRAPH_FREE,    /* all needs are served: may be installed now */
    GRAPH_WAITING, /* a provider is not ready yet */
    /* Blocked until somebody changes something: */
    GRAPH_DEPLOYER_MISSING,  /* no deployer provides a needed type */
    GRAPH_SELECTOR_MISMATCH, /* the only providers do not serve the host Target */
    GRAPH_DEPENDENCY_CYCLE,
};

struct graph_verdict {
    enum graph_state state;
    /* For people; NULL if free. Names the type and, if the reason is a deployer further down, the
     * path to it: "alpha -> example.com/beta (beta) -> example.com/alpha (alpha)". */
    char *message;
};

struct graph {
    struct graph_verdict *verdicts; /* one per deployer, in the order of the input */
    size_t *order; /* indexes: first those that are not blocked, each after its providers */
    size_t count;
};

void graph_solve(const struct graph_deployer *deployers, size_t count, const char *const *base,
                 struct graph *ret_graph);
void graph_done(struct graph *graph);
bool graph_is_blocked(enum graph_state state);
/* "WaitingForDeployer", "DeployerMissing", ...; "Free". Static. */
const char *graph_reason(enum graph_state state);

enum removal_state {
    REMOVAL_ALLOWED,
    REMOVAL_NEEDED, /* another installed deployer needs it */
    REMOVAL_CYCLE,  /* deployers that are all to be removed need each other */
};

struct removal {
    enum removal_state state;
    char *message; /* NULL if allowed */
};

/* Whether the installed deployer number index may be uninstalled: no other installed deployer needs
 * one of its types without another provider. is_installed and is_leaving have one element per
 * deployer; is_leaving: it is to be removed as well. The caller frees ret_removal->message. */
void graph_removal(const struct graph_deployer *deployers, size_t count, const char *const *base,
                   const bool *is_installed, const bool *is_leaving, size_t index,
                   struct removal *ret_removal);
