/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/validate.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/component/repository.h"
#include "common/data/doc.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/shared_rules.h"

/* ---- env ---- */

static bool is_reserved_env(const char *name)
{
    for (size_t i = 0; RESERVED_ENV[i]; i++) {
        if (strcmp(RESERVED_ENV[i], name) == 0)
            return true;
    }
    return strncmp(name, RESERVED_ENV_PREFIX, strlen(RESERVED_ENV_PREFIX)) == 0;
}

static bool is_named_before(const json_t *list, size_t index, const char *name)
{
    for (size_t i = 0; i < index; i++) {
        const char *other = doc_text(json_array_get(list, i), "name");

        if (other && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

void validate_env(const json_t *value, const char *path, struct mistakes *mistakes)
{
    /* The comparison is quadratic; a longer list is refused. */
    if (json_array_size(value) > VALIDATE_ENV_MAX)
        return;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *name = doc_text(json_array_get(value, i), "name");
        cleanup_free char *entry = path_index(path, i);
        cleanup_free char *where = path_member(entry, "name");
        struct error err = {0};

        if (!name || FORMAT_ENV_NAME.check(name, NULL, &err) < 0)
            continue; /* reported */
        if (is_reserved_env(name))
            mistakes_add(mistakes, MISTAKE_FORBIDDEN, where, "\"%s\" is set by the deployer", name);
        if (is_named_before(value, i, name))
            mistakes_add(mistakes, MISTAKE_DUPLICATE, where, "\"%s\"", name);
    }
}

/* ---- tolerations ---- */

static void check_toleration(const struct fields *fields)
{
    const char *key = field_text(fields, "key");
    const char *value = field_text(fields, "value");
    const char *operator_word = field_text(fields, "operator");
    cleanup_free char *key_path = field_path(fields, "key");
    cleanup_free char *value_path = field_path(fields, "value");
    cleanup_free char *effect_path = field_path(fields, "effect");
    bool is_exists = operator_word && strcmp(operator_word, "Exists") == 0;

    if (field_any(fields, "tolerationSeconds") &&
        strcmp(doc_text_or(fields->object, "effect", ""), "NoExecute") != 0)
        mistakes_add(fields->mistakes, MISTAKE_INVALID, effect_path,
                     "must be NoExecute where tolerationSeconds is set");
    if ((!key || !*key) && !is_exists)
        mistakes_add(fields->mistakes, MISTAKE_REQUIRED, key_path,
                     "a toleration without a key needs the operator Exists");
    if (value && is_exists && *value)
        mistakes_add(fields->mistakes, MISTAKE_INVALID, value_path,
                     "must be empty with the operator Exists");
}

void validate_tolerations(const json_t *value, const char *path, struct mistakes *mistakes)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        cleanup_free char *where = path_index(path, i);
        const struct fields fields = {json_array_get(value, i), where, mistakes};

        if (json_is_object(fields.object))
            check_toleration(&fields);
    }
}

/* ---- components ---- */

/* Fails where the format does. */
static void check_format(const struct fields *fields, const char *key, enum mistake_kind kind)
{
    const struct field_rule *rule = rules_find(FIELDS_COMPONENT_REF, key);
    const char *text = field_text(fields, key);
    cleanup_free char *path = field_path(fields, key);
    struct error err = {0};

    if (text && *text && rule->format->check(text, rule, &err) < 0)
        mistakes_add(fields->mistakes, kind, path, "%s", err.text);
}

void validate_repository_context(const json_t *value, const char *path, enum mistake_kind problem,
                                 struct mistakes *mistakes)
{
    cleanup_repository struct repository *repository = NULL;
    cleanup_free char *type_path = path_member(path, "type");
    struct error err = {0};

    if (!json_is_object(value))
        return;
    if (repository_parse(value, &repository, &err) < 0)
        mistakes_add(mistakes, problem, path, "%s", err.text);
    else if (repository->kind == REPOSITORY_UNSUPPORTED &&
             FORMAT_REPOSITORY_TYPE.check(doc_text_or(value, "type", ""), NULL, &err) < 0)
        mistakes_add(mistakes, problem, type_path, "%s", err.text);
}

void validate_component_descriptor(const json_t *value, const char *path, bool is_go_init,
                                   struct mistakes *mistakes)
{
    cleanup_free char *ref_path = path_member(path, "ref");
    cleanup_free char *context_path = path_member(ref_path, "repositoryContext");
    const struct fields fields = {value, path, mistakes};
    const struct fields ref = {field_object(&fields, "ref"), ref_path, mistakes};
    const json_t *context = field_object(&ref, "repositoryContext");
    /* Without a repository and without resolvers, which only the cluster knows, init does not look
     * for the component at all. */
    enum mistake_kind problem = context ? MISTAKE_INVALID : MISTAKE_UNKNOWN;

    if (!ref.object || field_object(&fields, "inline"))
        return;
    rules_check(ref.object, FIELDS_COMPONENT_REF, ref_path, mistakes);
    if (is_go_init)
        return;
    check_format(&ref, "componentName", problem);
    check_format(&ref, "version", problem);
    validate_repository_context(context, context_path, problem, mistakes);
}

void validate_blueprint(const json_t *value, const char *path, bool has_descriptor,
                        struct mistakes *mistakes)
{
    const struct fields fields = {value, path, mistakes};
    cleanup_free char *ref_path = field_path(&fields, "ref");
    bool has_ref = field_object(&fields, "ref");

    if (has_ref && !has_descriptor)
        mistakes_add(mistakes, MISTAKE_REQUIRED, "componentDescriptor",
                     "needed because %s names a resource of the component", ref_path);
    if (has_ref && field_object(&fields, "inline"))
        mistakes_add(mistakes, MISTAKE_UNKNOWN, ref_path, "has no effect: inline takes precedence");
}

/* ---- continuousReconcile ---- */

bool validate_continuous_reconcile(const json_t *value, const char *path, struct mistakes *mistakes)
{
    const struct fields fields = {value, path, mistakes};
    const char *cron = field_text(&fields, "cron");
    const char *every = field_text(&fields, "every");
    bool has_cron = cron && *cron;

    if (has_cron && every)
        mistakes_add(mistakes, MISTAKE_INVALID, path, "only one of cron and every can be set");
    return has_cron || every;
}
