/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/run/program.h"
#include "deployer/run/spec.h"
#include "deployer/run/staging.h"

enum { MESSAGE_MAX_BYTES = 4096, VARIABLES_MAX = 128 };

struct list {
    char *items[VARIABLES_MAX + 1];
    size_t count;
};

static void put(struct list *list, char *text)
{
    if (list->count < VARIABLES_MAX)
        list->items[list->count++] = text;
    else
        free(text);
}

static void list_done(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
}

/* Replaces /data/ls at the beginning of a value by the staging directory. */
static char *with_staged_path(const char *variable)
{
    const char *value = strchr(variable, '=');
    size_t length = strlen(PATH_BASE);

    if (value && strncmp(value + 1, PATH_BASE, length) == 0)
        return xasprintf("%.*s=%s%s", (int)(value - variable), variable, STAGING_BASE,
                         value + 1 + length);
    return xstrdup(variable);
}

/* Proxies and CA certificates of this machine are not in the pod. */
static void put_network(struct list *list)
{
    static const char *const names[] = {"HTTPS_PROXY",   "https_proxy", "HTTP_PROXY",
                                        "http_proxy",    "NO_PROXY",    "no_proxy",
                                        "SSL_CERT_FILE", "SSL_CERT_DIR"};

    for (size_t i = 0; i < array_length(names); i++) {
        const char *value = getenv(names[i]);

        if (value)
            put(list, xasprintf("%s=%s", names[i], value));
    }
}

static void put_own(struct list *list, const struct helper *helper)
{
    put(list, xasprintf(ENV_TERMINATION_LOG "=" STAGING_BASE "/termination-%s", helper->name));
    put(list, xstrdup(ENV_TARGET_SOURCE "=" STAGING_BASE "/targets/" FILE_TARGET));
    if (helper->is_plain_http)
        put(list, xstrdup(ENV_OCI_PLAIN_HTTP "=true"));
    if (helper->is_insecure)
        put(list, xstrdup(ENV_OCI_INSECURE "=true"));
    if (helper->end_fd < 0)
        return;
    put(list, xstrdup(ENV_SINK_DIR "=" STAGING_SINK));
    put(list, xasprintf(ENV_MAIN_END_FD "=%d", helper->end_fd));
    put(list, xasprintf(ENV_GRACE_SECONDS "=%lld", (long long)(helper->grace_ms / 1000 + 1)));
}

int helper_start(const struct helper *helper, pid_t *ret_pid, struct error *err)
{
    char **pod_environment =
        spec_environment(helper->pod, spec_container(helper->pod, helper->name), NULL);
    const char *argv[] = {helper->program, NULL};
    struct list list = {0};
    struct program_spec spec = {.argv = argv,
                                .stdin_fd = -1,
                                .stdout_fd = helper->output_fd,
                                .stderr_fd = helper->output_fd,
                                .kept_fd = helper->end_fd,
                                .is_pod_user = true,
                                .has_own_group = true};
    int result = 0;

    for (char **variable = pod_environment; *variable; variable++)
        put(&list, with_staged_path(*variable));
    put_network(&list);
    put_own(&list, helper);
    spec.environment = (const char *const *)list.items;
    result = program_start(&spec, ret_pid, err);
    list_done(&list);
    spec_environment_free(pod_environment);
    return result;
}

void helper_report_end(int end_fd, int exit_code, bool is_out_of_memory)
{
    cleanup_json json_t *line = json_pack("{s:i, s:s}", "exitCode", exit_code, "reason",
                                          is_out_of_memory ? "OOMKilled"
                                          : exit_code == 0 ? "Completed"
                                                           : "Error");
    cleanup_free char *text = doc_dump(line);

    (void)!write(end_fd, text, strlen(text));
    (void)!write(end_fd, "\n", 1);
}

static char *message_path(const char *run_path, const char *name)
{
    return xasprintf("%s/ls/termination-%s", run_path, name);
}

int helper_prepare(const char *run_path, const char *name, struct error *err)
{
    cleanup_free char *path = message_path(run_path, name);
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);

    if (fd < 0 || fchown(fd, POD_UID_NUMBER, POD_GID_NUMBER) < 0)
        return error_set_errno(err, errno, "create \"%s\"", path);
    return 0;
}

char *helper_message(const char *run_path, const char *name)
{
    cleanup_free char *path = message_path(run_path, name);
    cleanup_buffer struct buffer text = {0};
    struct error ignored = {0};

    buffer_init(&text, MESSAGE_MAX_BYTES);
    if (doc_read_file(path, MESSAGE_MAX_BYTES, &text, &ignored) < 0)
        return xstrdup("");
    while (text.size > 0 && text.data[text.size - 1] == '\n')
        text.data[--text.size] = '\0';
    return buffer_take(&text);
}
