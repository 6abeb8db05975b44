/* SPDX-License-Identifier: Apache-2.0 */
#include "init/options.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/command_line/logging.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/duration.h"

enum { DEADLINE_DEFAULT_MS = INIT_DEADLINE_SECONDS * 1000, MISSING_MAX_BYTES = 900 };

int options_from_arguments(int argc, char **argv, struct options *ret_options, struct error *err)
{
    struct init_values values = {0};
    int first = 0;

    if (options_parse(&COMMAND_INIT, argc, argv, &values, &first, err) < 0)
        return -1;
    if (first < argc)
        return error_set(err, ERROR_INVALID, "unexpected argument \"%s\"", argv[first]);
    if (log_values_read(&values.log, &ret_options->level, &ret_options->format, err) < 0)
        return -1;
    ret_options->is_format_given = values.log.format || values.log.is_dev || values.log.is_cli;
    ret_options->is_version_asked = values.is_version;
    ret_options->is_help_asked = values.is_help;
    return 0;
}

static const char *text_or_null(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static bool is_true(const char *name)
{
    const char *value = getenv(name);

    return value && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

static int read_required(struct options *options, struct error *err)
{
    const struct {
        const char *name, *older;
        const char **place;
    } required[] = {
        {ENV_CONFIGURATION_PATH, NULL, &options->configuration_path},
        {ENV_IMPORTS_PATH, NULL, &options->imports_path},
        {ENV_EXPORTS_PATH, ENV_EXPORT_PATH_OLD, &options->exports_path},
        {ENV_COMPONENT_DESCRIPTOR_PATH, NULL, &options->component_descriptor_path},
        {ENV_TARGET_PATH, NULL, &options->target_path},
        {ENV_CONTENT_PATH, NULL, &options->content_path},
        {ENV_STATE_PATH, ENV_STATE_OLD, &options->state_path},
        {ENV_DEPLOY_ITEM_NAME, NULL, &options->item_name},
        {ENV_DEPLOY_ITEM_NAMESPACE, NULL, &options->item_namespace},
    };
    cleanup_buffer struct buffer missing = {0};

    buffer_init(&missing, MISSING_MAX_BYTES);
    for (size_t i = 0; i < array_length(required); i++) {
        *required[i].place = text_or_null(required[i].name);
        if (!*required[i].place && required[i].older)
            *required[i].place = text_or_null(required[i].older);
        if (!*required[i].place &&
            buffer_append_text(&missing, err, "%s%s is not set", missing.size > 0 ? ", " : "",
                               required[i].name) < 0)
            return -1;
    }
    if (missing.size > 0)
        return error_set(err, ERROR_INVALID, "environment: %s", missing.data);
    return 0;
}

static int check_absolute(const struct options *options, struct error *err)
{
    const struct {
        const char *name, *value;
    } outputs[] = {
        {ENV_IMPORTS_PATH, options->imports_path},
        {ENV_EXPORTS_PATH, options->exports_path},
        {ENV_COMPONENT_DESCRIPTOR_PATH, options->component_descriptor_path},
        {ENV_TARGET_PATH, options->target_path},
        {ENV_CONTENT_PATH, options->content_path},
        {ENV_STATE_PATH, options->state_path},
    };

    for (size_t i = 0; i < array_length(outputs); i++) {
        if (outputs[i].value[0] != '/')
            return error_set(err, ERROR_INVALID, "environment: %s: \"%s\" is not an absolute path",
                             outputs[i].name, outputs[i].value);
    }
    return 0;
}

int options_from_environment(struct options *options, struct error *err)
{
    const char *deadline = text_or_null(ENV_INIT_DEADLINE);
    int64_t deadline_ns = 0;

    if (read_required(options, err) < 0 || check_absolute(options, err) < 0)
        return -1;
    options->pod_namespace = text_or_null(ENV_POD_NAMESPACE);
    options->registry_secrets_dir = text_or_null(ENV_REGISTRY_SECRETS_DIR);
    options->ocm_configuration_path = text_or_null(ENV_OCM_CONFIGURATION_PATH);
    options->target_source = text_or_null(ENV_TARGET_SOURCE);
    if (!options->target_source)
        options->target_source = PATH_TARGET_SOURCE;
    options->state_source_dir = text_or_null(ENV_STATE_SOURCE_DIR);
    options->termination_log = text_or_null(ENV_TERMINATION_LOG);
    if (!options->termination_log)
        options->termination_log = PATH_TERMINATION_LOG;
    options->is_plain_http_allowed = is_true(ENV_OCI_PLAIN_HTTP);
    options->is_insecure = is_true(ENV_OCI_INSECURE);
    options->deadline_ms = DEADLINE_DEFAULT_MS;
    if (deadline) {
        if (duration_parse(deadline, &deadline_ns, err) < 0)
            return error_wrap(err, "environment: %s", ENV_INIT_DEADLINE);
        if (deadline_ns < 1000000)
            return error_set(err, ERROR_INVALID,
                             "environment: %s: \"%s\" is not a positive duration",
                             ENV_INIT_DEADLINE, deadline);
        options->deadline_ms = (uint64_t)(deadline_ns / 1000000);
    }
    return 0;
}
