/* SPDX-License-Identifier: Apache-2.0 */
/* longshore controller: the options of the Go deployer's controller, and ours. */
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/options.h"
#include "common/data/doc.h"
#include "common/sandbox/sandbox.h"
#include "deployer/commands/commands.h"
#include "deployer/controller/setup.h"

struct arguments {
    struct controller_options options;
    const char *verbosity, *format;
    bool is_dev, is_cli, is_help, is_version;
};

/* Go's flags take an optional "=true" or "=false", which getopt does not know for flags; those that
 * mean nothing here are taken as texts or passed over. */
static void strip_ignored(int *argc, char **argv)
{
    static const char *const ignored[] = {"--disable-stacktrace", "--disable-caller",
                                          "--disable-timestamp"};
    int kept = 0;

    for (int i = 0; i < *argc; i++) {
        bool is_ignored = false;

        for (size_t j = 0; j < array_length(ignored); j++) {
            size_t length = strlen(ignored[j]);

            is_ignored = is_ignored || (strncmp(argv[i], ignored[j], length) == 0 &&
                                        (argv[i][length] == '\0' || argv[i][length] == '='));
        }
        if (!is_ignored)
            argv[kept++] = argv[i];
    }
    argv[kept] = NULL;
    *argc = kept;
}

static int set_logging(const struct arguments *arguments, struct error *err)
{
    bool is_text = arguments->is_dev || arguments->is_cli;
    enum log_level level = arguments->is_dev ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
    enum log_format format = is_text ? LOG_FORMAT_TEXT : LOG_FORMAT_JSON;

    if (arguments->verbosity && log_parse_level(arguments->verbosity, &level, err) < 0)
        return error_wrap(err, "option --verbosity");
    if (arguments->format && log_parse_format(arguments->format, &format, err) < 0)
        return error_wrap(err, "option --format");
    log_configure("longshore", level, format);
    return 0;
}

static void warn_unknown(const struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        if (mistakes->items[i].kind == MISTAKE_UNKNOWN)
            log_info("unknown field in the configuration",
                     log_text("field", mistakes->items[i].path));
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
        return error_wrap(err, "configuration '%s'", path ? path : "");
    }
    warn_unknown(&mistakes);
    return 0;
}

/* As the Go deployer: YAML on stdout. It holds names of files, never what is in them. */
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

static int run(const struct arguments *arguments, struct error *err)
{
    cleanup_config struct deployer_config *config = NULL;

    if (load_config(arguments->options.config, &config, err) < 0)
        return -1;
    print_config(config);
    return controller_run(&arguments->options, config, err);
}

static int fail(const struct error *err)
{
    log_error("unable to run the controller", log_text("error", err->text),
              log_text("kind", error_kind_name(err->kind)));
    return err->kind == ERROR_INVALID ? EXIT_USAGE : EXIT_FAILURE;
}

int controller_main(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct option_row rows[] = {
        {"config", 0, OPTION_TEXT, &arguments.options.config, "FILE",
         "the Configuration document (YAML or JSON)"},
        {"kubeconfig", 0, OPTION_TEXT, &arguments.options.kubeconfig, "FILE",
         "the host cluster; default: $KUBECONFIG, the pod's own account, ~/.kube/config"},
        {"landscaper-kubeconfig", 0, OPTION_TEXT, &arguments.options.landscaper_kubeconfig, "FILE",
         "Landscaper's cluster, if it is not the host"},
        {"metrics-address", 0, OPTION_TEXT, &arguments.options.metrics_address, "HOST:PORT",
         "where to serve /metrics; 'off' for nowhere"},
        {"health-address", 0, OPTION_TEXT, &arguments.options.health_address, "HOST:PORT",
         "where to serve /healthz and /readyz; 'off' for nowhere"},
        {"verbosity", 'v', OPTION_TEXT, &arguments.verbosity, "LEVEL", "error, info or debug"},
        {"format", 'f', OPTION_TEXT, &arguments.format, "FORMAT", "json or text"},
        {"dev", 0, OPTION_FLAG, &arguments.is_dev, NULL, "debug level, text format"},
        {"cli", 0, OPTION_FLAG, &arguments.is_cli, NULL, "text format"},
        {"version", 0, OPTION_FLAG, &arguments.is_version, NULL, "print the version"},
        {"help", 'h', OPTION_FLAG, &arguments.is_help, NULL, "print this help"},
        {0},
    };
    const struct option_command command = {
        .program = "longshore controller",
        .synopsis = "[OPTIONS]",
        .summary = "Turns the DeployItems of a Landscaper into pods, and their results into status "
                   "and exports. SIGUSR1 and SIGUSR2 raise and lower the log level.",
        .rows = rows,
    };
    struct error err = {0};
    int first = 0;

    controller_block_signals();
    sandbox_no_core();
    log_configure("longshore", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    strip_ignored(&argc, argv);
    if (options_parse(&command, argc, argv, &first, &err) < 0 || set_logging(&arguments, &err) < 0)
        return fail(&err);
    if (arguments.is_help) {
        options_print_help(&command, stdout);
        return EXIT_SUCCESS;
    }
    if (arguments.is_version) {
        (void)printf("longshore %s\n", LONGSHORE_VERSION);
        return EXIT_SUCCESS;
    }
    if (first < argc) {
        (void)error_set(&err, ERROR_INVALID, "'%s' is no option", argv[first]);
        return fail(&err);
    }
    return run(&arguments, &err) < 0 ? fail(&err) : EXIT_SUCCESS;
}
