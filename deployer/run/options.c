/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/options.h"

#include <string.h>

#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/duration.h"
#include "deployer/run/spec.h"

static int parse_time(const char *option, const char *text, bool allows_none, int64_t *ret_ms,
                      struct error *err)
{
    int64_t ns = 0;

    if (!text)
        return 0;
    if (allows_none && strcmp(text, "none") == 0) {
        *ret_ms = -1;
        return 0;
    }
    if (duration_parse(text, &ns, err) < 0)
        return error_wrap(err, "option --%s", option);
    if (ns <= 0)
        return error_set(err, ERROR_INVALID, "option --%s: \"%s\" must be positive", option, text);
    *ret_ms = ns / 1000000 > 0 ? ns / 1000000 : 1;
    return 0;
}

static int check(const struct run_values *values, struct run_options *options, struct error *err)
{
    if (parse_time("timeout", values->timeout, true, &options->timeout_ms, err) < 0 ||
        parse_time("grace", values->grace, false, &options->grace_ms, err) < 0)
        return -1;
    options->cache_bytes = spec_memory_bytes(values->cache_size);
    if (options->cache_bytes < 0)
        return error_set(err, ERROR_INVALID,
                         "option --cache-size: \"%s\" is not a size (example: 10Gi)",
                         values->cache_size);
    if (options->is_shell && options->output == RUN_OUTPUT_JSON)
        return error_set(err, ERROR_INVALID,
                         "options --shell and --output json cannot be combined");
    if (!options->file_count && !options->image && !options->from_cluster)
        return error_set(
            err, ERROR_INVALID,
            "nothing to run: give the file of a DeployItem, --image or --from-cluster");
    return 0;
}

static struct run_options options_from(const struct run_values *values)
{
    return (struct run_options){
        .objects = values->objects,
        .image = values->image,
        .imports = values->imports,
        .operation = values->operation,
        .from_cluster = values->from_cluster,
        .kubeconfig = values->kubeconfig,
        .config = values->config,
        .state = values->state,
        .out = values->out,
        .cache = values->cache,
        .runtime = values->runtime,
        .has_network = strcmp(values->network, "none") != 0,
        .is_kept = values->is_kept,
        .is_shell = values->is_shell,
        .is_plain_http = values->is_plain_http,
        .is_insecure = values->is_insecure,
        .output = strcmp(values->output, "json") == 0 ? RUN_OUTPUT_JSON : RUN_OUTPUT_TEXT,
        .is_verbose = values->is_verbose,
        .is_help = values->is_help,
    };
}

/* An operation that is not valid was stored as given. */
static const char *valid_operation(const char *operation)
{
    bool is_valid =
        strcmp(operation, OPERATION_RECONCILE) == 0 || strcmp(operation, OPERATION_DELETE) == 0;

    return is_valid ? operation : NULL;
}

int run_options_parse(int argc, char **argv, struct run_options *ret_options, struct error *err)
{
    struct run_values values = {0};
    struct run_options options = {0};
    int first = 0;
    int result = options_parse(&COMMAND_RUN, argc, argv, &values, &first, err);

    options = options_from(&values);
    options.files = (const char *const *)argv + first;
    options.file_count = (size_t)(argc - first);
    if (result == 0 && !options.is_help)
        result = check(&values, &options, err);
    if (result < 0) {
        run_options_done(&options);
        options = (struct run_options){.output = options.output,
                                       .operation = valid_operation(options.operation)};
    }
    *ret_options = options;
    return result;
}

void run_options_done(struct run_options *options)
{
    option_list_done(&options->objects);
}
