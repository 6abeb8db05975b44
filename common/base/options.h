/* SPDX-License-Identifier: Apache-2.0 */
/* Command-line options as a table, from which parsing, --help, man pages and completions are
 * derived (the tables are in common/command_line). Based on getopt_long(): `--name value`,
 * `--name=value` and `-n value` work, and also `-n=value` and `--flag=false`, as with the flag
 * package of Go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/error.h"

enum option_type {
    OPTION_FLAG,     /* a bool */
    OPTION_TEXT,     /* a const char *, borrowed from argv; the last one wins */
    OPTION_CHOICE,   /* the same, but it must be one of the choices */
    OPTION_TEXT_LIST /* a struct option_list, to which each value is appended */
};

struct option_list {
    const char **items; /* borrowed texts */
    size_t count;
};

struct option_row {
    const char *name; /* long name, without dashes; NULL ends the table */
    char letter;      /* short name, or 0 */
    enum option_type type;
    size_t offset;          /* of its field in the record */
    const char *value_name; /* "LEVEL"; a "FILE" or a "DIR" is completed as such */
    const char *help;       /* no full stop */
    const char *choices;    /* separated by single blanks, or NULL */
    const char *fallback;   /* default value, or NULL */
};

/* Initialisers of rows. A field of the wrong type is a compile error. */
#define option_offset(record, field, kind)                                                         \
    (offsetof(record, field) +                                                                     \
     0 * sizeof(                                                                                   \
             char[__builtin_types_compatible_p(__typeof__(((record *)0)->field), kind) ? 1 : -1]))
#define option_flag(name_, letter_, record, field, help_)                                          \
    {                                                                                              \
        .name = (name_), .letter = (letter_), .type = OPTION_FLAG,                                 \
        .offset = option_offset(record, field, bool), .help = (help_)                              \
    }
#define option_text(name_, letter_, record, field, value_, help_)                                  \
    {                                                                                              \
        .name = (name_), .letter = (letter_), .type = OPTION_TEXT,                                 \
        .offset = option_offset(record, field, const char *), .value_name = (value_),              \
        .help = (help_)                                                                            \
    }
/* A text with a default, or with choices that are only used for completion. */
#define option_text_with(name_, letter_, record, field, value_, help_, choices_, fallback_)        \
    {                                                                                              \
        .name = (name_), .letter = (letter_), .type = OPTION_TEXT,                                 \
        .offset = option_offset(record, field, const char *), .value_name = (value_),              \
        .help = (help_), .choices = (choices_), .fallback = (fallback_)                            \
    }
#define option_choice(name_, letter_, record, field, value_, help_, choices_, fallback_)           \
    {                                                                                              \
        .name = (name_), .letter = (letter_), .type = OPTION_CHOICE,                               \
        .offset = option_offset(record, field, const char *), .value_name = (value_),              \
        .help = (help_), .choices = (choices_), .fallback = (fallback_)                            \
    }
#define option_texts(name_, letter_, record, field, value_, help_)                                 \
    {                                                                                              \
        .name = (name_), .letter = (letter_), .type = OPTION_TEXT_LIST,                            \
        .offset = option_offset(record, field, struct option_list), .value_name = (value_),        \
        .help = (help_)                                                                            \
    }

/* A line of a further section of --help and the man page: {"EXIT STATUS", "2", "wrong usage"}. */
struct option_fact {
    const char *section; /* NULL ends the table; lines of a section are adjacent */
    const char *term, *text;
};

struct option_command {
    const char *program;         /* "longshore run" */
    const char *brief;           /* in lists of commands, no full stop */
    const char *synopsis;        /* "[OPTIONS] ITEM.yaml" */
    const char *summary;         /* sentences, without the last full stop */
    const char *operand;         /* as value_name of a row; NULL: no operands */
    const char *operand_choices; /* as choices of a row */
    const struct option_row *rows;
    const struct option_fact *facts;              /* NULL: none */
    const struct option_command *const *commands; /* subcommands, NULL at the end; NULL: none */
};

/* Parses argv[1..] into record, in which the fields of options that are not given get their default
 * or keep their value. Moves the operands to the end of argv; *ret_first is the index of the first
 * one. --help is a row like any other. ERROR_INVALID names the first wrong option, but never its
 * value, and a similar option if there is one; the options after it are stored in record as well,
 * so that an option for the format of errors has its effect. A wrong choice is stored as given. */
int options_parse(const struct option_command *command, int argc, char **argv, void *record,
                  int *ret_first, struct error *err) must_check;
/* options_help.c: synopsis, commands, options and facts, in lines of at most 80 columns. */
void options_print_help(const struct option_command *command, FILE *out);
void option_list_done(struct option_list *list);

/* The last word of the program: "run" for "longshore run". */
const char *option_command_name(const struct option_command *command);
/* Fails with ERROR_INVALID: name is not a command of the program. Names a similar one. */
int option_refuse_command(const struct option_command *program, const char *name, struct error *err)
    must_check;
/* Help, choices and default of a row, as shown by --help and the man page. The caller frees it. */
char *option_describe(const struct option_row *row);
/* Returns the next word of *rest (which may be NULL) and its length, and moves *rest behind it.
 * NULL: there are no more. */
const char *option_next_choice(const char **rest, int *ret_length);
