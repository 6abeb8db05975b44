/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to what goes over the wire: method, URL, body. Pure. Part of kube/. */
#pragma once

#include "common/kube/client.h"

struct kube_wire {
    const char *method, *content_type, *accept;
    char *url;
    char *body;         /* JSON text, or NULL */
    char *what;         /* "create secrets 'garden/x'": what error texts begin with */
    bool is_repeatable; /* sent twice it does no harm */
};

int kube_wire_make(const char *server, const struct kube_request *request,
                   struct kube_wire *ret_wire, struct error *err) must_check;
void kube_wire_done(struct kube_wire *wire);

/* "<server>/api/v1/namespaces/<ns>/<plural>[/<name>[/<subresource>]]", all parts checked. */
int kube_path_make(const char *server, const struct kube_resource *resource,
                   const char *namespace_name, const char *name, const char *subresource,
                   char **ret_path, struct error *err) must_check;

/* Appends "key=<escaped value>", with '?' or '&' in front; a NULL value is left out. */
void kube_query_add(char **url, const char *key, const char *value);
