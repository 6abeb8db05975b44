/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/resolve.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/list.h"
#include "deployer/lifecycle/module_state.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/version.h"

static const char default_channel[] = "regular";

bool resolve_mandatory(const struct catalog *catalog, const char *name, const json_t *release,
                       struct module_choice *ret_choice)
{
    const char *version = doc_text(release, "spec.mandatory.version");
    cleanup_free char *template = version ? xasprintf("%s-%s", name, version) : NULL;

    if (!version || doc_text(release, "metadata.deletionTimestamp"))
        return false;
    *ret_choice = (struct module_choice){
        .kind = CHOICE_INSTALL,
        .name = name,
        .channel = "",
        .version = version,
        .component = doc_text_or(release, "spec.ocmComponentName", ""),
        .template = doc_member(catalog->templates, template),
    };
    return true;
}

int64_t choices_next_window(const struct choices *choices)
{
    int64_t next = 0;

    for (size_t i = 0; i < choices->count; i++) {
        int64_t begin = choices->choices[i].window_unix_ms;

        if (begin && (!next || begin < next))
            next = begin;
    }
    return next;
}

void choices_done(struct choices *choices)
{
    free(choices->choices);
    *choices = (struct choices){0};
}

/* ---- The parts of objects ---- */

static const char *label(const json_t *object, const char *key)
{
    const char *value = json_string_value(doc_member(doc_get(object, "metadata.labels"), key));

    return value ? value : "";
}

static bool is_labelled(const json_t *object, const char *key)
{
    return strcasecmp(label(object, key), "true") == 0;
}

bool template_is_visible(const json_t *template, const json_t *kyma, const char **ret_reason)
{
    static const struct {
        const char *label, *reason;
    } restrictions[] = {
        {KYMA_LABEL_INTERNAL, "internal module"},
        {KYMA_LABEL_BETA, "beta module"},
    };

    for (size_t i = 0; i < array_length(restrictions); i++)
        if (is_labelled(template, restrictions[i].label) &&
            !is_labelled(kyma, restrictions[i].label)) {
            *ret_reason = restrictions[i].reason;
            return false;
        }
    return true;
}

/* ---- Steps: each returns false when it has made the choice ---- */

printf_like(4, 5) static bool end(struct module_choice *choice, enum choice_kind kind,
                                  enum module_state state, const char *format, ...)
{
    va_list args;

    choice->kind = kind;
    choice->has_state = true;
    choice->state = state;
    choice->template = NULL;
    va_start(args, format);
    (void)vsnprintf(choice->message, sizeof(choice->message), format, args);
    va_end(args);
    return false;
}

/* What is missing in the catalog is a warning for the operator, not an error of the module. */
static bool find_version(const struct resolve_input *input, struct module_choice *choice)
{
    const json_t *release = doc_member(input->catalog.releases, choice->name);
    const json_t *assigned;

    if (!release)
        return end(choice, choice->entry ? CHOICE_KEEP : CHOICE_FAIL, MODULE_WARNING,
                   "there is no ModuleReleaseMeta %s/%s; create it, or remove the module from the "
                   "Kyma",
                   input->catalog.namespace_name, choice->name);
    choice->component = doc_text_or(release, "spec.ocmComponentName", "");
    if (doc_get(release, "spec.mandatory"))
        return end(choice, CHOICE_FAIL, MODULE_ERROR,
                   "module template not allowed: module %s is mandatory and installed in every "
                   "cluster; remove it from the Kyma",
                   choice->name);
    assigned = list_find(doc_get(release, "spec.channels"), "channel", choice->channel);
    if (!assigned)
        return end(choice, choice->entry ? CHOICE_KEEP : CHOICE_FAIL, MODULE_WARNING,
                   "ModuleReleaseMeta %s/%s has no channel %s; add it there, or choose another "
                   "channel",
                   input->catalog.namespace_name, choice->name, choice->channel);
    choice->version = doc_text_or(assigned, "version", "");
    return true;
}

/* Without a ModuleReleaseMeta: a template that names module and channel itself, as the first
 * version of the API did it. A channel that no template has gets the only template there is. */
static const json_t *find_labelled_template(const struct resolve_input *input,
                                            const struct module_choice *choice)
{
    const json_t *only = NULL;
    size_t count = 0;
    const char *name;
    json_t *template;

    doc_foreach(input->catalog.templates, name, template)
    {
        if (strcmp(label(template, KYMA_LABEL_MODULE_NAME), choice->name) != 0)
            continue;
        if (strcmp(doc_text_or(template, "spec.channel", ""), choice->channel) == 0)
            return template;
        only = template;
        count++;
    }
    return count == 1 ? only : NULL;
}

static bool find_template(const struct resolve_input *input, struct module_choice *choice)
{
    cleanup_free char *name = NULL;

    if (!doc_member(input->catalog.releases, choice->name)) {
        choice->template = find_labelled_template(input, choice);
        choice->version = doc_text_or(choice->template, "spec.version", "");
        if (!*choice->version)
            choice->version =
                doc_text_or(choice->template, "spec.descriptor.component.version", "");
        choice->component = doc_text_or(choice->template, "spec.descriptor.component.name", "");
        if (choice->template)
            return true;
    }
    if (!find_version(input, choice))
        return false;
    name = xasprintf("%s-%s", choice->name, choice->version);
    choice->template = doc_member(input->catalog.templates, name);
    if (!choice->template)
        return end(choice, CHOICE_FAIL, MODULE_WARNING,
                   "there is no ModuleTemplate %s/%s, which channel %s of module %s names; create "
                   "it, or change the channel in the ModuleReleaseMeta",
                   input->catalog.namespace_name, name, choice->channel, choice->name);
    return true;
}

static bool is_update(const struct module_choice *choice)
{
    const char *installed = doc_text_or(choice->entry, "version", "");

    return *installed && strcmp(installed, choice->version) != 0;
}

static bool check_window(const struct resolve_input *input, struct module_choice *choice)
{
    const struct maintenance_cluster cluster = {
        .global_account_id = label(input->kyma, KYMA_LABEL_GLOBAL_ACCOUNT),
        .plan = label(input->kyma, KYMA_LABEL_PLAN),
        .region = label(input->kyma, KYMA_LABEL_REGION),
        .platform_region = label(input->kyma, KYMA_LABEL_PLATFORM_REGION),
    };
    struct maintenance_window window = {0};
    struct error err = {0};

    if (!is_update(choice) || !doc_bool_or(choice->template, "spec.requiresDowntime", false) ||
        doc_bool_or(input->spec, "skipMaintenanceWindows", false))
        return true;
    if (!input->policy)
        return end(choice, CHOICE_KEEP, MODULE_ERROR,
                   "version %s of module %s needs a maintenance window, but no policy is "
                   "configured; configure one, or set spec.skipMaintenanceWindows",
                   choice->version, choice->name);
    if (maintenance_find(input->policy, &cluster, input->now_unix_ms, input->window_least_ms,
                         &window, &err))
        return end(choice, CHOICE_KEEP, MODULE_ERROR, "%s", err.text);
    if (window.begin_unix_ms <= input->now_unix_ms)
        return true;
    choice->is_maintenance = true;
    choice->window_unix_ms = window.begin_unix_ms;
    (void)end(choice, CHOICE_KEEP, MODULE_PROCESSING,
              "waiting for next maintenance window to update module version");
    choice->has_state = false;
    return false;
}

static bool check_visibility(const struct resolve_input *input, struct module_choice *choice)
{
    const char *reason = NULL;

    if (template_is_visible(choice->template, input->kyma, &reason))
        return true;
    return end(choice, CHOICE_REVOKE, MODULE_ERROR, "module template not allowed: %s", reason);
}

static bool check_downgrade(const struct resolve_input *input, struct module_choice *choice)
{
    const char *installed = doc_text_or(choice->entry, "version", "");
    struct version from, to;

    (void)input;
    if (!version_parse(installed, &from) || !version_parse(choice->version, &to) ||
        version_compare(to, from) >= 0)
        return true;
    return end(choice, CHOICE_KEEP, MODULE_WARNING,
               "module template update not allowed: ignore channel skew (from %s to %s), as a "
               "higher version (%s) of the module was previously installed",
               doc_text_or(choice->entry, "channel", ""), choice->channel, installed);
}

/* The definition of the kind accepts any text as a path. With one that cannot be evaluated the
 * state of the module would never be known, so such a template reaches no cluster. */
static bool check_state_checks(const struct resolve_input *input, struct module_choice *choice)
{
    bool is_installed = *doc_text_or(choice->entry, "version", "") != '\0';
    struct error err = {0};

    if (state_checks_validate(doc_get(choice->template, "spec.customStateCheck"), &err) == 0)
        return true;
    return end(choice, is_installed ? CHOICE_KEEP : CHOICE_FAIL, MODULE_ERROR,
               "ModuleTemplate %s/%s: %s", input->catalog.namespace_name,
               doc_text_or(choice->template, "metadata.name", ""), err.text);
}

static bool check_channel(const struct resolve_input *input, struct module_choice *choice)
{
    (void)input;
    if (strcmp(choice->channel, "none") != 0)
        return true;
    return end(choice, CHOICE_FAIL, MODULE_ERROR,
               "\"none\" is not a channel; set spec.channel of the Kyma or the channel of module "
               "%s to one that its ModuleReleaseMeta lists",
               choice->name);
}

static struct module_choice resolve_module(const struct resolve_input *input, const json_t *module,
                                           const json_t *entry)
{
    static bool (*const steps[])(const struct resolve_input *, struct module_choice *) = {
        check_channel,    find_template,   check_window,
        check_visibility, check_downgrade, check_state_checks,
    };
    struct module_choice choice = {
        .kind = CHOICE_INSTALL,
        .name = doc_text_or(module, "name", ""),
        .channel = doc_text_or(module, "channel", ""),
        .version = "",
        .component = "",
        .entry = entry,
        .is_resource_ignored =
            strcmp(doc_text_or(module, "customResourcePolicy", ""), "Ignore") == 0,
    };

    if (!*choice.channel)
        choice.channel = doc_text_or(input->spec, "channel", "");
    if (!*choice.channel)
        choice.channel = default_channel;
    if (!doc_bool_or(module, "managed", true)) {
        /* What is handed over is what is installed, whatever the catalog has now. */
        choice.kind = CHOICE_RELEASE;
        choice.version = doc_text_or(entry, "version", "");
        choice.component = doc_text_or(entry, "ocmComponentName", "");
        return choice;
    }
    for (size_t i = 0; i < array_length(steps); i++)
        if (!steps[i](input, &choice))
            break;
    return choice;
}

static int by_name(const void *one, const void *other)
{
    const struct module_choice *a = one, *b = other;

    return strcmp(a->name, b->name);
}

struct choices resolve_modules(const struct resolve_input *input)
{
    const json_t *modules = doc_get(input->spec, "modules");
    const json_t *entries = doc_get(input->kyma, "status.modules");
    struct choices result = {
        .choices = xcalloc(json_array_size(modules) + json_array_size(entries) + 1,
                           sizeof(*result.choices)),
    };
    size_t i, listed;
    json_t *one;

    json_array_foreach(doc_writable(modules), i, one)
    {
        const char *name = doc_text_or(one, "name", "");

        if (*name)
            result.choices[result.count++] =
                resolve_module(input, one, list_find(entries, "name", name));
    }
    listed = result.count;
    json_array_foreach(doc_writable(entries), i, one)
    {
        const char *name = doc_text_or(one, "name", "");

        if (*name && !list_find(modules, "name", name))
            result.choices[result.count++] = (struct module_choice){
                .kind = CHOICE_REMOVE,
                .name = name,
                .channel = doc_text_or(one, "channel", ""),
                .version = doc_text_or(one, "version", ""),
                .component = doc_text_or(one, "ocmComponentName", ""),
                .entry = one,
            };
    }
    qsort(result.choices + listed, result.count - listed, sizeof(*result.choices), by_name);
    return result;
}
