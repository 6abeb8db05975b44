/* SPDX-License-Identifier: Apache-2.0 */
#include "init/options.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/options.h"
#include "common/contract.h"
#include "common/data/duration.h"

enum { DEADLINE_DEFAULT_MS = INIT_DEADLINE_SECONDS * 1000, MISSING_MAX_BYTES = 900 };

/* The values behind the flags. The disable switches of Go's logger change nothing here: there are
 * neither stack traces nor callers in our lines, and a line without its time helps nobody. */
struct flags {
    const char *verbosity, *format;
    bool is_dev, is_cli, is_version, is_help;
    bool no_stacktrace, no_caller, no_timestamp;
};

enum { FLAG_COUNT = 10 };

static void fill_rows(struct flags *flags, struct option_row rows[FLAG_COUNT])
{
    const struct option_row filled[FLAG_COUNT] = {
        {"verbosity", 'v', OPTION_TEXT, &flags->verbosity, "LEVEL",
         "error, info or debug (default info)"},
        {"format", 'f', OPTION_TEXT, &flags->format, "FORMAT",
         "text or json (default json, text on a terminal)"},
        {"dev", 0, OPTION_FLAG, &flags->is_dev, NULL, "log as text and at level debug"},
        {"cli", 0, OPTION_FLAG, &flags->is_cli, NULL, "log as text"},
        {"disable-stacktrace", 0, OPTION_FLAG, &flags->no_stacktrace, NULL,
         "accepted for the Go program's sake"},
        {"disable-caller", 0, OPTION_FLAG, &flags->no_caller, NULL,
         "accepted for the Go program's sake"},
        {"disable-timestamp", 0, OPTION_FLAG, &flags->no_timestamp, NULL,
         "accepted for the Go program's sake"},
        {"version", 0, OPTION_FLAG, &flags->is_version, NULL, "print the version and exit"},
        {"help", 'h', OPTION_FLAG, &flags->is_help, NULL, "print this and exit"},
        {0},
    };

    memcpy(rows, filled, sizeof(filled));
}

static struct option_command command_with(const struct option_row *rows)
{
    return (struct option_command){
        .program = "longshore-init",
        .synopsis = "[OPTIONS]",
        .summary = "Puts imports, target, component descriptors, blueprint content and the last "
                   "state on the shared volume. What and where is told by the environment",
        .rows = rows,
    };
}

void options_show_help(void)
{
    struct flags flags = {0};
    struct option_row rows[FLAG_COUNT];
    struct option_command command = {0};

    fill_rows(&flags, rows);
    command = command_with(rows);
    options_print_help(&command, stdout);
}

/* Go's flags take "--flag=false" for a boolean and "-v=debug" for a letter; getopt does not. argv
 * is rewritten in place to what getopt knows; returns the new argc. */
static int translate_go_flags(const struct option_row *rows, int argc, char **argv)
{
    int kept = 1;

    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        const struct option_row *row = rows;
        size_t length = equals ? (size_t)(equals - argv[i]) : 0;

        while (row->name && !(length > 2 && row->type == OPTION_FLAG &&
                              strncmp(argv[i], "--", 2) == 0 && strlen(row->name) == length - 2 &&
                              strncmp(argv[i] + 2, row->name, length - 2) == 0))
            row++;
        if (row->name && (strcmp(equals, "=false") == 0 || strcmp(equals, "=true") == 0)) {
            if (strcmp(equals, "=false") == 0)
                continue;
            *equals = '\0';
        } else if (length == 2 && argv[i][0] == '-' && argv[i][1] != '-') {
            memmove(equals, equals + 1, strlen(equals));
        }
        argv[kept++] = argv[i];
    }
    return argc > 0 ? kept : 0;
}

int options_from_arguments(int argc, char **argv, struct options *ret_options, struct error *err)
{
    struct flags flags = {0};
    struct option_row rows[FLAG_COUNT];
    struct option_command command = {0};
    int first = 0;

    fill_rows(&flags, rows);
    command = command_with(rows);
    ret_options->level = LOG_LEVEL_INFO;
    ret_options->format = LOG_FORMAT_JSON;
    argc = translate_go_flags(rows, argc, argv);
    if (options_parse(&command, argc, argv, &first, err) < 0)
        return -1;
    if (first < argc)
        return error_set(err, ERROR_INVALID, "unexpected argument '%s'", argv[first]);
    if (flags.is_dev || flags.is_cli) {
        ret_options->format = LOG_FORMAT_TEXT;
        ret_options->is_format_given = true;
    }
    if (flags.is_dev)
        ret_options->level = LOG_LEVEL_DEBUG;
    if (flags.verbosity && log_parse_level(flags.verbosity, &ret_options->level, err) < 0)
        return error_wrap(err, "option --verbosity");
    if (flags.format) {
        if (log_parse_format(flags.format, &ret_options->format, err) < 0)
            return error_wrap(err, "option --format");
        ret_options->is_format_given = true;
    }
    ret_options->is_version_asked = flags.is_version;
    ret_options->is_help_asked = flags.is_help;
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

/* All that are missing at once: one run tells the whole story. */
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
            buffer_append_text(&missing, err, "%s%s has to be defined",
                               missing.size > 0 ? ", " : "", required[i].name) < 0)
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
            return error_set(err, ERROR_INVALID, "environment: %s: '%s' is no absolute path",
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
            return error_set(err, ERROR_INVALID, "environment: %s: '%s' is no time to wait",
                             ENV_INIT_DEADLINE, deadline);
        options->deadline_ms = (uint64_t)(deadline_ns / 1000000);
    }
    return 0;
}
