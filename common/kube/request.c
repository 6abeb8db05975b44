/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/request.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

const struct kube_resource KUBE_PODS = {"", "v1", "pods"};
const struct kube_resource KUBE_SECRETS = {"", "v1", "secrets"};
const struct kube_resource KUBE_CONFIG_MAPS = {"", "v1", "configmaps"};
const struct kube_resource KUBE_SERVICE_ACCOUNTS = {"", "v1", "serviceaccounts"};
const struct kube_resource KUBE_EVENTS = {"", "v1", "events"};
const struct kube_resource KUBE_NAMESPACES = {"", "v1", "namespaces"};
const struct kube_resource KUBE_ROLES = {"rbac.authorization.k8s.io", "v1", "roles"};
const struct kube_resource KUBE_ROLE_BINDINGS = {"rbac.authorization.k8s.io", "v1", "rolebindings"};
const struct kube_resource KUBE_LEASES = {"coordination.k8s.io", "v1", "leases"};
const struct kube_resource KUBE_DEPLOY_ITEMS = {LANDSCAPER_GROUP, LANDSCAPER_VERSION,
                                                RESOURCE_DEPLOY_ITEMS};
const struct kube_resource KUBE_TARGETS = {LANDSCAPER_GROUP, LANDSCAPER_VERSION, RESOURCE_TARGETS};
const struct kube_resource KUBE_CONTEXTS = {LANDSCAPER_GROUP, LANDSCAPER_VERSION,
                                            RESOURCE_CONTEXTS};
const struct kube_resource KUBE_SYNC_OBJECTS = {LANDSCAPER_GROUP, LANDSCAPER_VERSION,
                                                RESOURCE_SYNC_OBJECTS};
const struct kube_resource KUBE_CLUSTER_ROLE_BINDINGS = {"rbac.authorization.k8s.io", "v1",
                                                         "clusterrolebindings"};
const struct kube_resource KUBE_INSTALLATIONS = {LANDSCAPER_GROUP, LANDSCAPER_VERSION,
                                                 RESOURCE_INSTALLATIONS};
const struct kube_resource KUBE_ENVIRONMENTS = {LANDSCAPER_GROUP, LANDSCAPER_VERSION,
                                                RESOURCE_ENVIRONMENTS};
const struct kube_resource KUBE_DEPLOYER_REGISTRATIONS = {LANDSCAPER_GROUP, LANDSCAPER_VERSION,
                                                          RESOURCE_DEPLOYER_REGISTRATIONS};

static const struct {
    const char *name, *method, *content_type;
    bool has_name, has_body, is_repeatable;
} verbs[] = {
    [KUBE_GET] = {"get", "GET", NULL, true, false, true},
    [KUBE_LIST] = {"list", "GET", NULL, false, false, true},
    [KUBE_DISCOVER] = {"discover", "GET", NULL, false, false, true},
    [KUBE_VERSION] = {"version", "GET", NULL, false, false, true},
    [KUBE_CREATE] = {"create", "POST", "application/json", false, true, false},
    [KUBE_UPDATE] = {"update", "PUT", "application/json", true, true, true},
    [KUBE_PATCH_MERGE] = {"patch", "PATCH", "application/merge-patch+json", true, true, true},
    /* Not repeatable: "add" to a list would add twice. */
    [KUBE_PATCH_JSON] = {"patch", "PATCH", "application/json-patch+json", true, true, false},
    [KUBE_APPLY] = {"apply", "PATCH", "application/apply-patch+yaml", true, true, true},
    [KUBE_DELETE] = {"delete", "DELETE", "application/json", true, false, true},
    [KUBE_DELETE_COLLECTION] = {"delete all", "DELETE", "application/json", false, false, true},
};

enum { PATH_MAX_SIZE = 64 * 1024 };

static bool is_path_part(const char *text)
{
    return text[0] && strcmp(text, ".") != 0 && strcmp(text, "..") != 0 && !strpbrk(text, "/%");
}

static int add_part(struct buffer *path, const char *kind, const char *part, struct error *err)
{
    cleanup_free char *escaped = NULL;

    if (!is_path_part(part))
        return error_set(err, ERROR_INVALID, "invalid %s \"%s\"", kind, part);
    escaped = http_url_escape(part);
    return buffer_append(path, "/", 1, err) < 0 ||
                   buffer_append(path, escaped, strlen(escaped), err) < 0
               ? -1
               : 0;
}

int kube_path_make(const char *server, const struct kube_resource *resource,
                   const char *namespace_name, const char *name, const char *subresource,
                   char **ret_path, struct error *err)
{
    bool has_group = resource->group && resource->group[0];
    cleanup_buffer struct buffer path = {0};

    buffer_init(&path, PATH_MAX_SIZE);
    if (buffer_append(&path, server, strlen(server), err) < 0 ||
        add_part(&path, "API", has_group ? "apis" : "api", err) < 0 ||
        (has_group && add_part(&path, "API group", resource->group, err) < 0) ||
        add_part(&path, "API version", resource->version, err) < 0 ||
        (namespace_name && (add_part(&path, "namespace", "namespaces", err) < 0 ||
                            add_part(&path, "namespace", namespace_name, err) < 0)) ||
        (resource->plural && add_part(&path, "resource", resource->plural, err) < 0) ||
        (name && add_part(&path, "name", name, err) < 0) ||
        (subresource && add_part(&path, "subresource", subresource, err) < 0))
        return -1;
    *ret_path = buffer_take(&path);
    return 0;
}

void kube_query_add(char **url, const char *key, const char *value)
{
    cleanup_free char *old = NULL;
    cleanup_free char *escaped = NULL;

    if (!value || !value[0])
        return;
    old = *url;
    escaped = http_url_escape(value);
    *url = xasprintf("%s%c%s=%s", old, strchr(old, '?') ? '&' : '?', key, escaped);
}

static void add_raw_query(char **url, const char *query)
{
    cleanup_free char *old = NULL;

    if (!query || !query[0])
        return;
    old = *url;
    *url = xasprintf("%s%c%s", old, strchr(old, '?') ? '&' : '?', query);
}

static char *delete_options(const struct kube_request *request)
{
    cleanup_json json_t *options = json_object();

    doc_set_text(options, "kind", "DeleteOptions");
    doc_set_text(options, "apiVersion", "v1");
    doc_set_text(options, "propagationPolicy", "Background");
    if (request->grace_seconds >= 0)
        doc_set_new(options, "gracePeriodSeconds", json_integer(request->grace_seconds));
    if (request->uid)
        doc_set_text(options, "preconditions.uid", request->uid);
    if (request->resource_version && request->verb == KUBE_DELETE)
        doc_set_text(options, "preconditions.resourceVersion", request->resource_version);
    return doc_dump(options);
}

static char *describe(const struct kube_request *request)
{
    const char *name = request->name ? request->name : doc_text(request->body, "metadata.name");
    const char *slash = request->subresource ? "/" : "";
    const char *plural =
        request->resource.plural ? request->resource.plural : request->resource.group;
    const char *subresource = request->subresource ? request->subresource : "";

    if (request->verb == KUBE_DISCOVER)
        return xstrdup("discover API groups");
    if (request->verb == KUBE_VERSION)
        return xstrdup("read the version of the API server");
    if (name && request->namespace_name)
        return xasprintf("%s %s%s%s \"%s/%s\"", verbs[request->verb].name, plural, slash,
                         subresource, request->namespace_name, name);
    if (name || request->namespace_name)
        return xasprintf("%s %s%s%s %s\"%s\"", verbs[request->verb].name, plural, slash,
                         subresource, name ? "" : "in ", name ? name : request->namespace_name);
    return xasprintf("%s %s", verbs[request->verb].name, plural);
}

static int check(const struct kube_request *request, const char *what, struct error *err)
{
    if (verbs[request->verb].has_name && !request->name)
        return error_set(err, ERROR_INTERNAL, "%s: name is missing", what);
    if (verbs[request->verb].has_body && !request->body)
        return error_set(err, ERROR_INTERNAL, "%s: body is missing", what);
    if (request->verb == KUBE_APPLY && !request->field_manager)
        return error_set(err, ERROR_INTERNAL, "%s: field manager is missing", what);
    if (request->verb == KUBE_DELETE_COLLECTION && !request->label_selector &&
        !request->field_selector)
        return error_set(err, ERROR_INTERNAL,
                         "%s: selector is missing (everything would be deleted)", what);
    return 0;
}

static char *make_url(char *path, const struct kube_request *request)
{
    char *url = path;

    kube_query_add(&url, "labelSelector", request->label_selector);
    kube_query_add(&url, "fieldSelector", request->field_selector);
    kube_query_add(&url, "fieldManager", request->field_manager);
    if (request->verb == KUBE_APPLY)
        kube_query_add(&url, "force", "true");
    if (request->verb == KUBE_LIST)
        kube_query_add(&url, "resourceVersion", request->resource_version);
    add_raw_query(&url, request->query);
    return url;
}

/* A response that is ignored should be short: ask for metadata only. */
static const char *accept_of(const struct kube_request *request)
{
    if (request->is_raw)
        return "*/*";
    if (request->verb == KUBE_DISCOVER)
        return "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
               "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
               "application/json";
    if (!request->is_unread)
        return "application/json";
    return request->verb == KUBE_DELETE_COLLECTION
               ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
               : "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
}

int kube_wire_make(const char *server, const struct kube_request *request,
                   struct kube_wire *ret_wire, struct error *err)
{
    cleanup_free char *what = describe(request);
    char *path = NULL;
    bool is_delete = request->verb == KUBE_DELETE || request->verb == KUBE_DELETE_COLLECTION;
    /* A create is sent to the collection, or to a subresource of an object ("token"). */
    const char *name = verbs[request->verb].has_name || request->subresource ? request->name : NULL;

    if (request->verb == KUBE_DISCOVER)
        path = xasprintf("%s/apis", server);
    else if (request->verb == KUBE_VERSION)
        path = xasprintf("%s/version", server);
    else if (check(request, what, err) < 0 ||
             kube_path_make(server, &request->resource, request->namespace_name, name,
                            request->subresource, &path, err) < 0)
        return -1;
    *ret_wire = (struct kube_wire){
        .method = verbs[request->verb].method,
        .content_type = verbs[request->verb].content_type,
        .accept = accept_of(request),
        .url = make_url(path, request),
        .what = steal(&what),
        .is_repeatable = verbs[request->verb].is_repeatable,
    };
    if (is_delete)
        ret_wire->body = delete_options(request);
    else if (request->body)
        ret_wire->body = doc_dump(request->body);
    if (request->verb == KUBE_CREATE)
        ret_wire->is_repeatable =
            request->subresource || doc_text(request->body, "metadata.name") != NULL;
    return 0;
}

void kube_wire_done(struct kube_wire *wire)
{
    free(wire->url);
    wipe_free(wire->body);
    free(wire->what);
    *wire = (struct kube_wire){0};
}

char *kube_watch_url(const char *path, const char *version, bool has_bookmarks,
                     const char *label_selector, const char *field_selector, uint32_t seconds)
{
    char *url = xstrdup(path);
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", seconds);
    kube_query_add(&url, "watch", "true");
    /* Without a version to resume from, "0" asks for the content of the server's watch cache and
     * then for changes. No version at all would require the newest state, which a server with an
     * old etcd (without progress notifications) cannot provide; it refuses bookmarks as well then.
     */
    kube_query_add(&url, "resourceVersion", version ? version : "0");
    kube_query_add(&url, "allowWatchBookmarks", has_bookmarks ? "true" : NULL);
    kube_query_add(&url, "timeoutSeconds", text);
    kube_query_add(&url, "labelSelector", label_selector);
    kube_query_add(&url, "fieldSelector", field_selector);
    return url;
}
