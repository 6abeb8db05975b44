/* SPDX-License-Identifier: Apache-2.0 */
/* The Kubernetes Event object. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct event {
    /* The object that it is about. */
    const char *api_version, *kind, *name, *uid;
    const char *about_namespace; /* NULL: the object has none */
    const char *namespace_name;  /* of the Event */
    const char *id;              /* end of the Event's name; makes it unique */
    const char *type;            /* "Normal" or "Warning" */
    const char *reason, *message;
    const char *component; /* that sends it */
    int64_t now_unix_ms;
};

/* New reference. The message is cut to what the API server accepts. */
json_t *event_object(const struct event *event);
