/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: accepted options name something to run, have times and sizes in range, and give the
 * same result when written out and parsed again; an error has a text. Input: arguments, each ended
 * by a NUL. */
#include "common/fuzz/arguments.h"
#include "deployer/run/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct run_options *options)
{
    struct arguments arguments = {0};
    struct run_options again = {0};
    struct error err = {0};

    arguments_add(&arguments, xstrdup("fuzzed"));
    arguments_add(&arguments, xasprintf("--grace=%lldms", (long long)options->grace_ms));
    arguments_add(&arguments, xasprintf("--cache-size=%lld", (long long)options->cache_bytes));
    if (options->timeout_ms > 0)
        arguments_add(&arguments, xasprintf("--timeout=%lldms", (long long)options->timeout_ms));
    else if (options->timeout_ms < 0)
        arguments_add(&arguments, xstrdup("--timeout=none"));
    arguments_add(&arguments, xasprintf("--network=%s", options->has_network ? "host" : "none"));
    arguments_add(&arguments, xstrdup("file"));
    must(run_options_parse(arguments.count, arguments.items, &again, &err) == 0);
    must(again.grace_ms == options->grace_ms && again.timeout_ms == options->timeout_ms);
    must(again.cache_bytes == options->cache_bytes && again.has_network == options->has_network);
    must(again.file_count == 1 && is_same_text(again.files[0], "file"));
    run_options_done(&again);
    arguments_done(&arguments);
}

static void check(const struct run_options *options)
{
    must(options->file_count || options->image || options->from_cluster);
    must(options->grace_ms > 0 && options->timeout_ms >= -1 && options->cache_bytes >= 0);
    must(!options->is_shell || options->output == RUN_OUTPUT_TEXT);
    for (size_t i = 0; i < options->file_count; i++)
        must(options->files[i] != NULL);
    must(options->files[options->file_count] == NULL);
    check_again(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arguments arguments = {0};
    struct run_options options = {0};
    struct error err = {0};

    arguments_split(&arguments, data, size);
    if (run_options_parse(arguments.count, arguments.items, &options, &err) < 0)
        must(err.kind == ERROR_INVALID && err.text[0] && !options.objects.items);
    else if (!options.is_help)
        check(&options);
    run_options_done(&options);
    arguments_done(&arguments);
    return 0;
}
