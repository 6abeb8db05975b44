/* SPDX-License-Identifier: Apache-2.0 */
/* What wait is told: settings that were read are within their bounds and name all that a run needs;
 * times written out again are read as the same; a refusal says why. Input: words, each ended by a
 * NUL, of which those that are NAME=value of the contract are the environment. */
#include "common/fuzz/words.h"
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
    must(settings->is_last_told || settings->last_sequence == 0);
    if (settings->sink_dir)
        must(settings->main_end_fd >= 0);
    else
        must(settings->pod_name && settings->pod_namespace && settings->main_end_fd == -1);
}

static void check_again(const struct settings *settings)
{
    struct words words = {0};
    struct settings again = {0};
    struct error err = {0};

    words_add(&words, xstrdup("fuzzed"));
    words_add(&words, xasprintf("--grace=%llu", (unsigned long long)settings->grace_ms / 1000));
    words_add(&words, xasprintf("--quiet=%llu", (unsigned long long)settings->quiet_ms / 1000));
    words_add(&words, xasprintf("--request-timeout=%llu",
                                (unsigned long long)settings->request_timeout_ms / 1000));
    words_add(&words, xstrdup(settings->is_help || settings->is_version ? "--help" : "--dev"));
    must(settings_read(words.count, words.items, &again, &err) == 0);
    must(again.grace_ms == settings->grace_ms && again.quiet_ms == settings->quiet_ms);
    must(again.request_timeout_ms == settings->request_timeout_ms);
    must(again.last_sequence == settings->last_sequence);
    must(again.main_end_fd == settings->main_end_fd);
    words_done(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words words = {0};
    struct settings settings = {0};
    struct error err = {0};

    words_split(&words, data, size);
    words_to_environment(&words, wait_variables, array_length(wait_variables));
    if (settings_read(words.count, words.items, &settings, &err) < 0) {
        must(err.kind == ERROR_INVALID && err.text[0]);
    } else {
        must(settings.grace_ms <= 86400000 && settings.quiet_ms <= 86400000);
        must(settings.request_timeout_ms >= 1000 && settings.request_timeout_ms <= 3600000);
        if (!settings.is_help && !settings.is_version)
            check_environment(&settings);
        check_again(&settings);
    }
    words_done(&words);
    return 0;
}
