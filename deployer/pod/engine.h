/* SPDX-License-Identifier: Apache-2.0 */
/* The engine for items that run as a pod of the host cluster: container, script and helm items. */
#pragma once

#include "common/state/generation.h"
#include "deployer/engine.h"
#include "deployer/item/provider.h"
#include "deployer/objects/run.h"
#include "deployer/pod/names.h"
#include "deployer/pod/pods.h"
#include "deployer/pod/redact.h"
#include "deployer/pod/run_objects.h"
#include "deployer/pod/verdict.h"
#include "deployer/protocol/task.h"

/* lastError.operation of everything between the pick-up of a job and its pod. */
#define OPERATION_DEPLOY_POD "DeployPod"

extern const struct engine_class POD_ENGINE;

struct docker_files;
struct gc;

struct pod_engine {
    struct engine base;
    struct kube_watch *watch;
    char *selector; /* of the watch */
    bool is_synced; /* all pods are listed */
    uint32_t epoch; /* of the present list */
    struct gc *gc;
    struct docker_files *docker_files; /* of Configuration.oci.configFiles */
    struct objects_engine objects;     /* for helm items */
};

/* The end of a part that several chains have in common. */
typedef void pod_then_fn(struct task *task);

/* What a pod is made from; read anew for each attempt. */
struct pod_inputs {
    json_t *context, *ocm_config_map, *docker_configs;
    json_t *pull_secrets; /* pull_secrets_gather() */
    size_t pull_secret_next;
    struct state_set state;
    struct run_spec *run;
    struct pod_objects objects;
    size_t replaced_step; /* the step whose Secret was deleted to be created again; 0: none */
    char *access_mark;    /* fingerprint of the access objects */
};

/* What the chain of requests under way needs. */
struct pod_chain {
    char *pod_name;
    struct pod_inputs inputs;
    bool is_name_shared; /* another deployer has an item of the same name */
    char *former_id;     /* what this deployer was called when it made the item's objects */
    json_t *log;         /* as it was read; log_tail is redacted */
    char *log_tail;
    struct redaction redaction; /* the values to redact */
    bool is_main_shown; /* the output of main is wanted, so the state is to be read as well */
    struct state_reading *state_reading;
    pod_then_fn *after_redaction;
    struct helm_chain *helm; /* of a helm item; or NULL */
};

/* The engine's data of a task. */
struct pod_task {
    struct object_names names;
    char *names_job; /* the job that the names were made for */

    /* Learnt for the present job. */
    enum run_history history;
    bool is_absence_sure; /* the API server confirmed that there is no pod */
    bool is_log_late;     /* main's log was requested and did not arrive in time */

    /* Learnt for the item. */
    bool is_access_wanted; /* the access objects may be missing: do not trust the status */
    bool has_run_objects;  /* inputs exist of a run that may not have got a pod */
    char *access_mark;     /* of the access objects that the pod was started with */

    struct objects_task objects; /* of a helm item */
    json_t *value_exports;       /* of a helm item: from the values of its chart; or NULL */

    struct pod_chain chain;
};

static inline struct pod_task *pod_task(const struct task *task)
{
    return task->data;
}

static inline struct pod_engine *pod_engine(const struct task *task)
{
    return (struct pod_engine *)task->engine;
}

/* ---- The pods of a task: claim.c ---- */

/* The pod of this job, else another pod of the item that is ours to look after. Borrowed; NULL:
 * none. */
struct pod_entry *pod_of_task(const struct task *task, enum execution_claim *ret_claim);
/* The pod of this job; NULL: none. */
struct pod_entry *pod_of_job(const struct task *task);
/* The pod belongs to an item of the same name of another deployer. */
bool pod_is_of_other_deployer(const struct task *task, const json_t *pod);
/* debug.keepPod, and no job needs the pod's name. */
bool pod_is_kept(const struct task *task);
/* The verdict on a pod of this job; remembers since when it has been stuck. */
void pod_entry_judge(struct pod_entry *entry, const struct task *task,
                     struct pod_verdict *ret_verdict);

/* ---- Parts of the engine; see deployer/engine.h ---- */

void pod_observe(struct task *task, struct execution *ret_execution);      /* claim.c */
void pod_report(struct task *task, enum report_kind kind, json_t *status); /* report.c */
void pod_explain(struct task *task, enum explanation_kind kind,
                 struct explanation *explanation); /* report.c */
char *pod_blocker(const struct task *task);        /* report.c */
void pod_start(struct task *task);                 /* start_read.c */
void pod_step(struct task *task);                  /* result.c */
void pod_verify(struct task *task);                /* act_pod.c */
void pod_end(struct task *task);                   /* act_end.c */
void pod_discard(struct task *task);               /* act_pod.c */
void pod_clean_run(struct task *task);             /* act_pod.c */
void pod_look_back(struct task *task);             /* act_history.c */
void pod_prepare_report(struct task *task);        /* result.c */
void pod_complete(struct task *task);              /* result.c */
void pod_prepare_failure(struct task *task);       /* result.c */
void pod_clean_item(struct task *task);            /* act_clean.c */

/* ---- The pod of a chain: act_pod.c ---- */

/* The pod that the chain under way is about; NULL: it is gone. */
struct pod_entry *pod_of_chain(const struct task *task);
void pod_chain_set(struct task *task, const struct pod_entry *entry);
/* The pod of the chain does not exist any more. */
void pod_chain_forget(struct task *task);
/* is_read: the pod in the answer is wanted. */
void pod_delete(struct task *task, const struct pod_entry *entry, int64_t grace_seconds,
                bool is_read, task_next_fn *next);

/* ---- Parts of starting a pod ---- */

void pod_make_objects(struct task *task); /* start_make.c: all inputs are read */
void pod_make_account(struct task *task); /* start_account.c: before anything else is written */
void pod_make_rest(struct task *task);    /* start_make.c: the item's name on the host is ours */
void pod_inputs_done(struct pod_inputs *inputs);

/* The operator's registry credentials as they are now, an array of Docker configs that belongs to
 * the caller. What is unusable is logged. */
json_t *pod_docker_configs(struct pod_engine *engine);
/* Lists the item's state, metadata only; task->chain.list is the list under way. */
int pod_list_state(struct task *task, kube_item_fn *on_item, kube_listed_fn *on_done,
                   struct error *err) must_check;
/* Adds one of the listed Secrets (NULL is fine); those of other items are skipped. */
void pod_add_state(const struct task *task, struct state_set *set, const json_t *secret);

/* ---- Redaction ---- */

/* redact_read.c: reads the inputs of the pod's run and, if the output of main is to be shown, the
 * item's state; collects in chain.redaction what must be redacted. Calls next in any case. */
void pod_read_redaction(struct task *task, const struct pod_entry *entry, bool is_main_shown,
                        pod_then_fn *next);
/* redact_state.c: the state's part of it, which ends in pod_redaction_is_read(). */
void pod_read_redaction_state(struct task *task);
void pod_redaction_is_read(struct task *task);
