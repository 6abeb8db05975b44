/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: what the parts of the YAML reader share. */
#pragma once

#include <yaml.h>

#include "common/data/doc.h"
#include "common/data/doc_budget.h"
#include "common/data/doc_lists.h"

enum { COMPOSER_KEYS = 2 };

/* What is held in memory, estimated. */
struct composer_weight {
    size_t all;
    size_t anchored; /* of that: what an anchor holds */
};

struct composer {
    yaml_parser_t parser;
    yaml_event_t event; /* the one in hand; next_event() releases it */
    bool has_event;
    json_t *anchors; /* name -> value */
    size_t depth;
    struct doc_budget aliases;
    struct error *err;

    const struct doc_lists *lists;   /* whose elements are handed over, or NULL */
    const char *keys[COMPOSER_KEYS]; /* on the way from the top; NULL: no way that a list has */
    size_t open_anchors;             /* around the node in hand */
    struct composer_weight weight;
};

/* Both return -1. */
int composer_fail_at(struct composer *composer, yaml_mark_t mark, enum error_kind kind,
                     const char *text);
int composer_fail(struct composer *composer, const char *text); /* at the event in hand */

const char *composer_short_tag(const yaml_char_t *tag);
int composer_scalar(struct composer *composer, json_t **ret_value) must_check;
