/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/image_index.h"

#include <string.h>
#include <sys/utsname.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

const char *image_index_architecture(void)
{
    static const struct {
        const char *machine, *architecture;
    } names[] = {{"x86_64", "amd64"},
                 {"aarch64", "arm64"},
                 {"riscv64", "riscv64"},
                 {"ppc64le", "ppc64le"},
                 {"s390x", "s390x"}};
    struct utsname info = {0};

    (void)uname(&info);
    for (size_t i = 0; i < array_length(names); i++) {
        if (strcmp(info.machine, names[i].machine) == 0)
            return names[i].architecture;
    }
    return "amd64";
}

static bool is_this_machine(const char *os, const char *architecture)
{
    return (!architecture || strcmp(architecture, image_index_architecture()) == 0) &&
           (!os || strcmp(os, "linux") == 0);
}

char *image_index_foreign_platform(const json_t *config)
{
    const char *os = doc_text(config, "os");
    const char *architecture = doc_text(config, "architecture");

    return is_this_machine(os, architecture)
               ? NULL
               : xasprintf("%s/%s", os ? os : "linux", architecture ? architecture : "unknown");
}

/* Tools write either the tag or the whole reference into the annotation. */
static bool has_tag(const struct content *entry, const char *tag)
{
    const char *colon = entry->ref_name ? strrchr(entry->ref_name, ':') : NULL;

    return entry->ref_name &&
           (strcmp(entry->ref_name, tag) == 0 || (colon && strcmp(colon + 1, tag) == 0));
}

int image_index_choose(const struct manifest *index, const char *tag,
                       const struct content **ret_chosen, struct error *err)
{
    const struct content *chosen = NULL;
    size_t matches = 0;

    for (size_t i = 0; i < index->entry_count; i++) {
        const struct content *entry = &index->entries[i];

        if (tag ? !has_tag(entry, tag) : !is_this_machine(entry->os, entry->architecture))
            continue;
        if (!chosen)
            chosen = entry;
        matches++;
    }
    if (!chosen && tag)
        return error_set(err, ERROR_NOT_FOUND, "none of its %zu images has the tag \"%s\"",
                         index->entry_count, tag);
    if (!chosen)
        return error_set(err, ERROR_NOT_FOUND, "none of its %zu images is for linux/%s",
                         index->entry_count, image_index_architecture());
    if (matches > 1 && !tag && !chosen->architecture && !chosen->os)
        return error_set(err, ERROR_INVALID,
                         "it contains %zu images; select one by its tag (PATH:TAG)", matches);
    *ret_chosen = chosen;
    return 0;
}
