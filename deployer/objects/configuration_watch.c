/* SPDX-License-Identifier: Apache-2.0 */
/* Watching for late changes. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/objects/configuration_parts.h"
#include "deployer/validation/cron.h"

enum { QUIET_MS = 30 * 1000, INTERVAL_MS = 60 * 60 * 1000 };

static const char *const parts[] = {"apiVersion", "kind",  "readinessChecks",
                                    "exports",    "watch", "continuousReconcile"};

static enum late_level level_of(const char *word)
{
    if (word && strcmp(word, "report") == 0)
        return LATE_LEVEL_REPORT;
    return word && strcmp(word, "trigger") == 0 ? LATE_LEVEL_TRIGGER : LATE_LEVEL_NONE;
}

static struct late_rules read_rules(const struct fields *watch)
{
    return (struct late_rules){
        .level = level_of(field_text(watch, "level")),
        .quiet_ms = field_duration_ms(watch, "quietPeriod", QUIET_MS),
        .interval_ms = field_duration_ms(watch, "interval", INTERVAL_MS),
    };
}

struct late_rules manifest_config_late_rules(const json_t *document)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    const struct fields root = {json_is_object(document) ? document : NULL, "", &mistakes};
    const struct fields watch = {field_object(&root, "watch"), "watch", &mistakes};

    return read_rules(&watch);
}

void config_read_watch(const struct fields *root, struct manifest_config *config)
{
    const struct fields watch = {field_object(root, "watch"), "watch", root->mistakes};
    const struct fields continuous = {field_object(root, "continuousReconcile"),
                                      "continuousReconcile", root->mistakes};
    const char *cron = NULL;

    config->late = read_rules(&watch);
    if (config->late.level != LATE_LEVEL_TRIGGER)
        return;
    cron = field_text(&continuous, "cron");
    if (cron && cron_is_valid(cron) && !cron_is_utc(cron))
        mistakes_add(root->mistakes, MISTAKE_INVALID, "continuousReconcile.cron",
                     "time zones other than UTC are not supported together with watch.level "
                     "trigger: write the times in UTC");
}

struct manifest_config *manifest_config_for_watch(const json_t *document)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_json json_t *reduced = json_object();
    struct manifest_config *config = NULL;

    for (size_t i = 0; i < array_length(parts); i++) {
        json_t *part = json_object_get(document, parts[i]);

        if (part)
            (void)json_object_set_new(reduced, parts[i], json_deep_copy(part));
    }
    if (manifest_config_parse(reduced, &config, &mistakes) < 0)
        return NULL;
    return config;
}
