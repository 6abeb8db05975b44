/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `longshore lifecycle` share. One thread, one event loop.
 *
 * Each managed cluster is a struct kyma, each of its Manifests a struct module. An event marks one
 * cluster as touched; touched clusters are looked at one after the other (kyma_pass()): what is
 * known becomes documents, pure functions decide, requests start, and their answers touch the
 * cluster again. No event makes anybody walk over all clusters but a change of the catalog, which
 * concerns all of them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/apply/apply.h"
#include "common/apply/cluster.h"
#include "common/apply/removal.h"
#include "common/base/loop.h"
#include "common/base/text_pool.h"
#include "common/component/repository.h"
#include "common/kube/client.h"
#include "common/kube/lease.h"
#include "common/kube/watch.h"
#include "common/net/http.h"
#include "common/net/retry.h"
#include "common/oci/registry.h"
#include "deployer/lifecycle/accepted.h"
#include "deployer/lifecycle/clusters_page.h"
#include "deployer/lifecycle/compared.h"
#include "deployer/lifecycle/documents.h"
#include "deployer/lifecycle/failure.h"
#include "deployer/lifecycle/kept.h"
#include "deployer/lifecycle/maintenance.h"
#include "deployer/lifecycle/module_decide.h"
#include "deployer/lifecycle/module_objects.h"
#include "deployer/lifecycle/module_state.h"
#include "deployer/lifecycle/module_store.h"
#include "deployer/lifecycle/resolve.h"
#include "deployer/lifecycle/sharing.h"
#include "deployer/lifecycle/slots.h"

#define LIFECYCLE_USER_AGENT "longshore-lifecycle/" LONGSHORE_VERSION

enum {
    LIFECYCLE_PASSES_MAX = 32,      /* passes in one turn of the loop */
    LIFECYCLE_CLUSTERS_MAX = 20000, /* open connections; more clusters have to be shared */
    LIFECYCLE_LIST_PAGE = 200,
    LIFECYCLE_STREAM_S = 1800,      /* a watch in a cluster is renewed after 30 to 60 minutes */
    LIFECYCLE_AWAY_MS = 10 * 1000,  /* a cluster that is silent for this long is reported */
    LIFECYCLE_ESTABLISHED_MS = 500, /* until the server serves a kind that was just defined */
    LIFECYCLE_RETRY_MS = 1000,
    LIFECYCLE_REPORT_MS = 900,              /* changes of a status are collected for this time */
    LIFECYCLE_WINDOW_MS = 10 * 60 * 1000,   /* between looks at the clock until a window begins */
    LIFECYCLE_REMOVAL_MS = 2000,            /* until it is reported what a removal waits for */
    LIFECYCLE_REMOVAL_AGAIN_MS = 10 * 1000, /* and from then on */
};

enum source {
    SOURCE_KYMAS,
    SOURCE_TEMPLATES,
    SOURCE_RELEASES,
    SOURCE_MANIFESTS,
    SOURCE_SECRETS,
    SOURCE_COUNT,
};

enum state_source { STATE_BOTH, STATE_MANAGER, STATE_RESOURCE };

struct lifecycle_options {
    const char *namespace_name;
    const char *repository_name; /* in Manifests: the registry without a scheme */
    bool is_own_cluster;
    bool is_shared; /* replicas share the clusters */
    enum state_source state_source;
    int64_t window_least_ms;
};

struct lifecycle;

struct source_state {
    struct lifecycle *lifecycle;
    enum source source;
    struct kube_watch *watch;
    uint32_t round; /* of lists */
    bool is_synced, is_rewound;
};

/* ---- One managed cluster ---- */

/* A Secret with a kubeconfig of the cluster. */
struct access {
    struct access *next;
    char *secret;
    uint32_t round;
    struct kube_config *config; /* NULL: problem */
    char *problem;
};

enum kyma_phase {
    KYMA_UNKNOWN,    /* there is no connection */
    KYMA_CONNECTING, /* namespace and definitions are written */
    KYMA_LISTING,    /* the watches have been started */
    KYMA_STEADY,
};

struct kyma {
    struct lifecycle *lifecycle;
    char *name;
    struct kyma *hash_next, *queue_next;
    struct kyma *share_next, **share_link; /* of the clusters in the same bucket */
    size_t bucket;
    bool is_queued;
    uint64_t queued_ms;        /* since when */
    struct slot_waiter waiter; /* one of its modules is to be applied */
    struct slot_waiter connect_waiter;
    struct slot connect_slot; /* while it is being connected */
    struct slot_waiter report_waiter;
    struct slot report_slot; /* while its status is being written */
    uint32_t round;
    struct kept object;      /* in the control plane */
    struct access *accesses; /* Secrets */
    struct kube_call *call;  /* a write to the object or its status */

    enum kyma_phase phase;
    struct cluster *cluster;
    char identity[KUBE_IDENTITY_SIZE]; /* of the access in use */
    uint32_t prepared; /* hash of the definitions that the cluster has; 0: unknown */
    size_t step;       /* KYMA_CONNECTING, and of the deletion */
    struct kube_call *cluster_call;

    struct kept remote; /* the Kyma in the cluster */
    bool is_remote_known;
    struct cluster_interest *remote_interest;
    struct catalog_sync *catalog;
    struct kind_watch *kinds;
    struct module *modules;

    bool is_access_wrong, is_foreign, is_report_due;
    bool has_documents; /* see documents.h */
    bool was_prepared;  /* by the status, when it was connected */
    bool is_new;        /* our kinds were just defined: there are no objects of them */
    enum failure_class failure;
    char *problem; /* why nothing can be done in the cluster */
    char *silence; /* the same, not reported yet */
    struct retry retry;
    struct loop_timer timer;      /* of the next attempt */
    struct loop_timer away_timer; /* until silence becomes a problem */
    struct loop_timer report_timer;
    struct loop_timer window_timer; /* until a maintenance window begins */
    json_t *event;                  /* to be sent when the status is written, or NULL */
    uint64_t event_next_ms;         /* see event_is_allowed() */
    /* For metrics. */
    int64_t reported_state;   /* enum module_state, or -1 */
    int64_t unready_since_ms; /* on the clock of the loop; 0: Ready */
    char *shoot, *instance;   /* "" if unknown */
};

/* ---- One module in one cluster ---- */

/* A struct state_verdict takes 200 bytes for its reason, and most modules are ready. */
struct module_verdict {
    enum module_state state;
    int64_t generation; /* of the manager that it is about */
    char reason[];
};

/* Of the Manifest, see module_observe.c. */
struct module_facts {
    uint64_t version;      /* of the Manifest */
    const json_t *content; /* objects, borrowed from the store; NULL: they are not known */
    bool is_observed;      /* the module is neither being deleted nor unmanaged */
    bool has_images;       /* images of the objects are replaced */
};

struct module {
    struct kyma *kyma;
    struct module *next;
    char *name; /* of the Manifest */
    uint32_t round;
    struct kept manifest;
    /* Of the Manifest, for metrics; the name, of the texts, is NULL before it is there. */
    const char *module_name;
    bool is_mandatory;
    enum module_state reported_state;
    uint64_t unready_since_ms; /* on the clock of the loop; 0: it is Ready */
    uint64_t took_ms;          /* until it was Ready, the last time */
    bool is_awaited;           /* the Manifest was written, and the watch has not shown it yet */
    bool has_write_failed;     /* the problem is that the Manifest cannot be written */
    int64_t sent_generation, written_generation; /* of the template that the Manifest is made of */

    /* Work under way: at most one of these. */
    enum module_action action;
    struct kube_call *call;
    struct planning *planning;
    struct plan *plan;
    struct plan *unchanged;     /* objects of the plan that need not be applied */
    struct inventory inventory; /* recorded or to be removed */
    char *owner_text;           /* of the marks that the objects carry */
    struct apply *apply;
    struct slot slot; /* while there is a plan */
    struct removal *removal;
    bool is_removing_last, is_pruning, is_dirty_only, is_deletion_seen;
    bool is_partial; /* some objects could not be applied yet */
    char *work_ref;  /* the content that is being applied */
    json_t *list;    /* entries that are handed over, removed or recorded */
    size_t next_entry;
    struct cluster_lookup *lookup;

    /* What is known of the cluster. */
    const char *applied_ref;  /* content that is applied completely; NULL: none. Of the texts */
    struct accepted accepted; /* objects that are there */
    struct module_facts facts;
    json_t *dirty; /* keys of objects that have to be applied again; true: since the apply that is
                      under way began. NULL: none */
    bool has_applied;               /* some objects, since it was connected */
    bool is_watching;               /* all its kinds */
    struct module_verdict *manager; /* NULL: unknown */
    struct module_verdict *resource;
    json_t *created_resource; /* by us, until it is watched; or NULL */
    struct cluster_interest *resource_interest;
    /* Of a deletion: the resources of the module's kind. */
    struct cluster_interest *resources_interest;
    json_t *resources;
    bool are_resources_known, is_resource_deleted, is_resource_made;
    bool is_resource_looked_at; /* its state, if it has one, is known */

    json_t *event;               /* to be sent when the status is written, or NULL */
    struct kube_call *pods_call; /* reads the first pod of a StatefulSet */
    json_t *workload;            /* that StatefulSet */

    enum failure_class failure;
    char *problem, *problem_ref; /* and the content it is about */
    struct retry retry;
    struct loop_timer timer;         /* of the next attempt */
    struct loop_timer removal_timer; /* of descriptions of what a removal waits for */
};

struct lifecycle {
    struct loop *loop;
    struct http_client *http;
    struct kube *kube;
    struct kube_config *own_config;
    struct cluster_pool *pool;
    struct keyring *keyring;
    struct registry *registry;
    struct repository *repository;
    struct module_store *store;
    struct compared compared; /* with the content in the store */
    struct maintenance_policy *policy;
    struct lifecycle_options options;
    struct lease *lease;
    struct sharing *sharing; /* NULL: the leader has all clusters */
    struct source_state sources[SOURCE_COUNT];
    bool is_draining;

    struct text_pool texts;       /* names that the clusters have in common */
    json_t *templates, *releases; /* by name */
    json_t *catalogs[4];          /* by visibility; NULL: not made since the last change */
    json_t *definitions;          /* CRDs of managed clusters; NULL: not read yet */
    json_t *reading;              /* those that have been read so far */
    uint32_t definitions_hash;
    struct kube_call *definitions_call;
    struct loop_timer definitions_timer;
    json_t *finalizing; /* names of ModuleReleaseMetas whose finalizer is being written */

    struct kyma **table; /* by name */
    size_t table_size, kyma_count;
    json_t *secret_owners;    /* Secret -> Kyma */
    json_t *mandatory_counts; /* module -> number of Manifests that are mandatory */
    struct kyma *queue_first, **queue_end;
    struct loop_timer pump;
    struct slots apply_slots, connect_slots, report_slots;
    struct loop_timer slot_timer, connect_slot_timer; /* until a slot is taken back */
    struct loop_timer trim_timer, documents_timer;    /* run if there may be something to free */
    struct documents documents;

    uint64_t failures[FAILURE_COUNT], module_failures; /* module_failures: some of the others */
    uint64_t actions[MODULE_ACTION_COUNT];
    uint64_t queue_adds, queue_wait_ms;
    uint64_t cluster_writes, control_plane_writes, passes, pass_ms;
    uint64_t event_next_ms, events_sent, events_dropped;
    struct watched_page *page; /* or NULL */
};

bool lifecycle_is_synced(const struct lifecycle *lifecycle);
/* Whether this process may write at all: then it may be responsible for clusters. */
bool lifecycle_may_write(const struct lifecycle *lifecycle);

/* options.c */
struct lifecycle_values;
int lifecycle_read_options(struct lifecycle *lifecycle, const struct lifecycle_values *values,
                           struct error *err) must_check;

/* clients.c */
/* The loop must be open. on_content, data: see module_store.h. */
int lifecycle_open_clients(struct lifecycle *lifecycle, const char *kubeconfig,
                           module_store_changed_fn *on_content, void *data, struct error *err)
    must_check;
void lifecycle_close_clients(
    struct lifecycle *lifecycle); /* also what the options need, and the loop */

/* control_plane.c */
/* The kubeconfig of an access Secret. */
int access_read_config(const json_t *secret, struct kube_config **ret_config, struct error *err)
    must_check;
extern const struct kube_resource RESOURCE_KYMAS, RESOURCE_TEMPLATES, RESOURCE_RELEASES,
    RESOURCE_MANIFESTS;
int control_plane_start(struct lifecycle *lifecycle, struct error *err) must_check;
void control_plane_stop(struct lifecycle *lifecycle);
/* Who writes, and until when it may. */
struct sender {
    struct lifecycle *lifecycle;
    kube_may_send_fn *may_send;
    const void *may_send_data;
};
struct sender sender_for_kyma(const struct kyma *kyma);
struct sender sender_for_all(struct lifecycle *lifecycle); /* what belongs to no cluster */
/* A write to an object of the control plane. body may be NULL. */
struct kube_call *control_plane_write(struct sender sender, enum kube_verb verb,
                                      struct kube_resource resource, const char *name,
                                      const char *subresource, const json_t *body,
                                      const char *field_manager, kube_done_fn *on_done, void *data);

/* kymas.c: the table of clusters and the queue */
struct kyma *kyma_find(const struct lifecycle *lifecycle, const char *name);
struct kyma *kyma_get(struct lifecycle *lifecycle, const char *name); /* made if there is none */
void kyma_touch(struct kyma *kyma);
void kymas_touch_all(struct lifecycle *lifecycle);
/* Whether the module may be applied now. Otherwise its cluster is touched when it may. */
bool kymas_take_slot(struct module *module);
void kymas_give_slot(struct module *module);
/* The same for a cluster that is to be connected. */
bool kymas_take_connect_slot(struct kyma *kyma, bool is_urgent);
void kymas_give_connect_slot(struct kyma *kyma);
bool kymas_take_report_slot(struct kyma *kyma);
void kymas_give_report_slot(struct kyma *kyma);
void kymas_on_slot_timer(void *data);
void kymas_on_connect_slot_timer(void *data);
/* Touches clusters that wait for a slot, as many as there are free ones. */
void kymas_offer_slots(struct lifecycle *lifecycle);
void kymas_foreach(struct lifecycle *lifecycle, void (*visit)(struct kyma *kyma));
void kyma_free(struct kyma *kyma); /* also removes it from the table and the queue */
void kymas_free_all(struct lifecycle *lifecycle);
struct module *module_find(const struct kyma *kyma, const char *manifest);
struct module *module_get(struct kyma *kyma, const char *manifest);
void module_free(struct module *module); /* also removes it from its cluster */

/* kyma.c */
void kyma_pass(struct kyma *kyma);
void kyma_fail(struct kyma *kyma, const struct error *err);
/* Whether a request may be sent now: none is under way, and no back-off. */
bool kyma_may_write(const struct kyma *kyma);
/* Whether a write is under way, in the cluster or in the control plane. */
bool kyma_is_busy(const struct kyma *kyma);
/* The cluster is another replica's: forgets everything but what the control plane says. */
void kyma_leave(struct kyma *kyma);
/* What failed has succeeded. */
void kyma_recover(struct kyma *kyma);
/* The cluster has answered, so it is not away. */
void kyma_heard(struct kyma *kyma);
/* It did not: reported if it stays so. */
void kyma_unheard(struct kyma *kyma, const struct error *err);
void kyma_on_timer(void *data);
void kyma_on_away(void *data);
void kyma_on_report(void *data);
void kyma_touch_later(struct kyma *kyma);

/* Whether a changed status has to be written now: a change of the state is written at once; details
 * are collected for a moment, since more of them will follow. */
bool kyma_is_write_due(struct kyma *kyma, const json_t *old, const json_t *new);

/* kyma_remote.c */
/* Creates and marks the Kyma in the cluster. Whether it is there, and ours. */
bool kyma_keep_remote(struct kyma *kyma, const json_t *object, const json_t *remote);
/* Whether the cluster says that it is another Kyma's: the two would overwrite each other's work. */
bool kyma_is_of_another(struct kyma *kyma, const json_t *remote);
void kyma_write_remote_status(struct kyma *kyma, const json_t *remote, const json_t *status);

/* kyma_connect.c */
/* Watches the Kyma in the cluster, unless that is done already; created: by us, just now, or NULL.
 */
void kyma_watch_remote(struct kyma *kyma, const json_t *created);
/* Chooses the access and connects. Whether the cluster can be used now. */
bool kyma_connect(struct kyma *kyma, bool is_deleting);
void kyma_disconnect(struct kyma *kyma);
/* No Secret names the cluster, and that is certain. */
bool kyma_has_no_access(const struct kyma *kyma);
bool kyma_is_remote(const struct kyma *kyma);
/* A request to the cluster; its answer has to reset kyma->cluster_call. */
void kyma_send(struct kyma *kyma, struct kube_request request, kube_done_fn *on_done);

/* kyma_delete.c */
/* Connects to a cluster that is being left. Whether it is another Kyma's, as far as known. */
bool kyma_connect_to_leave(struct kyma *kyma, bool *ret_is_connected);
/* One step of the deletion; whether everything is gone but the finalizer. */
bool kyma_delete_step(struct kyma *kyma, const json_t *object);

/* kyma_modules.c */
/* Where the content of a chosen module is. inlined has it if the template has a descriptor; the
 * caller ends it. *ret_source is borrowed from it or from the store. */
enum module_answer lifecycle_find_source(struct lifecycle *lifecycle,
                                         const struct module_choice *choice,
                                         struct module_source *inlined,
                                         const struct module_source **ret_source,
                                         struct error *err);
/* Finalizers of mandatory ModuleReleaseMetas. */
void releases_finalize(struct lifecycle *lifecycle);
/* Writes and deletes Manifests until they are as chosen. choices may become worse: content that
 * cannot be read. */
void kyma_sync_manifests(struct kyma *kyma, const json_t *object, struct choices *choices);
void kyma_delete_manifests(struct kyma *kyma);

/* catalog.c */
void catalog_start(struct kyma *kyma);
void catalog_stop(struct kyma *kyma);
bool catalog_is_known(const struct kyma *kyma); /* it has been read */
/* Starts the next write, if any. Whether the catalog of the cluster is as it should be. It must be
 * known. */
bool catalog_sync(struct kyma *kyma, const json_t *object);

bool catalog_is_busy(const struct kyma *kyma);

/* module.c */
void module_step(struct module *module, const json_t *object);
void module_connected(struct module *module);
void module_stop(struct module *module); /* ends its work and forgets the cluster */
void module_fail(struct module *module, const struct error *err);
/* For the callback of a request about an object that may be gone. Returns whether the request
 * succeeded or the object does not exist; if not, the module has failed. */
bool module_end_call(struct module *module, const struct error *err);
void module_succeeded(struct module *module);
/* Remembers what is applied completely; NULL: nothing. */
void module_set_applied(struct module *module, const char *ref);
void module_on_timer(void *data);
void module_on_removal_timer(void *data);
/* Before another request: a report may be under way while objects are planned, looked up or
 * removed. What was to be written still differs then, and is written later. */
void module_drop_call(struct module *module);
/* A write to the Manifest; answers are taken over. */
void module_write(struct module *module, enum kube_verb verb, const char *subresource,
                  const json_t *body, const char *field_manager);
/* The names end with NULL. */
void module_write_finalizers(struct module *module, const json_t *manifest,
                             const char *const *added, const char *const *removed);

/* module_report.c */
void module_report(struct module *module, const json_t *manifest, const struct module_view *view);

/* module_apply.c */
struct module_owner module_owner_of(const struct module *module); /* borrows from it */
/* An object of a module as it is applied, a new reference, and its place in a plan, which borrows
 * it. */
int module_object_in_cluster(const json_t *object, const struct module_owner *owner,
                             const json_t *manifest, json_t **ret_copy, struct error *err)
    must_check;
struct plan_input module_plan_input(const json_t *object);
void module_apply(struct module *module, const json_t *manifest, const json_t *objects,
                  bool is_dirty_only);
/* The marks of the module's objects; borrowed from the module. */
struct apply_owner module_owner_mark(struct module *module);

/* module_remove.c */
/* Removes recorded objects in two steps, and then records what is left. */
void module_remove_objects(struct module *module, const json_t *list);
void module_hand_over(struct module *module, const json_t *manifest);

/* module_observe.c */
void module_on_object(struct module *module, const struct object_ref *ref, const json_t *live);
/* The first list of a watch on a kind is complete: what was applied before and is not among the
 * objects shown was deleted, or has lost its label. */
void module_on_list(struct module *module, const char *api_version, const char *kind,
                    const struct accepted *shown);
void module_set_dirty(struct module *module, const char *key);
bool module_has_object(const struct module *module, const char *key);
void module_watch_kinds(struct module *module, const json_t *manifest, bool is_manager_only);
/* Marks recorded objects as dirty that no watch has shown. */
void module_find_missing(struct module *module, const json_t *manifest);
enum module_answer module_content(const struct module *module, const json_t *manifest,
                                  const json_t **ret_objects, struct error *err);
void module_set_verdict(struct module_verdict **place, const struct state_verdict *verdict);
/* An object was applied: what was said about it before, if it is the manager, is not true any more
 * unless the watch has shown it meanwhile. */
void module_on_answer(struct module *module, const struct object_ref *ref, const json_t *live);

/* module_resource.c */
/* The default resource, if its state counts and it has been created. */
void module_watch_resource(struct module *module, const json_t *manifest);
void module_create_resource(struct module *module, const json_t *manifest);
/* For a deletion: all of the module's kind, and the default one. */
void module_watch_resources(struct module *module, const json_t *manifest);
void module_delete_resource(struct module *module, const json_t *manifest);

/* events.c */
/* event: the result of state_event() about the object, a Kyma or one of its Manifests. */
void lifecycle_send_event(struct kyma *kyma, const char *kind, const json_t *object,
                          const json_t *event);

/* metrics.c */
int lifecycle_write_metrics(struct lifecycle *lifecycle, struct buffer *ret_body);
