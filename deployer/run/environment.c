/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the environment of a container as a kubelet and containerd do. */
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/run/spec.h"

enum { VALUE_MAX = 2 * 1024 * 1024 }; /* more than a Kubernetes object can hold */

struct list {
    char **items;
    size_t count;
};

static const char *find(char *const *environment, const char *name, size_t length)
{
    for (char *const *item = environment; *item; item++) {
        if (strncmp(*item, name, length) == 0 && (*item)[length] == '=')
            return *item + length + 1;
    }
    return NULL;
}

/* Takes text over. A later value of the same name replaces the earlier one in its place. */
static void put(struct list *list, char *text)
{
    size_t length = strcspn(text, "=");

    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->items[i], text, length + 1) == 0) {
            free(list->items[i]);
            list->items[i] = text;
            return;
        }
    }
    list->items = xreallocarray(list->items, list->count + 2, sizeof(*list->items));
    list->items[list->count++] = text;
    list->items[list->count] = NULL;
}

char *spec_expand(char *const *environment, const char *text)
{
    cleanup_buffer struct buffer out = {0};
    struct error ignored = {0};

    buffer_init(&out, VALUE_MAX);
    while (*text) {
        const char *end = text[0] == '$' && text[1] == '(' ? strchr(text, ')') : NULL;
        const char *value = end ? find(environment, text + 2, (size_t)(end - text - 2)) : NULL;
        /* An unknown $(...) stays as a whole, so that $$ in a shell's $(echo $$) is not changed. */
        size_t length = end ? (size_t)(end - text + 1) : 1;

        if (value) {
            (void)!buffer_append(&out, value, strlen(value), &ignored);
        } else {
            (void)!buffer_append(&out, text, length, &ignored);
            length += text[0] == '$' && text[1] == '$';
        }
        text += length;
    }
    return buffer_take(&out);
}

static const char *field_value(const json_t *pod, const json_t *row)
{
    const char *path = doc_text(row, "valueFrom.fieldRef.fieldPath");

    return path ? doc_text_or(pod, path, "") : "";
}

char **spec_own_environment(const json_t *pod, const json_t *container)
{
    struct list list = {.items = xcalloc(1, sizeof(char *))};
    const json_t *row = NULL;
    size_t index = 0;

    json_array_foreach(doc_get(container, "env"), index, row)
    {
        const char *literal = doc_text(row, "value");
        cleanup_free char *value =
            literal ? spec_expand(list.items, literal) : xstrdup(field_value(pod, row));

        put(&list, xasprintf("%s=%s", doc_text_or(row, "name", ""), value));
    }
    return list.items;
}

char **spec_environment(const json_t *pod, const json_t *container, const json_t *image_config)
{
    struct list list = {.items = xcalloc(1, sizeof(char *))};
    char **own = spec_own_environment(pod, container);
    const json_t *row = NULL;
    size_t index = 0;

    json_array_foreach(doc_get(image_config, "Env"), index, row)
    {
        if (json_is_string(row) && strchr(json_string_value(row), '='))
            put(&list, xstrdup(json_string_value(row)));
    }
    if (!find(list.items, "PATH", 4))
        put(&list, xstrdup("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
    put(&list, xasprintf("HOSTNAME=%s", doc_text_or(pod, "metadata.name", "")));
    for (char **item = own; *item; item++)
        put(&list, *item);
    free(own); /* its strings belong to the list now */
    return list.items;
}

void spec_environment_free(char **environment)
{
    for (char **item = environment; item && *item; item++)
        free(*item);
    free(environment);
}
