/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/plan_check.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

struct expansion {
    plan_object_fn *on_object;
    void *data;
    struct summary *problems;
    json_t *seen; /* objects: key -> where */
    size_t count;
};

void plan_check_twin(json_t *seen, const struct object_ref *ref, const char *source,
                     struct summary *problems)
{
    cleanup_free char *text = object_ref_text(ref);
    cleanup_free char *key = object_ref_key(ref);
    const char *first = json_string_value(json_object_get(seen, key));

    if (first)
        summary_add_field(problems, source, "%s is already in %s", text, first);
    else
        (void)json_object_set_new(seen, key, doc_new_text(source));
}

static bool is_text(const json_t *object, const char *path)
{
    const char *text = doc_text(object, path);

    return text && text[0];
}

static void check_member(const json_t *manifest, const char *path, const char *source,
                         struct summary *problems)
{
    cleanup_free char *field = xasprintf("%s.%s", source, path);
    const json_t *value = doc_get(manifest, path);

    if (!is_text(manifest, path))
        summary_add_field(problems, field, "expected a string, got %s",
                          json_is_string(value) ? "an empty one" : doc_type_name(value));
}

static void check_name(const json_t *manifest, const char *source, struct summary *problems)
{
    cleanup_free char *field = xasprintf("%s.metadata.name", source);
    const char *name = doc_text_or(manifest, "metadata.name", "");

    if (!name[0] && is_text(manifest, "metadata.generateName"))
        summary_add_field(problems, field,
                          "a name is required; generateName is not supported, because the "
                          "object could not be found again");
    else if (!name[0])
        check_member(manifest, "metadata.name", source, problems);
    else if (strpbrk(name, "/%") || name[strspn(name, ".")] == '\0')
        summary_add_field(problems, field, "invalid name \"%s\"", name);
}

/* Returns whether there is no problem. */
static bool check_object(const json_t *manifest, const char *source, struct summary *problems)
{
    cleanup_free char *field = xasprintf("%s.metadata.namespace", source);
    const json_t *namespace_name = doc_get(manifest, "metadata.namespace");
    size_t before = problems->count;

    if (!json_is_object(manifest)) {
        summary_add_field(problems, source, "expected an object, got %s", doc_type_name(manifest));
        return false;
    }
    check_member(manifest, "apiVersion", source, problems);
    check_member(manifest, "kind", source, problems);
    check_name(manifest, source, problems);
    if (namespace_name && !json_is_string(namespace_name) && !json_is_null(namespace_name))
        summary_add_field(problems, field, "expected a string, got %s",
                          doc_type_name(namespace_name));
    return problems->count == before;
}

static void take_object(struct expansion *expansion, const struct plan_input *input,
                        const json_t *manifest, const char *source)
{
    struct object_ref ref = {0};
    size_t before = expansion->problems->count;

    if (!check_object(manifest, source, expansion->problems))
        return;
    if (++expansion->count == PLAN_OBJECTS_MAX + 1)
        summary_add_field(expansion->problems, source, "more than %d objects", PLAN_OBJECTS_MAX);
    ref = object_ref_of(manifest);
    plan_check_twin(expansion->seen, &ref, source, expansion->problems);
    object_ref_done(&ref);
    if (expansion->problems->count == before)
        expansion->on_object(expansion->data, input, manifest, source);
}

static bool has_items(const json_t *manifest)
{
    const json_t *items = doc_member(manifest, "items");

    return items && !json_is_null(items);
}

static bool is_list_kind(const json_t *manifest)
{
    static const char suffix[] = "List";
    const char *kind = doc_text_or(manifest, "kind", suffix);
    size_t length = strlen(kind);

    return length >= strlen(suffix) && strcmp(kind + length - strlen(suffix), suffix) == 0;
}

static void take_item(struct expansion *expansion, const struct plan_input *input,
                      const json_t *item, size_t index)
{
    cleanup_free char *source = xasprintf("%s.items[%zu]", input->source, index);

    if (has_items(item))
        summary_add_field(expansion->problems, source,
                          "an object with items inside a list is not supported; put its items into "
                          "the outer list");
    else
        take_object(expansion, input, item, source);
}

static void take_input(struct expansion *expansion, const struct plan_input *input)
{
    cleanup_free char *field = xasprintf("%s.items", input->source);
    const json_t *items = doc_member(input->manifest, "items");
    const json_t *item = NULL;
    size_t i = 0;

    if (!has_items(input->manifest)) {
        take_object(expansion, input, input->manifest, input->source);
        return;
    }
    if (!is_list_kind(input->manifest))
        summary_add_field(expansion->problems, field,
                          "only lists may have items, and kind %s does not end in List",
                          doc_text(input->manifest, "kind"));
    else if (!json_is_array(items))
        summary_add_field(expansion->problems, field, "expected a list, got %s",
                          doc_type_name(items));
    else
        json_array_foreach(items, i, item) take_item(expansion, input, item, i);
}

void plan_expand(const struct plan_input *inputs, size_t count, plan_object_fn *on_object,
                 void *data, struct summary *problems)
{
    cleanup_json json_t *seen = json_object();
    struct expansion expansion = {
        .on_object = on_object, .data = data, .problems = problems, .seen = seen};

    for (size_t i = 0; i < count; i++)
        take_input(&expansion, &inputs[i]);
}

static void skip_object(void *data, const struct plan_input *input, const json_t *manifest,
                        const char *source)
{
    (void)data;
    (void)input;
    (void)manifest;
    (void)source;
}

size_t plan_check(const struct plan_input *inputs, size_t count, plan_problem_fn *on_problem,
                  void *data)
{
    struct summary problems = {0};
    size_t found = 0;

    plan_expand(inputs, count, skip_object, NULL, &problems);
    found = problems.count;
    for (size_t i = 0; i < found; i++) {
        char *colon = strstr(problems.texts[i], ": ");

        *colon = '\0';
        on_problem(data, problems.texts[i], colon + 2);
    }
    summary_done(&problems);
    return found;
}
