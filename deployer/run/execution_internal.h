/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by execution.c (the order of the steps, signals, timers, the result) and
 * execution_steps.c.
 */
#pragma once

#include "common/base/loop.h"
#include "deployer/run/documents.h"
#include "deployer/run/image.h"
#include "deployer/run/program.h"
#include "deployer/run/result.h"
#include "deployer/run/runtime.h"
#include "deployer/run/show.h"
#include "deployer/run/workspace.h"

struct execution {
    const struct run_options *options;
    struct documents *documents;
    json_t *result;
    struct loop *loop;
    struct reaper *reaper;
    struct show *show;
    struct workspace *workspace;
    struct pod_objects objects;
    struct image image;
    struct runtime runtime;
    char *cgroup;
    bool has_user_namespace;
    struct child init, main, wait;
    struct loop_timer timeout, grace, tick;
    int interrupts;
    bool is_timed_out;
    bool is_state_pending; /* wait delivered state that could not be adopted */
    const char *activity;  /* for the message of a run that is stopped before main has started */
    struct error stop;     /* its kind is set if the run is to be given up before main starts */
    enum result_reason reason; /* of the step that fails */
    json_t *spec;              /* of main's container */
    bool has_main_output;
    char *
        exec_message; /* of the runtime, after main was started: it could not execute the program */
};

/* The steps in their order. An error that is not RESULT_FAILED sets run->reason. */
int execution_prepare_workspace(struct execution *run, struct error *err) must_check;
/* The image stays valid while *ret_cache is open. */
int execution_prepare_image(struct execution *run, struct image_cache **ret_cache,
                            struct error *err) must_check;
int execution_run_init(struct execution *run, struct error *err) must_check;
/* Runs main, then wait. The step "wait" is left open: it ends when the state is stored. */
int execution_run_main(struct execution *run, struct error *err) must_check;

/* Whether main was killed because it exceeded its memory limit. */
bool execution_is_out_of_memory(const struct execution *run);
/* If main's program could not be executed, replaces the error of the result by the cause. */
void execution_explain_main(struct execution *run);
