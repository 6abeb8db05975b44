/* SPDX-License-Identifier: Apache-2.0 */
/* What init is told: options that were read have absolute paths and a time to wait; written out
 * again they are the same; a refusal says why. Input: words, each ended by a NUL, of which those
 * that are NAME=value of the contract are the environment. */
#include "common/contract.h"
#include "common/fuzz/words.h"
#include "init/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {
    ENV_CONFIGURATION_PATH,
    ENV_IMPORTS_PATH,
    ENV_EXPORTS_PATH,
    ENV_EXPORT_PATH_OLD,
    ENV_COMPONENT_DESCRIPTOR_PATH,
    ENV_TARGET_PATH,
    ENV_CONTENT_PATH,
    ENV_STATE_PATH,
    ENV_STATE_OLD,
    ENV_DEPLOY_ITEM_NAME,
    ENV_DEPLOY_ITEM_NAMESPACE,
    ENV_INIT_DEADLINE,
    ENV_OCI_PLAIN_HTTP,
    ENV_OCI_INSECURE,
};

static void check(const struct options *options)
{
    const char *const paths[] = {
        options->imports_path, options->exports_path, options->component_descriptor_path,
        options->target_path,  options->content_path, options->state_path};
    cleanup_free char *deadline = xasprintf("%llums", (unsigned long long)options->deadline_ms);
    struct options again = {0};
    struct error err = {0};

    for (size_t i = 0; i < array_length(paths); i++)
        must(paths[i] && paths[i][0] == '/');
    must(options->configuration_path && *options->item_name && *options->item_namespace);
    must(options->target_source && options->termination_log && options->deadline_ms > 0);
    (void)setenv(ENV_INIT_DEADLINE, deadline, 1);
    (void)setenv(ENV_OCI_INSECURE, options->is_insecure ? "true" : "", 1);
    must(options_from_environment(&again, &err) == 0);
    must(again.deadline_ms == options->deadline_ms && again.is_insecure == options->is_insecure);
    must(is_same_text(again.exports_path, options->exports_path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words words = {0};
    struct options options = {0};
    struct error err = {0};

    words_split(&words, data, size);
    words_to_environment(&words, names, array_length(names));
    if (options_from_arguments(words.count, words.items, &options, &err) < 0 ||
        options_from_environment(&options, &err) < 0)
        must(err.kind == ERROR_INVALID && err.text[0]);
    else
        check(&options);
    words_done(&words);
    return 0;
}
