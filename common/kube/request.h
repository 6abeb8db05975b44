/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a request into method, URL and body. No I/O. Private to common/kube. */
#pragma once

#include "common/kube/client.h"

struct kube_wire {
    const char *method, *content_type, *accept;
    char *url;
    char *body;         /* JSON text, or NULL */
    char *what;         /* prefix of error messages: "create secrets 'garden/x'" */
    bool is_repeatable; /* sending it twice has the same effect as once */
};

int kube_wire_make(const char *server, const struct kube_request *request,
                   struct kube_wire *ret_wire, struct error *err) must_check;
void kube_wire_done(struct kube_wire *wire);

/* "<server>/api/v1/namespaces/<ns>/<plural>[/<name>[/<subresource>]]". ERROR_INVALID for names that
 * cannot be part of a path. */
int kube_path_make(const char *server, const struct kube_resource *resource,
                   const char *namespace_name, const char *name, const char *subresource,
                   char **ret_path, struct error *err) must_check;

/* The URL of a stream of events. version: where to resume, or NULL for all objects and then
 * changes. Selectors may be NULL. */
char *kube_watch_url(const char *path, const char *version, bool has_bookmarks,
                     const char *label_selector, const char *field_selector, uint32_t seconds);

/* Appends "?key=<escaped value>" or "&key=...". Does nothing if value is NULL or empty. */
void kube_query_add(char **url, const char *key, const char *value);
