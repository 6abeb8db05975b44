/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: accepted settings are within their limits and complete; durations are the same after
 * formatting and parsing again; an error has a message. Input: NUL-terminated arguments; those of
 * the form NAME=value with a name of the contract become the environment, the others arguments. */
#include "common/fuzz/arguments.h"
#include "wait/options.h"
#include "wait/tests/environment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_environment(const struct settings *settings)
{
    must(settings->state_path && *settings->state_path);
    must(settings->exports_path && *settings->exports_path);
    must(settings->item_name && settings->item_namespace && settings->termination_log);
    must(settings->last_sequence >= 0 && settings->last_sequence < INT64_MAX);
    must(settings->next_sequence >= 0 && settings->next_sequence < INT64_MAX);
    must(settings->is_last_known || settings->last_sequence == 0);
    if (settings->sink_dir)
        must(settings->main_end_fd >= 0);
    else
        must(settings->pod_name && settings->pod_namespace && settings->main_end_fd == -1);
}

static void check_again(const struct settings *settings)
{
    struct arguments arguments = {0};
    struct settings again = {0};
    struct error err = {0};

    arguments_add(&arguments, xstrdup("fuzzed"));
    arguments_add(&arguments,
                  xasprintf("--grace=%llu", (unsigned long long)settings->grace_ms / 1000));
    arguments_add(&arguments,
                  xasprintf("--quiet=%llu", (unsigned long long)settings->idle_ms / 1000));
    arguments_add(&arguments, xasprintf("--request-timeout=%llu",
                                        (unsigned long long)settings->request_timeout_ms / 1000));
    arguments_add(&arguments,
                  xstrdup(settings->is_help || settings->is_version ? "--help" : "--dev"));
    must(settings_read(arguments.count, arguments.items, &again, &err) == 0);
    must(again.grace_ms == settings->grace_ms && again.idle_ms == settings->idle_ms);
    must(again.request_timeout_ms == settings->request_timeout_ms);
    must(again.last_sequence == settings->last_sequence);
    must(again.main_end_fd == settings->main_end_fd);
    arguments_done(&arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arguments arguments = {0};
    struct settings settings = {0};
    struct error err = {0};

    arguments_split(&arguments, data, size);
    arguments_to_environment(&arguments, wait_variables, array_length(wait_variables));
    if (settings_read(arguments.count, arguments.items, &settings, &err) < 0) {
        must(err.kind == ERROR_INVALID && err.text[0]);
    } else {
        must(settings.grace_ms <= 86400000 && settings.idle_ms <= 86400000);
        must(settings.request_timeout_ms >= 1000 && settings.request_timeout_ms <= 3600000);
        if (!settings.is_help && !settings.is_version)
            check_environment(&settings);
        check_again(&settings);
    }
    arguments_done(&arguments);
    return 0;
}
