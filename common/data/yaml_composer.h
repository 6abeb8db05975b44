/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: shared by the parts of the YAML parser. */
#pragma once

#include <yaml.h>

#include "common/data/doc.h"
#include "common/data/doc_budget.h"
#include "common/data/string_cache.h"

struct composer {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; next_event() releases it */
    bool has_event;
    bool is_repeat_allowed; /* of a key in a mapping: the last one counts */
    json_t *anchors;        /* name -> value */
    size_t depth;
    size_t tree_bytes;
    struct doc_budget aliases;
    struct string_cache strings;
    struct error *err;
};

/* Both return -1. */
int composer_fail_at(struct composer *composer, yaml_mark_t mark, enum error_kind kind,
                     const char *text);
int composer_fail(struct composer *composer, const char *text); /* at the current event */

const char *composer_short_tag(const yaml_char_t *tag);
int composer_scalar(struct composer *composer, json_t **ret_value) must_check;
