/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/seen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

void seen_note(void *data, const json_t *object, const struct error *err)
{
    struct seen *seen = data;
    char piece[64];
    size_t used = strlen(seen->text);
    const char *name = doc_text_or(object, "metadata.name", "");

    if (object && err)
        (void)snprintf(piece, sizeof(piece), "%s-", name);
    else if (object)
        (void)snprintf(piece, sizeof(piece), "%s=%lld", name,
                       (long long)doc_integer_or(object, "spec.n", -1));
    else
        (void)snprintf(piece, sizeof(piece), "%s", err ? "!" : ".");
    if (err)
        seen->err = *err;
    (void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s%s", used ? " " : "", piece);
    if (seen->start_name) {
        const char *start = seen->start_name;

        seen->start_name = NULL;
        seen_watch(seen->bench, start, NULL, seen->also);
    }
    if (seen->stop_at && strcmp(seen->stop_at, piece) == 0) {
        cluster_unwatch(seen->interest);
        cluster_unwatch(seen->interest);
        seen->interest = NULL;
        if (seen->also) {
            cluster_unwatch(seen->also->interest);
            seen->also->interest = NULL;
        }
    }
}

void seen_watch(struct api_bench *bench, const char *name, const char *label, struct seen *seen)
{
    struct error err = {0};
    char before[sizeof(seen->text)];

    memcpy(before, seen->text, sizeof(before));
    if (cluster_watch(bench->cluster, kind_builtin("v1", "ConfigMap"), "a", name, label, seen_note,
                      seen, &seen->interest, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(seen->text, before);
}

void seen_expect(struct api_bench *bench, struct seen *seen, const char *format, ...)
{
    char wanted[sizeof(seen->text)];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(wanted, sizeof(wanted), format, arguments);
    va_end(arguments);
    while (strlen(seen->text) < strlen(wanted))
        api_bench_run_once(bench);
    api_bench_run_idle(bench);
    assert_string_equal(seen->text, wanted);
}

void seen_run_until_watched(struct api_bench *bench, size_t count)
{
    while (bench->watcher_count < count)
        api_bench_run_once(bench);
}

void seen_break_watches(struct api_bench *bench)
{
    for (size_t i = 0; i < bench->watcher_count; i++)
        loopback_close(bench->watchers[i].connection);
}

void seen_put(struct api_bench *bench, const char *name, int number)
{
    cleanup_free char *path = xasprintf(MAPS "/%s", name);
    cleanup_free char *text = xasprintf(
        "{\"kind\": \"ConfigMap\", \"metadata\": {\"labels\": {\"l\": \"m\"}}, \"spec\": {\"n\": "
        "%d}}",
        number);

    (void)api_bench_put(bench, path, text);
}

void seen_stop(struct seen *seen, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cluster_unwatch(seen[i].interest);
}
