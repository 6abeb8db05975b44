/* SPDX-License-Identifier: Apache-2.0 */
/* fleet: many Kubernetes API servers in one process, for tests. See e2e/fleet/README.md. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/base/options.h"
#include "common/data/doc.h"
#include "e2e/fleet/fleet.h"

struct arguments {
    const char *clusters, *address, *port, *control_port, *history, *bookmarks;
    bool has_no_controllers, is_help;
};

static const struct option_row rows[] = {
    option_text_with("clusters", 'n', struct arguments, clusters, "N", "number of clusters", NULL,
                     "100"),
    option_text_with("address", 0, struct arguments, address, "ADDRESS",
                     "address of cluster 0; the others follow", NULL, "127.16.0.0"),
    option_text_with("port", 'p', struct arguments, port, "PORT", "port of all clusters", NULL,
                     "6443"),
    option_text_with("control-port", 0, struct arguments, control_port, "PORT",
                     "port of the control address 127.0.0.1, plain HTTP", NULL, "6480"),
    option_text_with("history", 0, struct arguments, history, "N",
                     "changes that a cluster keeps for watches", NULL, "200"),
    option_text_with("bookmarks", 0, struct arguments, bookmarks, "SECONDS",
                     "time between two bookmarks of a watch", NULL, "60"),
    option_flag("no-controllers", 0, struct arguments, has_no_controllers,
                "behave as a bare API server: no workload becomes ready, no namespace ends"),
    option_flag("help", 'h', struct arguments, is_help, "show this text"),
    {.name = NULL},
};

static const struct option_command command = {
    .program = "fleet",
    .brief = "simulated Kubernetes API servers",
    .synopsis = "[OPTIONS]",
    .summary = "Serves many Kubernetes API servers from one process, each on its own address in "
               "127.0.0.0/8. GET /kubeconfigs of the control address returns their kubeconfigs",
    .rows = rows,
};

static int parse_number(const char *name, const char *text, uint64_t max, uint64_t *ret_number,
                        struct error *err)
{
    return number_parse(text, max, ret_number)
               ? 0
               : error_set(err, ERROR_INVALID, "option --%s must be a number up to %llu", name,
                           (unsigned long long)max);
}

static int parse_settings(const struct arguments *arguments, struct fleet_settings *ret,
                          struct error *err)
{
    uint64_t clusters = 0, port = 0, control_port = 0, history = 0, bookmarks = 0;
    struct in_addr address = {0};

    if (parse_number("clusters", arguments->clusters, 100000, &clusters, err) < 0 ||
        parse_number("port", arguments->port, UINT16_MAX, &port, err) < 0 ||
        parse_number("control-port", arguments->control_port, UINT16_MAX, &control_port, err) < 0 ||
        parse_number("history", arguments->history, 1000000, &history, err) < 0 ||
        parse_number("bookmarks", arguments->bookmarks, 86400, &bookmarks, err) < 0)
        return -1;
    if (clusters == 0 || bookmarks == 0)
        return error_set(err, ERROR_INVALID, "options --clusters and --bookmarks must not be 0");
    if (inet_pton(AF_INET, arguments->address, &address) != 1 || ntohl(address.s_addr) >> 24 != 127)
        return error_set(err, ERROR_INVALID, "option --address must be in 127.0.0.0/8");
    *ret = (struct fleet_settings){
        .cluster_count = (uint32_t)clusters,
        .first_address = ntohl(address.s_addr),
        .port = (uint16_t)port,
        .control_port = (uint16_t)control_port,
        .history_max = (size_t)history,
        .first_history_max = history > 100000 ? (size_t)history : 100000,
        .bookmark_ms = bookmarks * 1000,
        .has_controllers = !arguments->has_no_controllers,
    };
    return 0;
}

/* One descriptor per connection. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void on_signal(void *data, int signal_number)
{
    (void)signal_number;
    loop_stop(data);
}

static int run(const struct arguments *arguments, struct error *err)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct fleet_settings settings = {0};
    cleanup_loop struct loop *loop = NULL;
    cleanup_fleet struct fleet *fleet = NULL;

    if (parse_settings(arguments, &settings, err) < 0 || loop_new(clock_system(), &loop, err) < 0 ||
        loop_set_signals(loop, signals, array_length(signals), on_signal, loop, err) < 0 ||
        fleet_new(&settings, loop, &fleet, err) < 0)
        return -1;
    log_info("serving", log_number("clusters", settings.cluster_count),
             log_number("port", settings.port), log_number("controlPort", settings.control_port));
    return loop_run(loop, err);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct error err = {0};
    int first = 0;

    (void)signal(SIGPIPE, SIG_IGN);
    log_configure("fleet", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    doc_setup();
    raise_descriptor_limit();
    if (options_parse(&command, argc, argv, &arguments, &first, &err) < 0) {
        log_error("wrong usage", log_text("error", err.text));
        return 2;
    }
    if (arguments.is_help) {
        options_print_help(&command, stdout);
        return EXIT_SUCCESS;
    }
    if (run(&arguments, &err) < 0) {
        log_error("fleet failed", log_text("error", err.text));
        return err.kind == ERROR_INVALID ? 2 : EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
