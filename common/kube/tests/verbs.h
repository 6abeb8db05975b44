/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the verbs in the scripts of kube_driver and kube_load. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/client.h"

static inline enum kube_verb verb_of(const char *text)
{
    static const struct {
        const char *name;
        enum kube_verb verb;
    } verbs[] = {
        {"get", KUBE_GET},
        {"list", KUBE_LIST},
        {"create", KUBE_CREATE},
        {"update", KUBE_UPDATE},
        {"patch-merge", KUBE_PATCH_MERGE},
        {"patch-json", KUBE_PATCH_JSON},
        {"apply", KUBE_APPLY},
        {"delete", KUBE_DELETE},
        {"delete-collection", KUBE_DELETE_COLLECTION},
        /* as in the audit log */
        {"patch", KUBE_PATCH_MERGE},
        {"deletecollection", KUBE_DELETE_COLLECTION},
    };

    for (size_t i = 0; i < array_length(verbs); i++) {
        if (strcmp(verbs[i].name, text) == 0)
            return verbs[i].verb;
    }
    (void)fprintf(stderr, "verb '%s'?\n", text);
    exit(1);
}
