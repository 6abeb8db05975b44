/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/item/status.h"
#include "deployer/pod/verdict.h"
#include "deployer/tests/sample.h"

enum { GRACE_MS = 300 * 1000, NOW_MS = 1000 * 1000, SINCE_MS = 900 * 1000, ONLY_TIMEOUT = -1 };

#define INIT_DONE "{name: init, state: {terminated: {exitCode: 0}}}"
#define RUNNING(name_) "{name: " name_ ", state: {running: {}}}"
#define WAITING(name_, reason_) "{name: " name_ ", state: {waiting: {reason: " reason_ "}}}"
#define ENDED(name_, code_) "{name: " name_ ", state: {terminated: {exitCode: " code_ "}}}"
#define POD(phase_, init_, containers_)                                                            \
    "{status: {phase: " phase_ ", initContainerStatuses: [" init_                                  \
    "], containerStatuses: [" containers_ "]}}"

#define DISRUPTED(reason_, containers_)                                                            \
    "{status: {phase: Failed, conditions: [{type: Ready, status: 'False'}, "                       \
    "{type: DisruptionTarget, status: 'True', lastTransitionTime: '1970-01-01T00:10:00Z', "        \
    "reason: " reason_ ", message: 'Eviction API: evicting'}], "                                   \
    "initContainerStatuses: [" INIT_DONE "], containerStatuses: [" containers_ "]}}"

static const struct {
    const char *pod;
    enum pod_outcome outcome;
    const char *operation, *reason, *message;
} cases[] = {
    {"{}", POD_WAITING, NULL, NULL, NULL},
    {"{status: 5}", POD_WAITING, NULL, NULL, NULL},
    {"{status: {phase: Pending, containerStatuses: [5, {name: []}, {name: main, state: 7}]}}",
     POD_WAITING, NULL, NULL, NULL},
    {POD("Pending", WAITING("init", "PodInitializing"), ""), POD_WAITING, NULL, NULL, NULL},
    {POD("Pending", RUNNING("init"), WAITING("main", "PodInitializing")), POD_WAITING, NULL, NULL,
     NULL},
    {POD("Running", INIT_DONE, RUNNING("main") "," RUNNING("wait")), POD_RUNNING, NULL, NULL, NULL},
    {POD("Running", INIT_DONE, ENDED("main", "0") "," RUNNING("wait")), POD_RUNNING, NULL, NULL,
     NULL},
    {POD("Running", INIT_DONE, ENDED("main", "3") "," RUNNING("wait")), POD_RUNNING, NULL, NULL,
     NULL},
    /* wait has failed, but main is not stopped */
    {POD("Running", INIT_DONE, RUNNING("main") "," ENDED("wait", "137")), POD_RUNNING, NULL, NULL,
     NULL},
    /* the node is unreachable and may come back: the last known status is used until the pod is
       deleted */
    {POD("Unknown", INIT_DONE, RUNNING("main") "," RUNNING("wait")), POD_RUNNING, NULL, NULL, NULL},
    {POD("Unknown", WAITING("init", "PodInitializing"), ""), POD_WAITING, NULL, NULL, NULL},
    {POD("Unknown", INIT_DONE, ENDED("main", "0") "," ENDED("wait", "0")), POD_SUCCEEDED, NULL,
     NULL, NULL},
    {"{status: {phase: Succeeded}}", POD_SUCCEEDED, NULL, NULL, NULL},
    /* an injected sidecar does not end */
    {POD("Running", INIT_DONE,
         ENDED("main", "0") "," ENDED("wait", "0") "," RUNNING("istio-proxy")),
     POD_SUCCEEDED, NULL, NULL, NULL},
    {POD("Running", INIT_DONE,
         ENDED("main", "1") "," ENDED("wait", "0") "," RUNNING("istio-proxy")),
     POD_FAILED, "RunMainContainer", "Error", "container main: Error, exit code 1"},
    /* and a failed one does not change the result of main and wait */
    {POD("Failed", INIT_DONE,
         ENDED("main", "0") "," ENDED("wait", "0") "," ENDED("istio-proxy", "137")),
     POD_SUCCEEDED, NULL, NULL, NULL},
    {POD("Failed", INIT_DONE "," ENDED("native", "137"),
         ENDED("main", "0") "," ENDED("wait", "0") "," ENDED("istio-proxy", "137")),
     POD_SUCCEEDED, NULL, NULL, NULL},
    {POD("Failed", INIT_DONE,
         ENDED("istio-proxy", "137") "," ENDED("main", "2") "," ENDED("wait", "0")),
     POD_FAILED, "RunMainContainer", "Error", "container main: Error, exit code 2"},
    /* the kubelet killed all containers: it is unknown whether main had finished */
    {"{status: {phase: Failed, reason: Evicted, containerStatuses: "
     "[" ENDED("main", "0") "," ENDED("wait", "0") "," ENDED("istio-proxy", "137") "]}}",
     POD_FAILED, "RunPod", "Evicted",
     "pod: Evicted; container istio-proxy: Error, exit code 137, signal 9 (SIGKILL)"},
    /* an injected container keeps ours from starting */
    {POD("Failed",
         "{name: istio-init, state: {terminated: {exitCode: 255, reason: Error, message: "
         "'iptables: permission denied'}}}," WAITING("init", "PodInitializing"),
         WAITING("main", "PodInitializing") "," WAITING("wait", "PodInitializing")),
     POD_FAILED, "RunPod", "Error",
     "container istio-init: Error, exit code 255: iptables: permission denied"},
    /* a native sidecar is ended with the one after it that failed */
    {POD("Failed",
         ENDED("native", "143") "," ENDED("istio-init", "1") "," WAITING("init", "PodInitializing"),
         WAITING("main", "PodInitializing")),
     POD_FAILED, "RunPod", "Error", "container istio-init: Error, exit code 1"},
    {POD("Failed", ENDED("native", "143") "," ENDED("init", "1"),
         WAITING("main", "PodInitializing")),
     POD_FAILED, "RunInitContainer", "Error", "container init: Error, exit code 1"},
    /* a native sidecar is restarted; the pod fails only if the kubelet reports so */
    {POD("Pending", ENDED("native", "1") "," WAITING("init", "PodInitializing"),
         WAITING("main", "PodInitializing")),
     POD_WAITING, NULL, NULL, NULL},
    {POD("Failed", INIT_DONE, ENDED("main", "0") "," ENDED("istio-proxy", "1")), POD_FAILED,
     "RunPod", "Error", "container istio-proxy: Error, exit code 1"},
    {POD("Pending", WAITING("istio-init", "InvalidImageName"), WAITING("main", "PodInitializing")),
     POD_HOPELESS, "RunPod", "InvalidImageName", "container istio-init: InvalidImageName"},
    /* main has ended: a waiting sidecar does not matter */
    {POD("Running", INIT_DONE,
         ENDED("main", "0") "," RUNNING("wait") "," WAITING("istio-proxy", "ErrImagePull")),
     POD_RUNNING, NULL, NULL, NULL},
    {POD("Failed", INIT_DONE,
         "{name: main, state: {terminated: {exitCode: 3, reason: Error, message: \"boom\\n\"}}},"
         "{name: wait, state: {terminated: {exitCode: 1, reason: Error}}}"),
     POD_FAILED, "RunMainContainer", "Error", "container main: Error, exit code 3: boom"},
    {POD("Failed", INIT_DONE,
         "{name: main, state: {terminated: {exitCode: 137, reason: OOMKilled}}}," ENDED("wait",
                                                                                        "1")),
     POD_FAILED, "RunMainContainer", "OOMKilled",
     "container main: OOMKilled, exit code 137, signal 9 (SIGKILL), it used more memory than its "
     "limit"},
    {POD("Failed", INIT_DONE,
         "{name: main, state: {terminated: {exitCode: 139, reason: Error}}}," ENDED("wait", "1")),
     POD_FAILED, "RunMainContainer", "Error",
     "container main: Error, exit code 139, signal 11 (SIGSEGV)"},
    {POD("Failed", INIT_DONE,
         "{name: main, state: {terminated: {exitCode: 128, reason: StartError, message: no such "
         "file}}}," ENDED("wait", "1")),
     POD_FAILED, "RunMainContainer", "StartError",
     "container main: StartError, exit code 128: no such file"},
    {POD("Failed", INIT_DONE,
         ENDED("main", "0") ",{name: wait, state: {terminated: {exitCode: 1, reason: Error, "
                            "message: export is not an object}}}"),
     POD_FAILED, "RunWaitContainer", "Error",
     "container wait: Error, exit code 1: export is not an object"},
    {POD("Failed",
         "{name: init, state: {terminated: {exitCode: 1, reason: Error, message: no registry}}}",
         WAITING("main", "PodInitializing")),
     POD_FAILED, "RunInitContainer", "Error", "container init: Error, exit code 1: no registry"},
    {POD("Pending", ENDED("init", "2"), WAITING("main", "PodInitializing")), POD_FAILED,
     "RunInitContainer", "Error", "container init: Error, exit code 2"},
    {"{status: {phase: Failed, reason: Evicted, message: The node was low on resource}}",
     POD_FAILED, "RunPod", "Evicted", "pod: Evicted: The node was low on resource"},
    {"{status: {phase: Failed, reason: DeadlineExceeded, message: too long, containerStatuses: "
     "[{name: main, state: {terminated: {exitCode: 143}}}]}}",
     POD_FAILED, "RunPod", "DeadlineExceeded",
     "pod: DeadlineExceeded: too long; container main: Error, exit code 143, signal 15 (SIGTERM)"},
    /* the node was low on memory: the containers that the kubelet killed are named too */
    {"{status: {phase: Failed, reason: Evicted, message: low on memory, containerStatuses: "
     "[{name: main, state: {terminated: {exitCode: 137}}}]}}",
     POD_FAILED, "RunPod", "Evicted",
     "pod: Evicted: low on memory; container main: Error, exit code 137, signal 9 (SIGKILL)"},
    /* kubectl drain: main exits with 0 on SIGTERM, wait can't store in time */
    {DISRUPTED("EvictionByEvictionAPI", ENDED("main", "0") "," ENDED("wait", "1")), POD_FAILED,
     "RunPod", "EvictionByEvictionAPI",
     "pod: EvictionByEvictionAPI: Eviction API: evicting; container wait: Error, exit code 1"},
    {DISRUPTED("DeletionByTaintManager", ENDED("main", "143") "," ENDED("wait", "1")), POD_FAILED,
     "RunPod", "DeletionByTaintManager",
     "pod: DeletionByTaintManager: Eviction API: evicting; container main: Error, exit code 143, "
     "signal 15 (SIGTERM)"},
    {DISRUPTED("DeletionByPodGC", RUNNING("main")), POD_FAILED, "RunPod", "DeletionByPodGC",
     "pod: DeletionByPodGC: Eviction API: evicting"},
    /* main had failed before the eviction */
    {DISRUPTED(
         "EvictionByEvictionAPI",
         "{name: main, state: {terminated: {exitCode: 3, finishedAt: '1970-01-01T00:09:58Z'}}}"
         "," ENDED("wait", "1")),
     POD_FAILED, "RunMainContainer", "Error", "container main: Error, exit code 3"},
    /* Timestamps have whole seconds: in the same second the eviction is the cause. */
    {DISRUPTED(
         "EvictionByEvictionAPI",
         "{name: main, state: {terminated: {exitCode: 143, finishedAt: '1970-01-01T00:10:00Z'}}}"
         "," ENDED("wait", "1")),
     POD_FAILED, "RunPod", "EvictionByEvictionAPI",
     "pod: EvictionByEvictionAPI: Eviction API: evicting; container main: Error, exit code 143, "
     "signal 15 (SIGTERM)"},
    /* the node went away before its kubelet reported anything */
    {"{metadata: {deletionTimestamp: '1970-01-01T00:10:00Z'}, status: {phase: Running, conditions: "
     "[{type: DisruptionTarget, status: 'True', reason: DeletionByTaintManager, message: Taint "
     "manager}], containerStatuses: [{name: main, state: {running: {}}}]}}",
     POD_FAILED, "RunPod", "DeletionByTaintManager",
     "pod: DeletionByTaintManager: Taint manager: the pod was deleted, but its node has "
     "not confirmed its end; container main was running"},
    {"{status: {phase: Failed}}", POD_FAILED, "RunPod", "PodFailed", "pod: PodFailed"},
    {"{metadata: {deletionTimestamp: '1970-01-01T00:10:00Z'}, status: {phase: Running, "
     "containerStatuses: [{name: main, state: {running: {}}}]}}",
     POD_FAILED, "RunPod", "PodLost",
     "pod: PodLost: the pod was deleted, but its node has not confirmed its end; container "
     "main was running"},
    {"{metadata: {deletionTimestamp: '1970-01-01T00:10:00Z'}, status: {phase: Pending}}",
     POD_FAILED, "RunPod", "PodLost",
     "pod: PodLost: the pod was deleted, but its node has not confirmed its end"},
    {"{metadata: {deletionTimestamp: '1970-01-01T00:16:00Z'}, status: {phase: Running, "
     "containerStatuses: [{name: main, state: {running: {}}}]}}",
     POD_RUNNING, NULL, NULL, NULL},
    {POD("Pending", WAITING("init", "InvalidImageName"), ""), POD_HOPELESS, "RunInitContainer",
     "InvalidImageName", "container init: InvalidImageName"},
    {POD("Pending", INIT_DONE, WAITING("main", "ErrImageNeverPull")), POD_HOPELESS,
     "RunMainContainer", "ErrImageNeverPull", "container main: ErrImageNeverPull"},
    {POD("Pending", INIT_DONE, WAITING("main", "ErrInvalidImageName")), POD_HOPELESS,
     "RunMainContainer", "ErrInvalidImageName", "container main: ErrInvalidImageName"},
};

static void a_deleted_pod_is_checked_again_after_its_grace_period(void **state)
{
    static const char text[] =
        "{metadata: {deletionTimestamp: '1970-01-01T00:16:00Z'}, status: {phase: Running, "
        "containerStatuses: [{name: main, state: {running: {}}}]}}";
    cleanup_json json_t *pod = sample_doc(text);
    cleanup_config struct deployer_config *config = sample_config(NULL);
    int64_t now = 0;

    (void)state;
    for (int i = 0; i < 2; i++) {
        cleanup_pod_verdict struct pod_verdict verdict = {0};

        pod_judge(pod, config, now, 0, &verdict);
        assert_int_equal(verdict.outcome, i == 0 ? POD_RUNNING : POD_FAILED);
        now = verdict.look_again_unix_ms;
        assert_true(now > 16 * 60 * 1000);
    }
}

static void a_pod_is_judged_by_its_containers(void **state)
{
    cleanup_config struct deployer_config *config = sample_config(NULL);

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *pod = sample_doc(cases[i].pod);
        cleanup_pod_verdict struct pod_verdict verdict = {0};

        pod_judge(pod, config, NOW_MS, 0, &verdict);
        if (verdict.outcome != cases[i].outcome)
            fail_msg("%s: outcome %d", cases[i].pod, (int)verdict.outcome);
        if (!cases[i].operation) {
            assert_null(verdict.operation);
            assert_null(verdict.message);
            continue;
        }
        assert_string_equal(verdict.operation, cases[i].operation);
        assert_string_equal(verdict.reason, cases[i].reason);
        assert_string_equal(verdict.message, cases[i].message);
    }
}

static const struct {
    const char *pod;
    const char *operation, *reason;
    int64_t give_up_ms; /* from when it was first seen */
} stuck[] = {
    {POD("Pending", WAITING("init", "ErrImagePull"), ""), "RunInitContainer", "ErrImagePull",
     GRACE_MS},
    {POD("Pending", WAITING("init", "ImagePullBackOff"), ""), "RunInitContainer",
     "ImagePullBackOff", GRACE_MS},
    {POD("Pending", INIT_DONE, WAITING("wait", "RegistryUnavailable")), "RunWaitContainer",
     "RegistryUnavailable", GRACE_MS},
    /* wait is checked before main, as in the Go deployer */
    {POD("Pending", INIT_DONE, WAITING("main", "ErrImagePull") "," WAITING("wait", "ErrImagePull")),
     "RunWaitContainer", "ErrImagePull", GRACE_MS},
    {POD("Pending", INIT_DONE, WAITING("main", "CreateContainerConfigError")), "RunMainContainer",
     "CreateContainerConfigError", GRACE_MS},
    {POD("Pending", INIT_DONE, WAITING("main", "CreateContainerError")), "RunMainContainer",
     "CreateContainerError", GRACE_MS},
    /* the registry has responded */
    {POD("Pending", INIT_DONE,
         "{name: main, state: {waiting: {reason: ErrImagePull, message: "
         "'manifest for a:b not found: manifest unknown'}}}"),
     "RunMainContainer", "ErrImagePull", 30 * 1000},
    /* injected, before main: it keeps main from starting */
    {POD("Pending",
         WAITING("istio-init", "ImagePullBackOff") "," WAITING("init", "PodInitializing"),
         WAITING("main", "PodInitializing")),
     "RunPod", "ImagePullBackOff", GRACE_MS},
    {POD("Pending", INIT_DONE "," WAITING("native", "CrashLoopBackOff"),
         WAITING("main", "PodInitializing")),
     "RunPod", "CrashLoopBackOff", GRACE_MS},
    /* injected, next to main, which is not blocked */
    {POD("Pending", INIT_DONE,
         RUNNING("main") "," RUNNING("wait") "," WAITING("istio-proxy", "InvalidImageName")),
     "RunPod", "InvalidImageName", ONLY_TIMEOUT},
    {POD("Pending", INIT_DONE,
         WAITING("istio-proxy", "ErrImagePull") "," WAITING("main", "ContainerCreating")),
     "RunPod", "ErrImagePull", ONLY_TIMEOUT},
    {POD("Running", INIT_DONE "," WAITING("native", "CrashLoopBackOff"),
         RUNNING("main") "," RUNNING("wait")),
     "RunPod", "CrashLoopBackOff", ONLY_TIMEOUT},
    {"{status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: "
     "Unschedulable, message: 0/3 nodes are available}]}}",
     "RunPod", "Unschedulable", ONLY_TIMEOUT},
    {"{status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: "
     "SchedulingGated}]}}",
     "RunPod", "SchedulingGated", ONLY_TIMEOUT},
};

static void temporary_problems_get_a_grace_period(void **state)
{
    cleanup_config struct deployer_config *config = sample_config("imageGracePeriod: 5m");
    cleanup_config struct deployer_config *none = sample_config("imageGracePeriod: 0s");

    (void)state;
    for (size_t i = 0; i < array_length(stuck); i++) {
        cleanup_json json_t *pod = sample_doc(stuck[i].pod);
        cleanup_pod_verdict struct pod_verdict fresh = {0};
        cleanup_pod_verdict struct pod_verdict later = {0};
        cleanup_pod_verdict struct pod_verdict hasty = {0};
        bool is_bounded = stuck[i].give_up_ms != ONLY_TIMEOUT;

        pod_judge(pod, config, NOW_MS, 0, &fresh);
        pod_judge(pod, config, NOW_MS, SINCE_MS, &later);
        pod_judge(pod, none, NOW_MS, SINCE_MS, &hasty);
        assert_int_equal(fresh.outcome, POD_STUCK);
        assert_string_equal(fresh.operation, stuck[i].operation);
        assert_string_equal(fresh.reason, stuck[i].reason);
        assert_int_equal(fresh.give_up_unix_ms, is_bounded ? NOW_MS + stuck[i].give_up_ms : -1);
        assert_int_equal(later.give_up_unix_ms, is_bounded ? SINCE_MS + stuck[i].give_up_ms : -1);
        assert_int_equal(hasty.give_up_unix_ms, is_bounded ? SINCE_MS : -1);
    }
}

/* Which messages mean that the registry has refused the image: pull_error_test.c. */
static void a_refused_pull_has_a_short_grace_period(void **state)
{
    static const struct {
        const char *message;
        int64_t grace_ms;
    } pulls[] = {
        {"reg.example/a/b:1: not found", 30 * 1000},
        {"dial tcp 192.0.2.1:443: i/o timeout", GRACE_MS},
    };
    cleanup_config struct deployer_config *config = sample_config("imageGracePeriod: 5m");

    (void)state;
    for (size_t i = 0; i < array_length(pulls); i++) {
        cleanup_json json_t *pod =
            json_pack("{s:{s:s,s:[{s:s,s:{s:{s:s,s:s}}}]}}", "status", "phase", "Pending",
                      "containerStatuses", "name", "main", "state", "waiting", "reason",
                      "ErrImagePull", "message", pulls[i].message);
        cleanup_pod_verdict struct pod_verdict verdict = {0};

        pod_judge(pod, config, NOW_MS, SINCE_MS, &verdict);
        assert_int_equal(verdict.outcome, POD_STUCK);
        assert_int_equal(verdict.give_up_unix_ms, SINCE_MS + pulls[i].grace_ms);
    }
}

static void facts_for_the_controller_are_filled_in(void **state)
{
    cleanup_config struct deployer_config *config = sample_config(NULL);
    cleanup_json json_t *failed =
        sample_doc(POD("Failed", INIT_DONE, ENDED("main", "3") "," ENDED("wait", "0")));
    cleanup_json json_t *late = sample_doc("{status: {phase: Failed, reason: DeadlineExceeded}}");
    cleanup_pod_verdict struct pod_verdict verdict = {0};
    cleanup_pod_verdict struct pod_verdict timeout = {0};

    (void)state;
    pod_judge(failed, config, NOW_MS, 0, &verdict);
    assert_true(verdict.has_exit_code);
    assert_int_equal(verdict.exit_code, 3);
    assert_true(verdict.is_main_failed);
    assert_false(verdict.is_timeout);
    assert_string_equal(verdict.container, "main");
    assert_false(verdict.is_injected);
    pod_judge(late, config, NOW_MS, 0, &timeout);
    assert_true(timeout.is_timeout);
    assert_null(timeout.container);
}

static void an_injected_container_is_named_and_marked(void **state)
{
    cleanup_config struct deployer_config *config = sample_config(NULL);
    cleanup_json json_t *failed =
        sample_doc(POD("Failed", ENDED("istio-init", "2"), WAITING("main", "PodInitializing")));
    cleanup_pod_verdict struct pod_verdict verdict = {0};

    (void)state;
    pod_judge(failed, config, NOW_MS, 0, &verdict);
    assert_string_equal(verdict.container, "istio-init");
    assert_int_equal(verdict.exit_code, 2);
    assert_true(verdict.is_injected);
    assert_false(verdict.is_main_failed);
}

static const struct {
    const char *pod, *container;
} at_work[] = {
    {POD("Running", INIT_DONE "," RUNNING("native"), RUNNING("main") "," RUNNING("wait")), "main"},
    {POD("Pending", RUNNING("native") "," RUNNING("init"), ""), "init"},
    {POD("Running", INIT_DONE "," RUNNING("native"), ENDED("main", "0") "," RUNNING("wait")),
     "wait"},
    {POD("Pending", RUNNING("native") "," RUNNING("istio-init"), ""), "istio-init"},
    {POD("Running", INIT_DONE, ENDED("main", "0") "," RUNNING("istio-proxy")), NULL},
    {"{}", NULL},
};

static void the_running_container_is_ours_or_blocks_ours(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(at_work); i++) {
        cleanup_json json_t *pod = sample_doc(at_work[i].pod);
        const char *container = pod_running_container(pod);

        if (at_work[i].container)
            assert_string_equal(container, at_work[i].container);
        else
            assert_null(container);
    }
}

#define MESSAGE "container main: Error, exit code 1: "
#define LONG "0123456789012345678901234567890123456789012345678901234567890123"
#define LONGER LONG LONG LONG LONG LONG LONG

static const struct {
    const char *message, *tail, *shown;
} endings[] = {
    {MESSAGE "last", "a\nb\n", MESSAGE "last\na\nb"},
    {MESSAGE "last", "token=abc\n", MESSAGE "last\ntoken=***"},
    {MESSAGE "last", "last\n", MESSAGE "last"},
    {MESSAGE "first\nlast", "last\n", MESSAGE "first\nlast"},
    {MESSAGE "last\nfirst", "last\n", MESSAGE "last\nfirst\nlast"},
    {MESSAGE "last", NULL, MESSAGE "last"},
    /* The kubelet kept less of the log than we have, but with the same end. */
    {MESSAGE LONGER "\nlast", "older\n" LONGER "\nlast\n", MESSAGE LONGER "\nlast"},
};

static void the_message_ends_with_the_log_and_without_credentials(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(endings); i++) {
        struct pod_verdict verdict = {.message = xstrdup(endings[i].message)};
        cleanup_free char *shown = pod_verdict_message(&verdict, endings[i].tail);

        assert_string_equal(shown, endings[i].shown);
        pod_verdict_done(&verdict);
    }
}

static void the_last_line_of_a_long_log_is_kept_in_the_message(void **state)
{
    static const size_t sizes[] = {1, 2000, 3000, 4000, 4094, 4095, 4096, 5000};

    (void)state;
    for (size_t i = 0; i < array_length(sizes); i++) {
        struct pod_verdict verdict = {.message = xasprintf("%*s", (int)sizes[i], "m")};
        cleanup_free char *tail = xasprintf("%3000s\nthe last line\n", "t");
        cleanup_free char *shown = pod_verdict_message(&verdict, tail);
        const char *end = strlen(shown) > 9 ? shown + strlen(shown) - 9 : shown;

        assert_true(strlen(shown) <= STATUS_MESSAGE_MAX);
        assert_int_equal(strcmp(end, "last line") == 0, sizes[i] <= 4000);
        pod_verdict_done(&verdict);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_is_judged_by_its_containers),
        cmocka_unit_test(a_deleted_pod_is_checked_again_after_its_grace_period),
        cmocka_unit_test(temporary_problems_get_a_grace_period),
        cmocka_unit_test(a_refused_pull_has_a_short_grace_period),
        cmocka_unit_test(facts_for_the_controller_are_filled_in),
        cmocka_unit_test(an_injected_container_is_named_and_marked),
        cmocka_unit_test(the_running_container_is_ours_or_blocks_ours),
        cmocka_unit_test(the_message_ends_with_the_log_and_without_credentials),
        cmocka_unit_test(the_last_line_of_a_long_log_is_kept_in_the_message),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
