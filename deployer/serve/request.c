/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/serve/request.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"

/* ---- The first line ---- */

static const char *find_end(const char *head, size_t size)
{
    const char *end = memmem(head, size, "\r\n\r\n", 4);

    return end ? end : memmem(head, size, "\n\n", 2);
}

int serve_parse(const char *head, size_t size, char **ret_path, int *ret_status, int *ret_is_head)
{
    const char *path = NULL, *end = NULL;

    *ret_status = 400;
    if (!find_end(head, size))
        return 0;
    *ret_is_head = size > 5 && memcmp(head, "HEAD ", 5) == 0;
    if (!*ret_is_head && !(size > 4 && memcmp(head, "GET ", 4) == 0)) {
        *ret_status = 405;
        return -1;
    }
    path = head + (*ret_is_head ? 5 : 4);
    end = path;
    while ((size_t)(end - head) < size && (unsigned char)*end > ' ' && *end != '?')
        end++;
    if (*path != '/' || (size_t)(end - head) == size || (*end != ' ' && *end != '?'))
        return -1;
    *ret_path = xstrndup(path, (size_t)(end - path));
    return 1;
}

/* ---- Parts ---- */

/* The query of the first line: *ret_size bytes, 0 if there is none. */
static const char *find_query(const char *head, size_t size, size_t *ret_size)
{
    const char *line_end = memchr(head, '\n', size);
    size_t line = line_end ? (size_t)(line_end - head) : size;
    const char *question = memchr(head, '?', line);
    size_t left = question ? line - (size_t)(question + 1 - head) : 0;
    const char *space = question ? memchr(question + 1, ' ', left) : NULL;

    *ret_size = space ? (size_t)(space - question - 1) : 0;
    return question ? question + 1 : head;
}

static int hex_value(char letter)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = letter ? strchr(digits, letter | 0x20) : NULL;

    return found ? (int)(found - digits) : -1;
}

static char *decode(const char *text, size_t size)
{
    cleanup_free char *result = xmalloc(size + 1);
    size_t length = 0;

    for (size_t i = 0; i < size; i++) {
        int byte = text[i] == '+' ? ' ' : (unsigned char)text[i];

        if (text[i] == '%') {
            int high = size - i > 2 ? hex_value(text[i + 1]) : -1;
            int low = size - i > 2 ? hex_value(text[i + 2]) : -1;

            if (high < 0 || low < 0)
                return NULL;
            byte = high * 16 + low;
            i += 2;
        }
        if (byte < ' ' || byte == 0x7f)
            return NULL;
        result[length++] = (char)byte;
    }
    result[length] = '\0';
    return steal(&result);
}

char *request_parameter(const char *head, size_t size, const char *name)
{
    size_t query_size = 0, name_size = strlen(name);
    const char *at = find_query(head, size, &query_size);
    const char *end = at + query_size;

    while (at < end) {
        const char *next = memchr(at, '&', (size_t)(end - at));
        const char *stop = next ? next : end;

        if ((size_t)(stop - at) > name_size && memcmp(at, name, name_size) == 0 &&
            at[name_size] == '=')
            return decode(at + name_size + 1, (size_t)(stop - at) - name_size - 1);
        at = stop + 1;
    }
    return NULL;
}

static bool is_space(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\r';
}

char *request_header(const char *head, size_t size, const char *name)
{
    const char *end = head + size, *line = memchr(head, '\n', size);
    size_t name_size = strlen(name);

    while (line && ++line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        const char *stop = next ? next : end;

        if ((size_t)(stop - line) > name_size && strncasecmp(line, name, name_size) == 0 &&
            line[name_size] == ':') {
            const char *value = line + name_size + 1;

            while (value < stop && is_space(*value))
                value++;
            while (stop > value && is_space(stop[-1]))
                stop--;
            return xstrndup(value, (size_t)(stop - value));
        }
        line = next;
    }
    return NULL;
}

/* ---- Accept-Encoding ---- */

/* Removes spaces, which may be anywhere between the parts of a list. */
static void remove_spaces(char *text)
{
    size_t length = 0;

    for (const char *from = text; *from; from++) {
        if (!is_space(*from))
            text[length++] = *from;
    }
    text[length] = '\0';
}

/* "q=0", "q=0.000": the coding is refused. */
static bool is_refused(const char *parameters)
{
    const char *weight = strcasestr(parameters, "q=");

    return weight && weight[2 + strspn(weight + 2, "0.")] == '\0';
}

/* Whether an element of the list, "gzip;q=0.8" without spaces, has this name. */
static bool is_coding(const char *element, const char *name)
{
    size_t length = strcspn(element, ";");

    return length == strlen(name) && strncasecmp(element, name, length) == 0;
}

bool request_accepts_gzip(const char *head, size_t size)
{
    cleanup_free char *list = request_header(head, size, "Accept-Encoding");
    char *rest = list, *element = NULL;
    bool is_any_accepted = false;

    if (!list)
        return false;
    remove_spaces(list);
    while ((element = strsep(&rest, ","))) {
        bool is_accepted = !is_refused(element + strcspn(element, ";"));

        if (is_coding(element, "gzip") || is_coding(element, "x-gzip"))
            return is_accepted;
        if (is_coding(element, "*"))
            is_any_accepted = is_accepted;
    }
    return is_any_accepted;
}
