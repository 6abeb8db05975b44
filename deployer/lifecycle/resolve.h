/* SPDX-License-Identifier: Apache-2.0 */
/* Which version of which module a cluster gets: from the Kyma's list and channel, and from the
 * catalog (ModuleReleaseMetas and ModuleTemplates). Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deployer/lifecycle/maintenance.h"
#include "deployer/lifecycle/state.h"

/* What is done about a module. Whatever goes wrong in the catalog, an installed module stays as it
 * is: only CHOICE_REMOVE and CHOICE_REVOKE delete anything. */
enum choice_kind {
    CHOICE_INSTALL, /* the Manifest is to have the template's version */
    CHOICE_KEEP, /* the Manifest stays as it is, and so does its entry in the status but for state,
                  * message and is_maintenance */
    CHOICE_FAIL, /* the same, but a new entry describes the problem */
    CHOICE_REVOKE,  /* the cluster may not have the module: its Manifest is deleted */
    CHOICE_RELEASE, /* not managed any more: its objects are handed over */
    CHOICE_REMOVE,  /* no longer listed: its Manifest is deleted */
};

struct module_choice {
    enum choice_kind kind;
    /* Borrowed from the input. */
    const char *name, *channel, *version, *component; /* "" if unknown */
    const json_t *template;   /* CHOICE_INSTALL, CHOICE_RELEASE; else NULL */
    const json_t *entry;      /* of status.modules, or NULL */
    bool is_resource_ignored; /* customResourcePolicy: Ignore */
    bool is_maintenance;      /* waits for a window */
    int64_t window_unix_ms;   /* when that window begins; 0: it does not wait */
    /* CHOICE_KEEP, CHOICE_FAIL and CHOICE_REVOKE. CHOICE_KEEP of a module that only waits for its
     * window has no state of its own. */
    bool has_state;
    enum module_state state;
    char message[400];
};

struct catalog {
    const json_t *releases;  /* objects by name: {"harbour": {ModuleReleaseMeta}} */
    const json_t *templates; /* likewise */
    const char *namespace_name;
};

struct resolve_input {
    const json_t *kyma; /* labels and status: the object in the control plane */
    const json_t *spec; /* the one that counts: of the managed cluster if there is one */
    struct catalog catalog;
    const struct maintenance_policy *policy; /* or NULL */
    int64_t now_unix_ms, window_least_ms;
};

struct choices {
    struct module_choice *choices;
    size_t count;
};

/* One choice for each module of the spec in its order, then one for each module that only the
 * status lists, by name. A module without a name is left out. */
struct choices resolve_modules(const struct resolve_input *input);
/* The choice for a mandatory module; its template is NULL if it is missing in the catalog: what is
 * installed stays then. False: the module is not mandatory, or is being removed everywhere. */
bool resolve_mandatory(const struct catalog *catalog, const char *name, const json_t *release,
                       struct module_choice *ret_choice);
/* When the first window begins that a module waits for; 0: none does. */
int64_t choices_next_window(const struct choices *choices);
void choices_done(struct choices *choices);
#define cleanup_choices __attribute__((cleanup(choices_done)))

/* Whether a cluster may see a template: one that is labelled beta or internal needs a Kyma with the
 * same label. *ret_reason ("beta module") is set if not. */
bool template_is_visible(const json_t *template, const json_t *kyma, const char **ret_reason);
