/* SPDX-License-Identifier: Apache-2.0 */
/* Reads flags and environment. Property: accepted options have absolute paths and a positive
 * deadline, and are the same when written out and read again; an error has a text. Input:
 * NUL-terminated arguments; NAME=value of a known variable is the environment. */
#include "common/contract.h"
#include "common/fuzz/arguments.h"
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
    struct arguments arguments = {0};
    struct options options = {0};
    struct error err = {0};

    arguments_split(&arguments, data, size);
    arguments_to_environment(&arguments, names, array_length(names));
    if (options_from_arguments(arguments.count, arguments.items, &options, &err) < 0 ||
        options_from_environment(&options, &err) < 0)
        must(err.kind == ERROR_INVALID && err.text[0]);
    else
        check(&options);
    arguments_done(&arguments);
    return 0;
}
