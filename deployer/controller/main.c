/* SPDX-License-Identifier: Apache-2.0 */
/* longshore controller: the options of the Go deployer's controller, and ours. */
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/command_line/table.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"
#include "deployer/controller/check.h"
#include "deployer/controller/setup.h"
#include "deployer/manifest/engine.h"
#include "deployer/pod/engine.h"
#include "deployer/serve/command.h"

static void warn_unused(const struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        if (mistakes->items[i].kind == MISTAKE_UNKNOWN)
            log_info("a field of the configuration is not used",
                     log_text("field", mistakes->items[i].path),
                     log_text("reason", mistakes->items[i].text));
    }
}

static int load_config(const char *path, struct deployer_config **ret_config, struct error *err)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    int result =
        path ? config_load(path, ret_config, &mistakes) : config_parse(NULL, ret_config, &mistakes);

    if (result < 0) {
        if (mistakes_fail(&mistakes, err) == 0)
            (void)error_set(err, ERROR_INVALID, "it can't be used");
        return error_wrap(err, "configuration \"%s\"", path ? path : "");
    }
    warn_unused(&mistakes);
    return 0;
}

/* As in the Go deployer: YAML on stdout. It contains names of files, never their content. */
static void print_config(const struct deployer_config *config)
{
    cleanup_json json_t *document = NULL;
    cleanup_free char *text = NULL;

    if (log_get_level() < LOG_LEVEL_INFO)
        return;
    document = config_document(config);
    text = doc_dump_yaml(document);
    (void)fputs(text, stdout);
    (void)fflush(stdout);
}

/* Every engine of this program. The first that serves a type of items gets them. */
static const struct engine_class *const engines[] = {&POD_ENGINE, &MANIFEST_ENGINE, NULL};

/* *ret_is_ok: false if --check found a problem. */
static int run(const struct controller_values *values, bool *ret_is_ok, struct error *err)
{
    cleanup_config struct deployer_config *config = NULL;
    const struct controller_options options = {
        .config = values->config,
        .kubeconfig = values->kubeconfig,
        .landscaper_kubeconfig = values->landscaper_kubeconfig,
        .metrics_address = values->metrics_address,
        .health_address = values->health_address,
        .engines = engines,
    };

    if (load_config(values->config, &config, err) < 0)
        return -1;
    if (values->is_check)
        return check_run(&options, config, stdout, ret_is_ok, err);
    *ret_is_ok = true;
    print_config(config);
    return controller_run(&options, config, err);
}

int controller_main(int argc, char **argv)
{
    struct controller_values values = {0};
    const struct daemon_command command = {
        .options = &COMMAND_CONTROLLER,
        .values = &values,
        .log = &values.log,
        .is_help = &values.is_help,
        .is_version = &values.is_version,
        .log_name = "longshore",
        .version = "longshore " LONGSHORE_VERSION,
        .on_failure = "unable to run the controller",
    };
    struct error err = {0};
    bool is_ok = false;
    int result = daemon_begin(&command, argc, argv);

    if (result != DAEMON_GO_ON)
        return result;
    if (run(&values, &is_ok, &err) < 0)
        return daemon_fail(&command, &err);
    return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
