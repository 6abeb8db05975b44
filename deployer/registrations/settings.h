/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of `longshore registrations`: a LandscaperConfiguration, of which only
 * deployerManagement is read, or a document with the fields of deployerManagement, or options of the
 * command line, which replace single fields. No I/O but reading the file. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/command_line/table.h"
#include "deployer/validation/mistakes.h"
#include "deployer/validation/rules.h"

struct settings {
    char *namespace_name;    /* of the objects of deployers */
    char *role;              /* ClusterRole of deployers */
    json_t *external_types;  /* array of strings */
    int64_t token_seconds;   /* lifetime of tokens of deployers */
    bool is_acceptance_manual; /* environments need the annotation ANNOTATION_ACCEPTED */
};

/* The fields of deployerManagement. */
extern const struct field_rule SETTINGS_FIELDS[];

/* Parses a document; NULL gives the defaults. Everything that is wrong is added to mistakes. Fails
 * if there is an error; otherwise the caller frees *ret_settings with settings_done(). */
int settings_parse(const json_t *document, struct settings *ret_settings, struct mistakes *mistakes)
    must_check;
/* Reads values->config, if it is given, and applies the options. Unknown fields are added to
 * mistakes, errors end it with ERROR_INVALID. */
int settings_read(const struct registrations_values *values, struct settings *ret_settings,
                  struct mistakes *mistakes, struct error *err) must_check;
void settings_done(struct settings *settings);
