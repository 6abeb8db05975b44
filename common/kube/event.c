/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/event.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/timestamp.h"

enum { EVENT_MESSAGE_MAX = 1024, EVENT_NAME_MAX = 200 };

/* Unique by its end; a legal name even for an object whose name has 253 characters. */
static char *event_name(const char *name, const char *id)
{
    size_t length = strnlen(name, EVENT_NAME_MAX);

    /* No part of a name may end with a dot or a dash. */
    while (length > 1 && strchr(".-", name[length - 1]))
        length--;
    return xasprintf("%.*s.%s", (int)length, name, id);
}

/* The API server rejects longer messages. Never cut inside a UTF-8 sequence. */
static size_t message_size(const char *message)
{
    size_t size = strlen(message);

    if (size <= EVENT_MESSAGE_MAX)
        return size;
    size = EVENT_MESSAGE_MAX;
    while (size > 0 && ((unsigned char)message[size] & 0xc0) == 0x80)
        size--;
    return size;
}

json_t *event_object(const struct event *event)
{
    cleanup_free char *name = event_name(event->name, event->id);
    char now[TIMESTAMP_MAX] = {0};

    timestamp_format(event->now_unix_ms, now);
    return json_pack("{s:s,s:s,s:{s:s,s:s},s:{s:s,s:s,s:s,s:s*,s:s},s:s,s:s,s:s%,s:{s:s},s:s,s:s,"
                     "s:i}",
                     "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace",
                     event->namespace_name, "involvedObject", "apiVersion", event->api_version,
                     "kind", event->kind, "name", event->name, "namespace", event->about_namespace,
                     "uid", event->uid, "type", event->type, "reason", event->reason, "message",
                     event->message, message_size(event->message), "source", "component",
                     event->component, "firstTimestamp", now, "lastTimestamp", now, "count", 1);
}
