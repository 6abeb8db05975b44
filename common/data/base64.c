/* SPDX-License-Identifier: Apache-2.0 */
/* Not EVP_DecodeBlock(), which counts padding as data and accepts invalid input. */
#include "common/data/base64.h"

#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { NO_DIGIT = -1, PADDING = -2, SPACE = -3 };

char *base64_encode(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    char *text = xmalloc(size / 3 * 4 + 5);
    char *at = text;

    for (; size >= 3; size -= 3, bytes += 3) {
        *at++ = alphabet[bytes[0] >> 2];
        *at++ = alphabet[(bytes[0] & 3) << 4 | bytes[1] >> 4];
        *at++ = alphabet[(bytes[1] & 15) << 2 | bytes[2] >> 6];
        *at++ = alphabet[bytes[2] & 63];
    }
    if (size > 0) {
        unsigned int second = size == 2 ? bytes[1] : 0;

        *at++ = alphabet[bytes[0] >> 2];
        *at++ = alphabet[(bytes[0] & 3U) << 4 | second >> 4];
        *at++ = size == 2 ? alphabet[(second & 15) << 2] : '=';
        *at++ = '=';
    }
    *at = '\0';
    return text;
}

static int digit_of(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    switch (letter) {
    case '+':
        return 62;
    case '/':
        return 63;
    case '=':
        return PADDING;
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        return SPACE;
    default:
        return NO_DIGIT;
    }
}

static int decode(const char *text, size_t size, struct buffer *data, struct error *err)
{
    uint32_t bits = 0;
    size_t digits = 0; /* of the current group of four, padding included */
    size_t padding = 0;

    for (size_t i = 0; i < size; i++) {
        int digit = digit_of(text[i]);
        char bytes[3] = {0};

        if (digit == SPACE)
            continue;
        if (digit == PADDING ? digits < 2 : digit < 0 || padding > 0)
            return error_set(err, ERROR_INVALID, "invalid base64 at byte %zu", i + 1);
        padding += digit == PADDING;
        bits = bits << 6 | (digit == PADDING ? 0U : (uint32_t)digit);
        if (++digits < 4)
            continue;
        bytes[0] = (char)(bits >> 16 & 255);
        bytes[1] = (char)(bits >> 8 & 255);
        bytes[2] = (char)(bits & 255);
        if (buffer_append(data, bytes, 3 - padding, err) < 0)
            return -1;
        bits = 0;
        digits = 0;
    }
    if (digits > 0)
        return error_set(err, ERROR_INVALID, "incomplete base64");
    return 0;
}

int base64_decode(const char *text, size_t size, struct buffer *ret_data, struct error *err)
{
    size_t before = ret_data->size;

    if (decode(text, size, ret_data, err) == 0)
        return 0;
    ret_data->size = before;
    if (ret_data->data)
        ret_data->data[before] = '\0';
    return -1;
}
