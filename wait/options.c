/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/options.h"

#include <fcntl.h>
#include <stdlib.h>

#include "common/base/number.h"
#include "common/command_line/logging.h"
#include "common/command_line/table.h"
#include "common/contract.h"

static int parse_number(const char *name, const char *text, int64_t max, int64_t *ret,
                        struct error *err)
{
    uint64_t value = 0;

    if (!number_parse(text, (uint64_t)max, &value))
        return error_set(err, ERROR_INVALID, "%s: \"%s\" is not a number from 0 to %lld", name,
                         text, (long long)max);
    *ret = (int64_t)value;
    return 0;
}

static int use_values(const struct wait_values *values, struct settings *settings,
                      struct error *err)
{
    const char *main_grace = getenv(ENV_MAIN_GRACE_SECONDS);
    const char *grace = values->grace ? values->grace : getenv(ENV_GRACE_SECONDS);
    int64_t main_grace_seconds = MAIN_GRACE_SECONDS_DEFAULT;
    int64_t grace_seconds = 0;
    int64_t quiet_seconds = 0;
    int64_t request_seconds = 0;

    settings->is_help = values->is_help;
    settings->is_version = values->is_version;
    settings->service_account_dir = values->service_account_dir;
    if (log_values_read(&values->log, &settings->log_level, &settings->log_format, err) < 0)
        return -1;
    if (main_grace && *main_grace &&
        parse_number(ENV_MAIN_GRACE_SECONDS, main_grace, 86400, &main_grace_seconds, err) < 0)
        return -1;
    settings->is_grace_known = grace && *grace;
    grace_seconds = main_grace_seconds + POD_SAVE_SECONDS;
    if (settings->is_grace_known &&
        parse_number(values->grace ? "option --grace" : ENV_GRACE_SECONDS, grace, 86400,
                     &grace_seconds, err) < 0)
        return -1;
    settings->main_grace_ms = (uint64_t)main_grace_seconds * 1000;
    if (parse_number("option --quiet", values->quiet, 86400, &quiet_seconds, err) < 0 ||
        parse_number("option --request-timeout", values->request_timeout, 3600, &request_seconds,
                     err) < 0)
        return -1;
    if (request_seconds == 0)
        return error_set(err, ERROR_INVALID, "option --request-timeout: must be at least 1");
    settings->grace_ms = (uint64_t)grace_seconds * 1000;
    settings->idle_ms = (uint64_t)quiet_seconds * 1000;
    settings->request_timeout_ms = (uint64_t)request_seconds * 1000;
    return 0;
}

/* NULL if the variable is unset or empty. */
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
    settings->is_last_known = sequence != NULL;
    settings->state_name_prefix = env_text(ENV_STATE_NAME_PREFIX);
    settings->export_name = env_text(ENV_EXPORT_NAME);
    settings->report_name = env_text(ENV_REPORT_NAME);
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
        return error_set(err, ERROR_INVALID, "%s: %s is not an open file descriptor",
                         ENV_MAIN_END_FD, fd_text);
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
    struct wait_values values = {0};
    struct settings settings = {.main_end_fd = -1};
    int first = 0;

    if (options_parse(&COMMAND_WAIT, argc, argv, &values, &first, err) < 0)
        return -1;
    if (first < argc)
        return error_set(err, ERROR_INVALID,
                         "unexpected argument \"%s\"; see longshore-wait --help", argv[first]);
    if (use_values(&values, &settings, err) < 0)
        return -1;
    if (!settings.is_help && !settings.is_version && read_environment(&settings, err) < 0)
        return -1;
    *ret_settings = settings;
    return 0;
}
