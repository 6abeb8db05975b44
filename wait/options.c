/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/options.h"
#include "common/contract.h"

struct flags {
    bool is_help, is_version, is_dev, is_cli;
    const char *verbosity, *format, *grace, *quiet, *request_timeout, *service_account_dir;
    bool ignored; /* flags of the Go program that mean nothing here */
};

enum { FLAG_COUNT_MAX = 16, QUIET_SECONDS = 20, REQUEST_SECONDS = 30 };

/* The rows point into flags, so they are made for each parse. */
static void fill_rows(struct flags *flags, struct option_row rows[FLAG_COUNT_MAX])
{
    const struct option_row table[] = {
        {"verbosity", 'v', OPTION_TEXT, &flags->verbosity, "LEVEL", "error, info or debug"},
        {"format", 'f', OPTION_TEXT, &flags->format, "FORMAT", "json or text"},
        {"dev", 0, OPTION_FLAG, &flags->is_dev, NULL, "for developers: text, debug"},
        {"cli", 0, OPTION_FLAG, &flags->is_cli, NULL, "for people: text"},
        {"disable-stacktrace", 0, OPTION_FLAG, &flags->ignored, NULL, "has no effect"},
        {"disable-caller", 0, OPTION_FLAG, &flags->ignored, NULL, "has no effect"},
        {"disable-timestamp", 0, OPTION_FLAG, &flags->ignored, NULL, "has no effect"},
        {"grace", 0, OPTION_TEXT, &flags->grace, "SECONDS",
         "time between SIGTERM and SIGKILL (300)"},
        {"quiet", 0, OPTION_TEXT, &flags->quiet, "SECONDS",
         "after SIGTERM a main that does nothing for so long is taken for ended (20); 0: never"},
        {"request-timeout", 0, OPTION_TEXT, &flags->request_timeout, "SECONDS",
         "how long one request to the API server may take before it is tried again (30)"},
        {"service-account", 0, OPTION_TEXT, &flags->service_account_dir, "DIR",
         "directory with token and ca.crt, if not the pod's own"},
        {"version", 0, OPTION_FLAG, &flags->is_version, NULL, "print the version"},
        {"help", 'h', OPTION_FLAG, &flags->is_help, NULL, "print this"},
        {0},
    };

    _Static_assert(array_length(table) <= FLAG_COUNT_MAX, "rows do not fit");
    memcpy(rows, table, sizeof(table));
}

static struct option_command command_of(const struct option_row *rows)
{
    return (struct option_command){
        .program = "longshore-wait",
        .synopsis = "[OPTIONS]",
        .summary = "Waits for the container 'main', then carries its state and exports out",
        .rows = rows,
    };
}

void settings_print_help(FILE *out)
{
    struct flags flags = {0};
    struct option_row rows[FLAG_COUNT_MAX] = {{0}};
    struct option_command command = command_of(rows);

    fill_rows(&flags, rows);
    options_print_help(&command, out);
}

static int parse_number(const char *name, const char *text, int64_t max, int64_t *ret,
                        struct error *err)
{
    char *end = NULL;
    long long value = 0;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < 0 || value > max)
        return error_set(err, ERROR_INVALID, "%s: '%s' is no number from 0 to %lld", name, text,
                         (long long)max);
    *ret = value;
    return 0;
}

static int use_flags(const struct flags *flags, struct settings *settings, struct error *err)
{
    const char *grace = flags->grace ? flags->grace : getenv(ENV_GRACE_SECONDS);
    int64_t grace_seconds = POD_GRACE_SECONDS;
    int64_t quiet_seconds = QUIET_SECONDS;
    int64_t request_seconds = REQUEST_SECONDS;

    settings->is_help = flags->is_help;
    settings->is_version = flags->is_version;
    settings->service_account_dir = flags->service_account_dir;
    settings->log_level = flags->is_dev ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
    settings->log_format = flags->is_dev || flags->is_cli ? LOG_FORMAT_TEXT : LOG_FORMAT_JSON;
    if (flags->verbosity && log_parse_level(flags->verbosity, &settings->log_level, err) < 0)
        return error_wrap(err, "option --verbosity");
    if (flags->format && log_parse_format(flags->format, &settings->log_format, err) < 0)
        return error_wrap(err, "option --format");
    if (grace && *grace &&
        parse_number(flags->grace ? "option --grace" : ENV_GRACE_SECONDS, grace, 86400,
                     &grace_seconds, err) < 0)
        return -1;
    if (flags->quiet &&
        parse_number("option --quiet", flags->quiet, 86400, &quiet_seconds, err) < 0)
        return -1;
    if (flags->request_timeout && parse_number("option --request-timeout", flags->request_timeout,
                                               3600, &request_seconds, err) < 0)
        return -1;
    settings->grace_ms = (uint64_t)grace_seconds * 1000;
    settings->quiet_ms = (uint64_t)quiet_seconds * 1000;
    settings->request_timeout_ms =
        (uint64_t)(request_seconds ? request_seconds : REQUEST_SECONDS) * 1000;
    return 0;
}

/* NULL for a variable that is not set, and for one that is empty. */
static const char *env_text(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : NULL;
}

static int env_required(const char *name, const char *older_name, const char **ret,
                        struct error *err)
{
    *ret = env_text(name);
    if (!*ret && older_name)
        *ret = env_text(older_name);
    if (!*ret)
        return error_set(err, ERROR_INVALID, "environment variable %s is not set", name);
    return 0;
}

static int read_last_generation(struct settings *settings, struct error *err)
{
    const char *sequence = getenv(ENV_STATE_SEQUENCE);
    const char *next = env_text(ENV_STATE_NEXT_SEQUENCE);
    const char *sha256 = env_text(ENV_STATE_SHA256);

    settings->last_sha256 = sha256 ? sha256 : "";
    settings->is_last_told = sequence != NULL;
    settings->state_name_prefix = env_text(ENV_STATE_NAME_PREFIX);
    settings->export_name = env_text(ENV_EXPORT_NAME);
    if (sequence && *sequence &&
        parse_number(ENV_STATE_SEQUENCE, sequence, INT64_MAX - 1, &settings->last_sequence, err) <
            0)
        return -1;
    if (next && parse_number(ENV_STATE_NEXT_SEQUENCE, next, INT64_MAX - 1, &settings->next_sequence,
                             err) < 0)
        return -1;
    return 0;
}

static int read_local(struct settings *settings, struct error *err)
{
    const char *fd_text = NULL;
    int64_t fd = 0;

    if (env_required(ENV_MAIN_END_FD, NULL, &fd_text, err) < 0 ||
        parse_number(ENV_MAIN_END_FD, fd_text, 1 << 20, &fd, err) < 0)
        return -1;
    if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
        return error_set(err, ERROR_INVALID, "%s: %s is no open descriptor", ENV_MAIN_END_FD,
                         fd_text);
    settings->main_end_fd = (int)fd;
    settings->item_name = env_text(ENV_DEPLOY_ITEM_NAME);
    settings->item_namespace = env_text(ENV_DEPLOY_ITEM_NAMESPACE);
    if (!settings->item_name)
        settings->item_name = "";
    if (!settings->item_namespace)
        settings->item_namespace = "";
    return 0;
}

static int read_environment(struct settings *settings, struct error *err)
{
    const char *termination_log = env_text(ENV_TERMINATION_LOG);

    settings->termination_log = termination_log ? termination_log : PATH_TERMINATION_LOG;
    settings->job = env_text(ENV_JOB_ID);
    settings->pod_uid = env_text(ENV_POD_UID);
    settings->pod_name = env_text(ENV_POD_NAME);
    settings->pod_namespace = env_text(ENV_POD_NAMESPACE);
    settings->sink_dir = env_text(ENV_SINK_DIR);
    if (env_required(ENV_EXPORTS_PATH, ENV_EXPORT_PATH_OLD, &settings->exports_path, err) < 0 ||
        env_required(ENV_STATE_PATH, ENV_STATE_OLD, &settings->state_path, err) < 0 ||
        read_last_generation(settings, err) < 0)
        return -1;
    if (settings->sink_dir)
        return read_local(settings, err);
    if (env_required(ENV_DEPLOY_ITEM_NAME, NULL, &settings->item_name, err) < 0 ||
        env_required(ENV_DEPLOY_ITEM_NAMESPACE, NULL, &settings->item_namespace, err) < 0 ||
        env_required(ENV_POD_NAME, NULL, &settings->pod_name, err) < 0)
        return -1;
    return env_required(ENV_POD_NAMESPACE, NULL, &settings->pod_namespace, err);
}

int settings_read(int argc, char **argv, struct settings *ret_settings, struct error *err)
{
    struct flags flags = {0};
    struct settings settings = {.main_end_fd = -1};
    struct option_row rows[FLAG_COUNT_MAX] = {{0}};
    struct option_command command = command_of(rows);
    int first = 0;

    fill_rows(&flags, rows);
    if (options_parse(&command, argc, argv, &first, err) < 0)
        return -1;
    if (first < argc)
        return error_set(err, ERROR_INVALID, "'%s' is not expected; see 'longshore-wait --help'",
                         argv[first]);
    if (use_flags(&flags, &settings, err) < 0)
        return -1;
    if (!settings.is_help && !settings.is_version && read_environment(&settings, err) < 0)
        return -1;
    *ret_settings = settings;
    return 0;
}
