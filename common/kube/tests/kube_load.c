/* SPDX-License-Identifier: Apache-2.0 */
/* The counterparts of the controller in a benchmark, cheap enough not to distort it. Used by
 * e2e/perf.
 *
 *   kube_load KUBECONFIG kubelet NAMESPACE
 *     Makes every new pod succeed at once, with state and export, until SIGTERM.
 *
 *   kube_load KUBECONFIG floor COUNT WIDTH
 *     Standard input is a JSON array of requests, the "run": COUNT runs, WIDTH of them at a time,
 *     as fast as the server answers. @N@ in any string is the number of the run.
 *     Prints {"requests": n, "failed": n, "seconds": s}. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/tests/load_kubelet.h"
#include "common/kube/tests/verbs.h"

enum { SCRIPT_MAX = 4 * 1024 * 1024, WIDTH_MAX = 256, STEPS_MAX = 64 };

static const char PLACEHOLDER[] = "@N@";

struct side {
    struct loop *loop;
    struct http_client *http;
    struct kube *kube;
};

static void open_side(struct side *side, const char *kubeconfig)
{
    struct kube_config *config = NULL;
    struct error err = {0};

    if (kube_config_from_file(kubeconfig, &config, &err) < 0 ||
        loop_new(clock_system(), &side->loop, &err) < 0 ||
        http_client_new(side->loop, "kube_load", &side->http, &err) < 0 ||
        kube_new(side->loop, side->http, config, &side->kube, &err) < 0)
        fatal(kubeconfig, &err);
}

static void close_side(struct side *side)
{
    kube_free(side->kube);
    http_client_free(side->http);
    loop_free(side->loop);
}

/* --- floor --- */

struct floor_bench {
    struct side *side;
    char *steps[STEPS_MAX]; /* JSON text of each request of a run */
    size_t step_count;
    size_t runs_left, next_run, running;
    size_t requests, failed;
};

struct run {
    struct floor_bench *bench;
    size_t number, step;
};

static void next_step(struct run *run);

static char *with_number(const char *text, size_t number)
{
    struct buffer out;
    struct error err = {0};
    char digits[24];
    char *whole = NULL;

    buffer_init(&out, SCRIPT_MAX);
    (void)snprintf(digits, sizeof(digits), "%zu", number);
    for (const char *mark = NULL; (mark = strstr(text, PLACEHOLDER));
         text = mark + strlen(PLACEHOLDER)) {
        if (buffer_append(&out, text, (size_t)(mark - text), &err) < 0 ||
            buffer_append(&out, digits, strlen(digits), &err) < 0)
            fatal("script", &err);
    }
    if (buffer_append(&out, text, strlen(text) + 1, &err) < 0)
        fatal("script", &err);
    whole = xstrdup(out.data);
    buffer_done(&out);
    return whole;
}

static void on_answer(void *data, json_t *object, const struct error *err)
{
    struct run *run = data;

    (void)object;
    if (err->kind != ERROR_NONE) {
        /* The first error shows what is wrong with the script. */
        if (run->bench->failed++ == 0)
            (void)fprintf(stderr, "kube_load: %s\n", err->text);
    }
    next_step(run);
}

static void send_step(struct run *run)
{
    cleanup_free char *text = with_number(run->bench->steps[run->step], run->number);
    cleanup_json json_t *step = NULL;
    struct error err = {0};

    if (doc_parse_json(text, strlen(text), SCRIPT_MAX, &step, &err) < 0)
        fatal("script", &err);
    const struct kube_request request = {
        .verb = verb_of(doc_text_or(step, "verb", "")),
        .resource = {doc_text_or(step, "group", ""), doc_text_or(step, "version", "v1"),
                     doc_text_or(step, "plural", "")},
        .namespace_name = doc_text(step, "namespace"),
        .name = doc_text(step, "name"),
        .subresource = doc_text(step, "subresource"),
        .label_selector = doc_text(step, "labelSelector"),
        .field_manager = "kube_load",
        .body = doc_member(step, "body"),
        .grace_seconds = doc_integer_or(step, "grace", -1),
        .is_not_retried = true,
        .on_done = on_answer,
        .data = run,
    };
    run->step++;
    run->bench->requests++;
    if (kube_start(run->bench->side->kube, &request, NULL, &err) < 0)
        fatal("request", &err);
}

static void next_step(struct run *run)
{
    struct floor_bench *bench = run->bench;

    if (run->step == bench->step_count) {
        run->step = 0;
        if (bench->runs_left == 0) {
            if (--bench->running == 0)
                loop_stop(bench->side->loop);
            free(run);
            return;
        }
        bench->runs_left--;
        run->number = bench->next_run++;
    }
    send_step(run);
}

static double seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void read_script(struct floor_bench *bench)
{
    cleanup_json json_t *script = json_loadf(stdin, 0, NULL);
    const json_t *step = NULL;
    size_t i = 0;

    if (!json_is_array(script) || json_array_size(script) == 0 ||
        json_array_size(script) > STEPS_MAX)
        fatal("stdin must be an array of 1 to 64 requests", NULL);
    json_array_foreach(script, i, step)
    {
        bench->steps[bench->step_count++] = doc_dump(step);
    }
}

static void measure_floor(struct side *side, size_t count, size_t width)
{
    struct floor_bench bench = {.side = side, .runs_left = count};
    struct error err = {0};
    double begin = 0;

    read_script(&bench);
    begin = seconds_now();
    for (size_t i = 0; i < width && bench.runs_left > 0; i++) {
        struct run *run = xcalloc(1, sizeof(*run));

        run->bench = &bench;
        run->step = bench.step_count;
        bench.running++;
        next_step(run);
    }
    if (loop_run(side->loop, &err) < 0)
        fatal("floor", &err);
    (void)printf("{\"requests\": %zu, \"failed\": %zu, \"seconds\": %.6f}\n", bench.requests,
                 bench.failed, seconds_now() - begin);
    for (size_t i = 0; i < bench.step_count; i++)
        free(bench.steps[i]);
}

int main(int argc, char **argv)
{
    struct side side = {0};

    (void)signal(SIGPIPE, SIG_IGN);
    doc_setup();
    if (argc == 4 && strcmp(argv[2], "kubelet") == 0) {
        open_side(&side, argv[1]);
        play_kubelet(side.loop, side.kube, argv[3]);
    } else if (argc == 5 && strcmp(argv[2], "floor") == 0) {
        size_t count = strtoul(argv[3], NULL, 10);
        size_t width = strtoul(argv[4], NULL, 10);

        if (count == 0 || width == 0 || width > WIDTH_MAX)
            fatal("COUNT and WIDTH are from 1, WIDTH is at most 256", NULL);
        open_side(&side, argv[1]);
        measure_floor(&side, count, width);
    } else {
        (void)fprintf(stderr, "usage: kube_load KUBECONFIG kubelet NAMESPACE\n"
                              "       kube_load KUBECONFIG floor COUNT WIDTH < requests.json\n");
        return 2;
    }
    close_side(&side);
    return 0;
}
