/* SPDX-License-Identifier: Apache-2.0 */
/* Writes block YAML in the style of kubectl: indented by two spaces, lists not indented below their
 * key, strings of several lines as literal blocks. Strings that would be read as another type are
 * quoted. */
#include "common/data/doc.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/utf8.h"
#include "common/data/doc_writer.h"
#include "common/data/scalar.h"

/* Longer keys need the "? key" form: libyaml accepts up to 1024 characters, and an escaped byte
 * takes six. */
enum { SIMPLE_KEY_MAX = 1000 / 6, INDENT = 2 };

static void put_indent(struct doc_writer *out, size_t indent)
{
    for (size_t i = 0; i < indent; i++)
        doc_put_letter(out, ' ');
}

/* Needs no escape: printable in YAML, and neither a line break nor a BOM. */
static bool is_printable(uint32_t code)
{
    return (code >= 0x20 && code < 0x7f) ||
           (code >= 0xa0 && code <= 0xfffd && code != 0x2028 && code != 0x2029 && code != 0xfeff) ||
           code >= 0x10000;
}

static bool is_all_printable(const char *text, size_t size, const char *also)
{
    for (size_t i = 0; i < size;) {
        uint32_t code = 0;
        size_t length = utf8_decode(text + i, size - i, &code);

        if (!length || (!is_printable(code) && !(code && code < 0x7f && strchr(also, (int)code))))
            return false;
        i += length;
    }
    return true;
}

static bool is_plain_start(const char *text)
{
    unsigned char first = (unsigned char)text[0];

    if (first == '-')
        return strncmp(text, "---", 3) != 0 && text[1] && !strchr(" \t", text[1]);
    if (first == '.')
        return strncmp(text, "...", 3) != 0;
    return first >= 0x80 || first == '/' || first == '_' || first == '+' || first == '$' ||
           first == '(' || first == '^' || first == '\\' || first == ';' || first == '~' ||
           (first >= '0' && first <= '9') || (first >= 'a' && first <= 'z') ||
           (first >= 'A' && first <= 'Z');
}

/* Other YAML parsers read times, sexagesimal numbers such as 1:30 and the like as numbers. */
static bool looks_numeric(const char *text)
{
    return strchr("+-.0123456789", *text) && !text[strspn(text, "+-_.:,0123456789eEtTzZxXoObB ")];
}

static bool is_plain(const char *text, size_t size)
{
    return size > 0 && is_plain_start(text) && text[size - 1] != ' ' && text[size - 1] != ':' &&
           !strstr(text, ": ") && !strstr(text, " #") && is_all_printable(text, size, "") &&
           !looks_numeric(text) && !strpbrk(text, ",[]{}") && strcmp(text, "<<") != 0 &&
           scalar_resolve(text, size).type == SCALAR_STRING;
}

static void put_key(struct doc_writer *out, const char *text, size_t size)
{
    if (is_plain(text, size))
        doc_put(out, text, size);
    else
        doc_put_quoted(out, text, size, is_printable);
}

/* A literal block preserves the text if the first line is not indented and at most one line break
 * ends it. */
static bool is_literal(const char *text, size_t size)
{
    return size > 1 && memchr(text, '\n', size) && !strchr(" \t\n", text[0]) &&
           !(text[size - 1] == '\n' && text[size - 2] == '\n') &&
           is_all_printable(text, size, "\t\n");
}

static void put_literal(struct doc_writer *out, const char *text, size_t indent)
{
    size_t size = strlen(text);

    doc_put_text(out, text[size - 1] == '\n' ? "|" : "|-");
    while (*text) {
        size_t length = strcspn(text, "\n");

        doc_put_letter(out, '\n');
        if (length > 0)
            put_indent(out, indent);
        doc_put(out, text, length);
        text += length + (text[length] == '\n');
    }
}

static void put_string(struct doc_writer *out, const char *text, size_t size, size_t indent)
{
    if (is_literal(text, size))
        put_literal(out, text, indent);
    else
        put_key(out, text, size);
}

/* Writes a scalar or an empty container. */
static void put_scalar(struct doc_writer *out, const json_t *value, size_t indent)
{
    if (json_is_string(value))
        put_string(out, json_string_value(value), json_string_length(value), indent);
    else if (json_is_object(value))
        doc_put_text(out, "{}");
    else if (json_is_array(value))
        doc_put_text(out, "[]");
    else
        doc_put_simple(out, value);
}

static void put_block(struct doc_writer *out, const json_t *value, size_t indent);

static bool is_block(const json_t *value)
{
    return json_object_size(value) > 0 || json_array_size(value) > 0;
}

/* Writes what follows "key:" in a mapping that is indented by indent. */
static void put_member(struct doc_writer *out, const json_t *value, size_t indent)
{
    size_t inner = json_is_array(value) ? indent : indent + INDENT;

    if (is_block(value)) {
        doc_put_letter(out, '\n');
        put_indent(out, inner);
        put_block(out, value, inner);
    } else {
        doc_put_letter(out, ' ');
        put_scalar(out, value, indent + INDENT);
    }
}

static void put_mapping(struct doc_writer *out, const json_t *object, size_t indent)
{
    const char *key = NULL;
    json_t *value = NULL;
    bool is_first = true;

    doc_foreach(object, key, value)
    {
        if (!is_first) {
            doc_put_letter(out, '\n');
            put_indent(out, indent);
        }
        is_first = false;
        if (strlen(key) > SIMPLE_KEY_MAX) {
            doc_put_text(out, "? ");
            put_key(out, key, strlen(key));
            doc_put_letter(out, '\n');
            put_indent(out, indent);
        } else {
            put_key(out, key, strlen(key));
        }
        doc_put_letter(out, ':');
        put_member(out, value, indent);
    }
}

/* Writes a value that begins at the current position, indented by indent. */
static void put_block(struct doc_writer *out, const json_t *value, size_t indent)
{
    json_t *item = NULL;
    size_t index = 0;

    if (!is_block(value)) {
        put_scalar(out, value, indent);
        return;
    }
    if (json_is_object(value)) {
        put_mapping(out, value, indent);
        return;
    }
    json_array_foreach(value, index, item)
    {
        if (index > 0) {
            doc_put_letter(out, '\n');
            put_indent(out, indent);
        }
        doc_put_text(out, "- ");
        put_block(out, item, indent + INDENT);
    }
}

char *doc_dump_yaml(const json_t *doc)
{
    struct doc_writer out = {0};

    doc_writer_init(&out);
    /* A literal block must be indented even at the top level. */
    if (json_is_string(doc))
        put_string(&out, json_string_value(doc), json_string_length(doc), INDENT);
    else
        put_block(&out, doc, 0);
    doc_put_letter(&out, '\n');
    return doc_writer_take(&out);
}
