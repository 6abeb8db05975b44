/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a pod that may have state to save. Pure.
 *
 * Containers of a pod have no grace periods of their own: a main that ignores SIGTERM runs as long
 * as wait may take to save the state. A kubelet that is ending a pod neither reports that wait has
 * ended nor accepts a shorter grace period (SyncTerminatingPod, Kubernetes 1.34). So the grace
 * period has to be right when the pod is deleted, and for that the size of the state must be known.
 *
 * Therefore wait is first asked, by an annotation of the pod, to save a snapshot of the state while
 * main still runs. It may take as long as it needs, and says in a Secret how far it is. Then the
 * pod is deleted with main's grace period and the time that saving the state once more takes. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What wait has written about its snapshot; all zero: nothing. */
struct save_report {
    bool is_there, is_done;
    int64_t chunks, stored; /* of the state, and those in the snapshot */
    int64_t duration_ms;
    uint64_t version; /* differs after every write */
};

/* How long the end of a pod has been waited for. Times are of task_now_unix_ms(). All zero: it was
 * not requested by this process. */
struct pod_ending {
    int64_t since_unix_ms;    /* when it was requested, or found to be requested */
    int64_t progress_unix_ms; /* the last sign of progress */
    uint64_t version;         /* of the last report */
    int64_t look_unix_ms;     /* when to look for a report */
};

enum pod_ending_step {
    POD_ENDING_REQUEST, /* ask wait for a snapshot */
    POD_ENDING_WAIT,    /* it is being saved: look for a report at look_unix_ms */
    POD_ENDING_DELETE,  /* there is nothing to save, it is saved, or wait does not respond */
};

/* Of the Secret that wait writes (NULL: it does not exist). A report of another pod counts as none.
 */
struct save_report save_report_read(const json_t *secret, const char *pod_uid);

/* Whether wait, once it runs, can save something and report it. If not, the pod is deleted at once.
 */
bool pod_ending_is_useful(const json_t *pod);
bool pod_ending_is_requested(const json_t *pod);
/* Updates *ending. The pod must be one that runs; report is what was read just now. As long as wait
 * makes progress the answer is POD_ENDING_WAIT; it has 10 s to respond, and 5 minutes for each
 * further step, because packing a large state takes long. */
enum pod_ending_step pod_ending_next(const json_t *pod, const struct save_report *report,
                                     int64_t now_unix_ms, struct pod_ending *ending);
/* When the end was requested. A failed request proves nothing about wait, which may have lost the
 * API server too: set *ending to zero then, so that the time starts again with the next report that
 * can be read. */
void pod_ending_start(int64_t now_unix_ms, struct pod_ending *ending);

/* The grace period with which to delete a pod that runs; -1: that of the pod's spec. chunks: of the
 * item's last state, if there is no report that says more; SIZE_MAX: unknown. */
int64_t pod_end_seconds(const json_t *pod, size_t chunks);
/* The same after a report that is done. */
int64_t pod_end_seconds_after(const json_t *pod, const struct save_report *report);
