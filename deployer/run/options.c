/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/options.h"

#include <string.h>

#include "common/contract.h"
#include "common/data/duration.h"
#include "deployer/run/spec.h"

/* Texts as they stand on the command line, before they are checked. */
struct raw {
    struct run_options *options;
    const char *network, *output, *timeout, *grace, *cache_size;
};

static const char SYNOPSIS[] = "[OPTIONS] [ITEM.yaml ...]";
static const char SUMMARY[] =
    "Runs a DeployItem on this machine, without a cluster: init, the item's image "
    "beside wait, state kept, exports printed";

enum { ROWS = 26 };

static void fill_rows(struct option_row rows[ROWS], struct raw *raw)
{
    struct run_options *o = raw->options;
    const struct option_row table[ROWS] = {
        {"target", 0, OPTION_TEXT_LIST, &o->objects, "FILE",
         "file with the Target (and its Secret)"},
        {"context", 0, OPTION_TEXT_LIST, &o->objects, "FILE", "file with the Context"},
        {"secret", 0, OPTION_TEXT_LIST, &o->objects, "FILE",
         "file with Secrets or ConfigMaps; may be repeated"},
        {"imports", 0, OPTION_TEXT, &o->imports, "FILE",
         "YAML or JSON in place of the item's importValues"},
        {"image", 0, OPTION_TEXT, &o->image, "IMAGE",
         "in place of the item's image: a reference, oci:DIR, oci-archive:FILE, "
         "docker-archive:FILE, rootfs:DIR"},
        {"operation", 0, OPTION_TEXT, &o->operation, "OP", "RECONCILE (default) or DELETE"},
        {"from-cluster", 0, OPTION_TEXT, &o->from_cluster, "NS/NAME",
         "reads item, target, context and state from a cluster; writes nothing there"},
        {"kubeconfig", 0, OPTION_TEXT, &o->kubeconfig, "FILE",
         "for --from-cluster; default as kubectl"},
        {"config", 0, OPTION_TEXT, &o->config, "FILE", "the deployer's configuration file"},
        {"state", 0, OPTION_TEXT, &o->state, "DIR", "where the state is kept between runs"},
        {"out", 0, OPTION_TEXT, &o->out, "DIR", "writes exports.json and result.json there too"},
        {"cache", 0, OPTION_TEXT, &o->cache, "DIR", "image cache"},
        {"cache-size", 0, OPTION_TEXT, &raw->cache_size, "SIZE",
         "what the image cache may hold (default 10Gi)"},
        {"runtime", 0, OPTION_TEXT, &o->runtime, "NAME",
         "crun or runc (default: the first that is there)"},
        {"timeout", 0, OPTION_TEXT, &raw->timeout, "TIME",
         "ends main after this time (default: the item's; none)"},
        {"grace", 0, OPTION_TEXT, &raw->grace, "TIME", "between SIGTERM and SIGKILL (default 30s)"},
        {"network", 0, OPTION_TEXT, &raw->network, "NET", "host (default) or none"},
        {"plain-http", 0, OPTION_FLAG, &o->is_plain_http_allowed, NULL,
         "talk http to the registry"},
        {"insecure", 0, OPTION_FLAG, &o->is_insecure, NULL,
         "accept any certificate of the registry"},
        {"keep", 0, OPTION_FLAG, &o->is_kept, NULL, "keeps the run's directory to look at"},
        {"shell", 0, OPTION_FLAG, &o->is_shell, NULL, "a shell in main's place, on this terminal"},
        {"output", 'o', OPTION_TEXT, &raw->output, "FORM",
         "text (default) or json: one object on stdout"},
        {"verbose", 'v', OPTION_FLAG, &o->is_verbose, NULL, "shows what init and wait log"},
        {"help", 'h', OPTION_FLAG, &o->is_help, NULL, "this text"},
    };

    memcpy(rows, table, sizeof(table));
}

static int parse_time(const char *option, const char *text, bool is_none_fine, int64_t *ret_ms,
                      struct error *err)
{
    int64_t ns = 0;

    if (!text)
        return 0;
    if (is_none_fine && strcmp(text, "none") == 0) {
        *ret_ms = -1;
        return 0;
    }
    if (duration_parse(text, &ns, err) < 0)
        return error_wrap(err, "option --%s", option);
    if (ns <= 0)
        return error_set(err, ERROR_INVALID, "option --%s: '%s' is not more than zero", option,
                         text);
    *ret_ms = ns / 1000000 > 0 ? ns / 1000000 : 1;
    return 0;
}

static int one_of(const char *option, const char *text, const char *first, const char *second,
                  bool *ret_is_second, struct error *err)
{
    if (!text || strcmp(text, first) == 0)
        *ret_is_second = false;
    else if (strcmp(text, second) == 0)
        *ret_is_second = true;
    else
        return error_set(err, ERROR_INVALID, "option --%s: '%s' is neither '%s' nor '%s'", option,
                         text, first, second);
    return 0;
}

static int check(const struct raw *raw, struct error *err)
{
    struct run_options *options = raw->options;
    bool is_second = false;

    if (one_of("network", raw->network, "host", "none", &is_second, err) < 0)
        return -1;
    options->has_network = !is_second;
    if (one_of("output", raw->output, "text", "json", &is_second, err) < 0)
        return -1;
    options->output = is_second ? RUN_OUTPUT_JSON : RUN_OUTPUT_TEXT;
    if (one_of("operation", options->operation, OPERATION_RECONCILE, OPERATION_DELETE, &is_second,
               err) < 0)
        return -1;
    options->operation = is_second ? OPERATION_DELETE : OPERATION_RECONCILE;
    if (parse_time("timeout", raw->timeout, true, &options->timeout_ms, err) < 0 ||
        parse_time("grace", raw->grace, false, &options->grace_ms, err) < 0)
        return -1;
    if (raw->cache_size) {
        options->cache_bytes = spec_memory_bytes(raw->cache_size);
        if (options->cache_bytes < 0)
            return error_set(err, ERROR_INVALID, "option --cache-size: '%s' is no size (10Gi)",
                             raw->cache_size);
    }
    if (options->is_shell && options->output == RUN_OUTPUT_JSON)
        return error_set(err, ERROR_INVALID,
                         "options --shell and --output json exclude each other");
    if (!options->file_count && !options->image && !options->from_cluster)
        return error_set(
            err, ERROR_INVALID,
            "nothing to run: name the file of a DeployItem, or --image, or --from-cluster");
    return 0;
}

int run_options_parse(int argc, char **argv, struct run_options *ret_options, struct error *err)
{
    struct run_options options = {.grace_ms = 30000, .cache_bytes = (int64_t)10 << 30};
    struct raw raw = {.options = &options};
    struct option_row rows[ROWS] = {0};
    struct option_command command = {"longshore run", SYNOPSIS, SUMMARY, rows};
    int first = 0;

    fill_rows(rows, &raw);
    if (options_parse(&command, argc, argv, &first, err) < 0) {
        option_list_done(&options.objects);
        return -1;
    }
    options.files = (const char *const *)argv + first;
    options.file_count = (size_t)(argc - first);
    if (!options.is_help && check(&raw, err) < 0) {
        option_list_done(&options.objects);
        return -1;
    }
    *ret_options = options;
    return 0;
}

void run_options_done(struct run_options *options)
{
    option_list_done(&options->objects);
}

void run_options_print_help(FILE *out)
{
    struct run_options options = {0};
    struct raw raw = {.options = &options};
    struct option_row rows[ROWS] = {0};
    struct option_command command = {"longshore run", SYNOPSIS, SUMMARY, rows};

    fill_rows(rows, &raw);
    options_print_help(&command, out);
}
