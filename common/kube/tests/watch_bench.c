/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/tests/watch_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/doc.h"

static void note(void *data, enum kube_event event, const json_t *object, const struct error *err)
{
    static const char letters[] = {
        [KUBE_EVENT_LISTING] = '(', [KUBE_EVENT_LISTED] = 'L',   [KUBE_EVENT_SYNCED] = 'S',
        [KUBE_EVENT_ADDED] = 'A',   [KUBE_EVENT_MODIFIED] = 'M', [KUBE_EVENT_DELETED] = 'D',
        [KUBE_EVENT_BROKEN] = 'B',  [KUBE_EVENT_REWOUND] = 'R',
    };
    struct seen *seen = data;
    size_t used = strlen(seen->text);

    (void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s%c%s%s", used ? " " : "",
                   letters[event], doc_text_or(object, "metadata.name", ""),
                   object && err ? "!" : "");
    assert_int_equal(err != NULL && !object, event == KUBE_EVENT_BROKEN);
    if (err)
        seen->err = *err;
    if (letters[event] == seen->stop_at) {
        kube_watch_stop(seen->watch);
        kube_watch_stop(seen->watch);
        seen->watch = NULL;
    }
}

static bool is_known(void *data, const char *namespace_name, const char *name,
                     const char *resource_version)
{
    (void)data;
    (void)namespace_name;
    return strcmp(name, "known") == 0 && strcmp(resource_version, "101") == 0;
}

void watch_bench_start(struct kube_bench *bench, struct seen *seen, bool is_watch_only)
{
    const struct kube_watch_options options = {
        .resource = KUBE_PODS,
        .namespace_name = "a",
        .label_selector = "x=y",
        .is_watch_only = is_watch_only,
        .retry_first_ms = 1,
        .retry_max_ms = 1,
        .is_known = is_known,
        .on_event = note,
        .data = seen,
    };
    struct error err = {0};

    assert_int_equal(kube_watch_start(bench->kube, &options, &seen->watch, &err), 0);
    assert_string_equal(seen->text, "");
}

void watch_bench_run(struct kube_bench *bench, struct seen *seen, char **answers, size_t count,
                     const char *wanted)
{
    kube_bench_set_answers(bench, (const char *const *)answers, count);
    while (strlen(seen->text) < strlen(wanted))
        kube_bench_run_once(bench);
    kube_bench_run_idle(bench);
    assert_string_equal(seen->text, wanted);
    kube_watch_stop(seen->watch);
    for (size_t i = 0; i < count; i++)
        free(answers[i]);
}
