/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/formats.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/component/component_name.h"
#include "common/component/repository.h"
#include "common/contract.h"
#include "common/data/duration.h"
#include "common/data/names.h"
#include "common/data/reference.h"
#include "deployer/validation/cron.h"
#include "deployer/validation/quantity.h"

enum { NS_PER_MS = 1000000 };

#define RE_DURATION "([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\\u00b5s|\\u03bcs|ms|s|m|h)"
#define RE_DURATIONS "(\\+?(" RE_DURATION ")+|[-+]?0)"
#define RE_SUBDOMAIN "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
#define RE_LABEL "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"

const char *const RESERVED_ENV[] = {
    ENV_IMPORTS_PATH,
    ENV_EXPORTS_PATH,
    ENV_TARGET_PATH,
    ENV_COMPONENT_DESCRIPTOR_PATH,
    ENV_CONTENT_PATH,
    ENV_STATE_PATH,
    ENV_POD_NAME,
    ENV_POD_NAMESPACE,
    ENV_CONFIGURATION_PATH,
    ENV_DEPLOY_ITEM_NAME,
    ENV_OPERATION,
    ENV_DEPLOY_ITEM_NAMESPACE,
    ENV_EXPORT_PATH_OLD,
    ENV_REGISTRY_SECRETS_DIR,
    ENV_STATE_OLD,
    ENV_OCM_CONFIGURATION_PATH,
    NULL,
};

static int refuse(struct error *err, const char *text, const char *must)
{
    return error_set(err, ERROR_INVALID, "\"%.300s\": must be %s", text, must);
}

/* ---- names ---- */

static int check_name(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    return name_is_dns_subdomain(text)
               ? 0
               : refuse(err, text, "lower-case letters, digits, '-' and '.'");
}

const struct text_format FORMAT_NAME = {
    .pattern = "^(?=.{1,253}$)" RE_SUBDOMAIN "$",
    .check = check_name,
};

static int check_label_key(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    return name_is_label_key(text) ? 0 : refuse(err, text, "a valid label key");
}

const struct text_format FORMAT_LABEL_KEY = {
    .pattern = "^(" RE_SUBDOMAIN "/)?" RE_LABEL "$",
    .check = check_label_key,
};

static int check_label_value(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    return name_is_label_value(text) ? 0 : refuse(err, text, "a valid label value");
}

const struct text_format FORMAT_LABEL_VALUE = {
    .pattern = "^(" RE_LABEL ")?$",
    .check = check_label_value,
};

static bool is_env_name(const char *name)
{
    if (!*name || isdigit((unsigned char)*name) || strlen(name) > NAME_MAX_SUBDOMAIN)
        return false;
    for (; *name; name++) {
        if (!isalnum((unsigned char)*name) && !strchr("-._", *name))
            return false;
    }
    return true;
}

static int check_env_name(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    return is_env_name(text)
               ? 0
               : refuse(err, text, "letters, digits, '_', '-' or '.', not starting with a digit");
}

const struct text_format FORMAT_ENV_NAME = {
    .pattern = "^(?!" RESERVED_ENV_PREFIX ")[-._A-Za-z][-._A-Za-z0-9]{0,252}$",
    .reserved = RESERVED_ENV,
    .check = check_env_name,
};

/* The name is also a key of a Secret: letters, digits, '-', '_', '.'. */
static bool is_file_name(const char *name)
{
    size_t length = strlen(name);

    if (length == 0 || length > NAME_MAX_SUBDOMAIN || strncmp(name, "..", 2) == 0 ||
        strcmp(name, ".") == 0)
        return false;
    for (; *name; name++) {
        if (!isalnum((unsigned char)*name) && !strchr("-_.", *name))
            return false;
    }
    return true;
}

static int check_file_name(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    return is_file_name(text)
               ? 0
               : refuse(err, text, "a file name of letters, digits, '-', '_' and '.'");
}

static const char *const reserved_files[] = {FILE_SCRIPT, NULL};

const struct text_format FORMAT_FILE_NAME = {
    .pattern = "^(?!\\.\\.)(?!\\.$)[-._A-Za-z0-9]{1,253}$",
    .reserved = reserved_files,
    .check = check_file_name,
};

static int check_program(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    if (!*text)
        return error_set(err, ERROR_INVALID,
                         "must name a program, such as [\"/usr/bin/python3\", \"-u\"]");
    if (strpbrk(text, " \t"))
        return error_set(err, ERROR_INVALID,
                         "\"%.300s\": a string names one program; to pass arguments, use a list "
                         "such as [\"/usr/bin/python3\", \"-u\"]",
                         text);
    return 0;
}

const struct text_format FORMAT_PROGRAM = {
    .pattern = "^[^ \\t]+$",
    .check = check_program,
};

/* ---- images and components ---- */

static int check_image(const char *text, const struct field_rule *rule, struct error *err)
{
    cleanup_reference struct reference *reference = NULL;

    (void)rule;
    return reference_parse(text, &reference, err);
}

#define RE_PATH_PART "[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*"

const struct text_format FORMAT_IMAGE = {
    .pattern = "^((\\[[0-9a-fA-F:]+\\]|[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?)(:[0-9]{1,5})?/)?"
               "" RE_PATH_PART "(/" RE_PATH_PART ")*(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?"
               "(@sha(256:[0-9a-f]{64}|512:[0-9a-f]{128}))?$",
    .check = check_image,
};

static int check_component_name(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    return component_name_is_valid(text)
               ? 0
               : refuse(err, text, "a lower-case domain and a path, such as example.com/acme/app");
}

const struct text_format FORMAT_COMPONENT_NAME = {
    .pattern = "^(?=.{1,255}$)[a-z][-a-z0-9]*(\\.[a-z][-a-z0-9]*)*\\.[a-z]{2,}"
               "(/[a-z][-_a-z0-9]*(\\.[a-z][-_a-z0-9]*)*)+$",
    .check = check_component_name,
};

static int check_version(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    return version_is_valid(text) ? 0 : refuse(err, text, "a version such as 1.2.3 or v1.2.3-rc.1");
}

const struct text_format FORMAT_VERSION = {
    .pattern = "^v?[0-9]+(\\.[0-9]+){0,2}(-[-0-9A-Za-z]+(\\.[-0-9A-Za-z]+)*)?"
               "(\\+[-0-9A-Za-z]+(\\.[-0-9A-Za-z]+)*)?$",
    .check = check_version,
};

static int check_repository_type(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    return repository_type_is_known(text)
               ? 0
               : refuse(err, text,
                        "ociRegistry, CommonTransportFormat, ComponentArchive, local or inline");
}

const struct text_format FORMAT_REPOSITORY_TYPE = {
    .pattern = "^(ociRegistry|OCIRegistry|oci|OCI|OCIRepository|CommonTransportFormat|ctf|CTF|"
               "ComponentArchive|componentArchive|ca|CA|local|inline)(/v1)?$",
    .check = check_repository_type,
};

/* ---- times ---- */

static int check_duration(const char *text, const struct field_rule *rule, struct error *err)
{
    int64_t ns = 0;

    if (duration_parse(text, &ns, err) == 0 && ns / NS_PER_MS >= rule->min)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "\"%.300s\": must be a duration such as 90s, 5m or 1h30m, at least %" PRId64
                     "ms",
                     text, rule->min);
}

const struct text_format FORMAT_DURATION = {
    .pattern = "^" RE_DURATIONS "$",
    .check = check_duration,
};

static int check_timeout(const char *text, const struct field_rule *rule, struct error *err)
{
    int64_t ns = 0;

    (void)rule;
    if (strcmp(text, "none") == 0)
        return 0;
    if (duration_parse(text, &ns, err) < 0)
        return refuse(err, text, "none or a duration such as 90s, 10m or 1h30m");
    if (ns < 0)
        return error_set(err, ERROR_INVALID, "\"%s\": must not be negative", text);
    return 0;
}

const struct text_format FORMAT_TIMEOUT = {
    .pattern = "^(none|" RE_DURATIONS ")$",
    .check = check_timeout,
};

static int check_interval(const char *text, const struct field_rule *rule, struct error *err)
{
    int64_t ns = 0;

    (void)rule;
    return duration_parse(text, &ns, err) == 0 && ns > 0
               ? 0
               : refuse(err, text, "a duration greater than zero");
}

const struct text_format FORMAT_INTERVAL = {
    .pattern = "^\\+?(" RE_DURATION ")+$",
    .check = check_interval,
};

static int check_cron(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    return cron_is_valid(text) ? 0 : refuse(err, text, "a cron expression of five fields");
}

const struct text_format FORMAT_CRON = {
    .pattern = "^[ \\t]*((CRON_)?TZ=[^ ]* +)?"
               "(@(yearly|annually|monthly|weekly|daily|midnight|hourly|every .+)|"
               "[^ \\t@]+([ \\t]+[^ \\t]+){4}[ \\t]*)$",
    .check = check_cron,
};

/* ---- quantities ---- */

static int check_quantity(const char *text, const struct field_rule *rule, struct error *err)
{
    long double amount = 0;

    (void)rule;
    return quantity_parse(text, &amount) ? 0
                                         : refuse(err, text, "a quantity such as 500m, 1 or 64Mi");
}

const struct text_format FORMAT_QUANTITY = {
    .pattern = "^\\+?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]{1,2})?$",
    .check = check_quantity,
};

static int check_resource_name(const char *text, const struct field_rule *rule, struct error *err)
{
    (void)rule;
    return quantity_is_resource_name(text)
               ? 0
               : refuse(err, text, "cpu, memory, ephemeral-storage or domain/name");
}

const struct text_format FORMAT_RESOURCE_NAME = {
    .pattern = "^(cpu|memory|ephemeral-storage|hugepages-" RE_LABEL "|(?!requests\\.)" RE_SUBDOMAIN
               "/" RE_LABEL ")$",
    .check = check_resource_name,
};
