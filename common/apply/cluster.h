/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to many clusters. A cluster is identified by server, CA and credentials; its client
 * is made on first use and freed when it was idle for a minute. Discovery and watches are shared by
 * all users of a cluster. A cluster that cannot be reached is probed with back-off, for all its
 * users together. Credentials are never sent to another server: redirects are refused. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/apply/kinds.h"
#include "common/kube/client.h"
#include "common/kube/config.h"

enum {
    CLUSTER_IDLE_MS = 60 * 1000,
    CLUSTERS_MAX = 256, /* open at a time, see cluster_pool_set_max(); idle ones are closed first */
    CLUSTER_WATCHES_MAX = 256, /* per cluster */
    CLUSTER_DISCOVERY_AGE_MS = 60 * 60 * 1000,
};

struct cluster_pool;
struct cluster; /* reference counted */

/* Clusters share an HTTP client, but no connection is shared between clusters or credentials. A
 * cluster takes one descriptor, and a further one for each 64 watches. user_agent is copied. */
struct cluster_pool *cluster_pool_new(struct loop *loop, const char *user_agent);
/* How many clusters may be open at a time. */
void cluster_pool_set_max(struct cluster_pool *pool, size_t clusters_max);
/* How long a stream of events lives before it is renewed, see struct kube_watch_options: with
 * thousands of clusters most requests would be renewals. */
void cluster_pool_set_stream_s(struct cluster_pool *pool, uint32_t stream_s);
/* Only one watch of each cluster asks for bookmarks. With thousands of clusters they would be most
 * of what is received. */
void cluster_pool_limit_bookmarks(struct cluster_pool *pool);
/* on_unauthorized is called from the loop, possibly again and again, if a cluster has answered 401
 * to a lookup or watch of somebody who waits for an object: the credentials are not valid any more,
 * and without others nobody will learn anything of the object. It must not give back the
 * cluster. NULL: nobody wants to know. */
typedef void cluster_unauthorized_fn(void *data, struct cluster *cluster, const struct error *err);
void cluster_pool_on_unauthorized(struct cluster_pool *pool,
                                  cluster_unauthorized_fn *on_unauthorized, void *data);
/* All references must have been given back. NULL is fine. */
void cluster_pool_free(struct cluster_pool *pool);

/* Takes config over, also on failure. The reference is given back with cluster_put().
 * ERROR_TEMPORARY: as many clusters as possible are in use. */
int cluster_get(struct cluster_pool *pool, struct kube_config *config, struct cluster **ret_cluster,
                struct error *err) must_check;
struct cluster *cluster_ref(struct cluster *cluster);
/* How many clusters have references, and how many watches a cluster has: for those who leave room
 * for others. */
size_t cluster_pool_used(const struct cluster_pool *pool);
size_t cluster_watch_count(const struct cluster *cluster);
void cluster_put(struct cluster *cluster); /* NULL is fine */
/* For credentials that were replaced: as soon as it has no references the cluster is freed, from
 * the loop. */
void cluster_retire(struct cluster *cluster);

struct kube *cluster_kube(struct cluster *cluster);
/* Identifies the cluster, not the credentials: 16 hex characters (kube_config_hash()). */
const char *cluster_hash(const struct cluster *cluster);
const char *cluster_server(const struct cluster *cluster); /* for messages */
/* Inside common/apply: reports an error that was met while waiting, if its status is 401. */
void cluster_note_error(struct cluster *cluster, const struct error *err);

/* ---- Kinds ---- */

typedef void cluster_kind_fn(void *data, const struct kind *kind, const struct error *err);

struct cluster_lookup;
/* Finds a kind: built-in, in extra (may be NULL; used only before it returns), cached, else by
 * discovery: one request per server and hour finds the kinds of all API groups, and one more is
 * sent for a group and version in which a kind is missing, at most every few seconds. Servers
 * before Kubernetes 1.27 are asked for each group and version.
 * Calls on_done exactly once, possibly before it returns; kind is borrowed during the call. An
 * unknown kind is ERROR_NOT_FOUND "the cluster has no kind ...". *ret_lookup is NULL if on_done was
 * called already. -1, without on_done: api_version is invalid. */
int cluster_find_kind(struct cluster *cluster, const struct kind_set *extra,
                      const char *api_version, const char *kind, cluster_kind_fn *on_done,
                      void *data, struct cluster_lookup **ret_lookup, struct error *err) must_check;
void cluster_lookup_cancel(struct cluster_lookup *lookup); /* NULL is fine */
/* The API server answered 404 for a kind of this group and version: it is discovered again when it
 * is needed next. */
void cluster_forget_kinds(struct cluster *cluster, const char *api_version);

/* ---- Watches, shared: one per kind, namespace and label selector ---- */

struct cluster_interest;

/* object NULL: the object does not exist (any more). err is set, and object NULL, if the watch
 * cannot be established at present (no permission, kind unknown, server away); it is retried, and
 * the interest is called again. */
typedef void cluster_object_fn(void *data, const json_t *object, const struct error *err);

/* Calls on_object with the present state of one object and then with each change, or, with name
 * NULL, once for each object that matches label_selector and then with each change of one of them,
 * and once with object NULL and no error when the list is complete. With name NULL, object and err
 * (ERROR_NOT_FOUND) are both set for an object that is gone or does not match any more: object then
 * has at least metadata.name and metadata.namespace. After an interruption this is reported for
 * every object that vanished in the meantime, before the list is complete again. Objects of a
 * single name are watched with a field selector unless more than four names of the same kind and
 * namespace are of interest. An interest that joins a watch which is under way costs one GET or
 * list. on_object is never called from inside cluster_watch(). Objects have no managedFields,
 * those of a list neither apiVersion nor kind, and deleted ones neither spec nor status.
 * A user who may not list or watch, but get, gets the state of a name every few seconds.
 * ERROR_INVALID for names that cannot be part of a path, ERROR_TEMPORARY if there are
 * CLUSTER_WATCHES_MAX watches already. */
int cluster_watch(struct cluster *cluster, const struct kind *kind, const char *namespace_name,
                  const char *name, const char *label_selector, cluster_object_fn *on_object,
                  void *data, struct cluster_interest **ret_interest, struct error *err) must_check;
/* The same without a list. known is an array of all objects that match, as the server returned them
 * when they were written. They are not reported themselves, nor is the end of a list; every later
 * change is, of these objects and of others. If their versions cannot be compared, or if the same
 * is watched already, this is cluster_watch(). *ret_from is the version from which changes are
 * reported, or 0. */
int cluster_watch_known(struct cluster *cluster, const struct kind *kind,
                        const char *namespace_name, const char *name, const char *label_selector,
                        const json_t *known, cluster_object_fn *on_object, void *data,
                        int64_t *ret_from, struct cluster_interest **ret_interest,
                        struct error *err) must_check;
/* The oldest version of the objects; 0: there are none, or they cannot be compared. */
int64_t cluster_oldest_version(const json_t *objects);
void cluster_unwatch(struct cluster_interest *interest); /* NULL is fine; also from on_object */
