/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/serve/daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/sandbox/sandbox.h"

const int DAEMON_SIGNALS[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};
const size_t DAEMON_SIGNAL_COUNT = array_length(DAEMON_SIGNALS);

void daemon_block_signals(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < DAEMON_SIGNAL_COUNT; i++)
        (void)sigaddset(&set, DAEMON_SIGNALS[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static void change_level(int by)
{
    int level = (int)log_get_level() + by;

    if (level < LOG_LEVEL_ERROR || level > LOG_LEVEL_DEBUG)
        return;
    log_set_level((enum log_level)level);
    log_error("log level changed", log_number("level", level));
}

bool daemon_changes_level(int signal_number)
{
    if (signal_number != SIGUSR1 && signal_number != SIGUSR2)
        return false;
    change_level(signal_number == SIGUSR1 ? 1 : -1);
    return true;
}

int daemon_enter_sandbox(struct error *err)
{
    return daemon_enter_sandbox_with(NULL, err);
}

int daemon_enter_sandbox_with(const char *directory, struct error *err)
{
    /* Tokens, certificates and resolver files are read repeatedly. */
    const struct sandbox_path paths[] = {{.path = "/", .is_writable = false},
                                         {.path = directory, .is_writable = true}};
    const struct sandbox_options options = {.paths = paths,
                                            .path_count = directory ? 2 : 1,
                                            .is_network_allowed = true,
                                            .is_listening = true};
    struct sandbox_result result = {0};

    if (sandbox_enter(&options, &result, err) < 0)
        return error_wrap(err, "sandbox");
    log_debug("in the sandbox", log_number("landlock", result.has_landlock));
    return 0;
}

const char *daemon_variable(const char *name, const char *fallback)
{
    const char *value = getenv(name);

    return value && *value ? value : fallback;
}

int address_parse(const char *text, char **ret_host, uint16_t *ret_port, struct error *err)
{
    const char *colon = strrchr(text, ':');
    const char *digits = colon ? colon + 1 : text;
    uint64_t port = 0;
    size_t length = colon ? (size_t)(colon - text) : 0;

    if (strcmp(text, "off") == 0) {
        *ret_port = 0;
        *ret_host = xstrdup("");
        return 0;
    }
    if (!number_parse(digits, UINT16_MAX, &port))
        return error_set(err, ERROR_INVALID, "invalid address \"%s\": use host:port", text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    *ret_port = (uint16_t)port;
    *ret_host = xstrndup(text, length);
    return 0;
}
