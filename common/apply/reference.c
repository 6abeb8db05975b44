/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/reference.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

void object_ref_done(struct object_ref *ref)
{
    free(ref->api_version);
    free(ref->kind);
    free(ref->namespace_name);
    free(ref->name);
    free(ref->uid);
    *ref = (struct object_ref){0};
}

struct object_ref object_ref_copy(const struct object_ref *ref)
{
    return (struct object_ref){
        .api_version = xstrdup_or_null(ref->api_version),
        .kind = xstrdup_or_null(ref->kind),
        .namespace_name = xstrdup_or_null(ref->namespace_name),
        .name = xstrdup_or_null(ref->name),
        .uid = xstrdup_or_null(ref->uid),
    };
}

/* An empty namespace or uid means the same as none. */
static char *copy_unless_empty(const char *text)
{
    return text && *text ? xstrdup(text) : NULL;
}

struct object_ref object_ref_of(const json_t *object)
{
    return (struct object_ref){
        .api_version = xstrdup(doc_text_or(object, "apiVersion", "")),
        .kind = xstrdup(doc_text_or(object, "kind", "")),
        .namespace_name = copy_unless_empty(doc_text(object, "metadata.namespace")),
        .name = xstrdup(doc_text_or(object, "metadata.name", "")),
        .uid = copy_unless_empty(doc_text(object, "metadata.uid")),
    };
}

static int want_text_not_empty(const json_t *value, const char *key, const char **ret_text,
                               struct error *err)
{
    if (doc_want_text_required(value, key, ret_text, err) < 0)
        return -1;
    if (!**ret_text)
        return error_set(err, ERROR_INVALID, "%s: must not be empty", key);
    return 0;
}

int object_ref_parse(const json_t *value, struct object_ref *ret_ref, struct error *err)
{
    const char *api_version = NULL;
    const char *kind = NULL;
    const char *namespace_name = NULL;
    const char *name = NULL;
    const char *uid = NULL;

    if (!json_is_object(value))
        return error_set(err, ERROR_INVALID, "expected an object reference, got %s",
                         doc_type_name(value));
    if (want_text_not_empty(value, "apiVersion", &api_version, err) < 0 ||
        want_text_not_empty(value, "kind", &kind, err) < 0 ||
        want_text_not_empty(value, "name", &name, err) < 0 ||
        doc_want_text(value, "namespace", &namespace_name, err) < 0 ||
        doc_want_text(value, "uid", &uid, err) < 0)
        return -1;
    *ret_ref = (struct object_ref){
        .api_version = xstrdup(api_version),
        .kind = xstrdup(kind),
        .namespace_name = copy_unless_empty(namespace_name),
        .name = xstrdup(name),
        .uid = copy_unless_empty(uid),
    };
    return 0;
}

json_t *object_ref_json(const struct object_ref *ref)
{
    const struct {
        const char *key, *text;
    } members[] = {
        {"apiVersion", ref->api_version},   {"kind", ref->kind}, {"name", ref->name},
        {"namespace", ref->namespace_name}, {"uid", ref->uid},
    };
    json_t *value = json_object();

    for (size_t i = 0; i < array_length(members); i++) {
        if (members[i].text && *members[i].text)
            doc_set_text(value, members[i].key, members[i].text);
    }
    return value;
}

void api_version_split(const char *api_version, const char **ret_group, size_t *ret_group_size,
                       const char **ret_version)
{
    const char *slash = strchr(api_version, '/');

    *ret_group = api_version;
    *ret_group_size = slash ? (size_t)(slash - api_version) : 0;
    *ret_version = slash ? slash + 1 : api_version;
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static bool is_same_group(const struct object_ref *a, const struct object_ref *b)
{
    const char *groups[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};
    const char *version = NULL;

    api_version_split(text_or_empty(a->api_version), &groups[0], &sizes[0], &version);
    api_version_split(text_or_empty(b->api_version), &groups[1], &sizes[1], &version);
    return sizes[0] == sizes[1] && memcmp(groups[0], groups[1], sizes[0]) == 0;
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(text_or_empty(a), text_or_empty(b)) == 0;
}

bool object_ref_is_same_name(const struct object_ref *a, const struct object_ref *b)
{
    return is_same_text(a->name, b->name) && is_same_text(a->kind, b->kind) &&
           is_same_text(a->namespace_name, b->namespace_name) && is_same_group(a, b);
}

char *object_ref_key(const struct object_ref *ref)
{
    const char *kind = text_or_empty(ref->kind);
    const char *namespace_name = text_or_empty(ref->namespace_name);
    const char *group = NULL;
    const char *version = NULL;
    size_t group_size = 0;

    api_version_split(text_or_empty(ref->api_version), &group, &group_size, &version);
    /* A stored reference may contain any character, so there is no separator to rely on. */
    return xasprintf("%zu %zu %zu %.*s%s%s%s", group_size, strlen(kind), strlen(namespace_name),
                     (int)group_size, group, kind, namespace_name, text_or_empty(ref->name));
}

bool object_ref_equal(const struct object_ref *a, const struct object_ref *b)
{
    if (a->uid && *a->uid && b->uid && *b->uid)
        return strcmp(a->uid, b->uid) == 0;
    return object_ref_is_same_name(a, b);
}

char *object_ref_text(const struct object_ref *ref)
{
    const char *kind = text_or_empty(ref->kind);
    const char *name = text_or_empty(ref->name);

    if (ref->namespace_name && *ref->namespace_name)
        return xasprintf("%s %s/%s", kind, ref->namespace_name, name);
    return xasprintf("%s %s", kind, name);
}

char *label_selector_text(const json_t *labels)
{
    char *text = xstrdup("");
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(labels, key, value)
    {
        const char *word = json_string_value(value);
        char *longer = xasprintf("%s%s%s=%s", text, *text ? "," : "", key, word ? word : "");

        free(text);
        text = longer;
    }
    return text;
}
