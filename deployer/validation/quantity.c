/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/quantity.h"

#include <string.h>

#include "common/base/digit.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/validate.h"

enum { QUANTITY_MAX = 64, EXPONENT_MAX = 18 };

/* The factor of a suffix: base to the power of exponent. */
struct scale {
    int base;
    int64_t exponent;
};

static long double power(int base, int64_t exponent)
{
    long double result = 1;

    for (; exponent > 0; exponent--)
        result *= base;
    return result;
}

static bool suffix_scale(const char *suffix, struct scale *ret_scale)
{
    static const struct {
        const char *suffix;
        struct scale scale;
    } scales[] = {
        {"", {10, 0}},   {"n", {10, -9}}, {"u", {10, -6}}, {"m", {10, -3}},
        {"k", {10, 3}},  {"M", {10, 6}},  {"G", {10, 9}},  {"T", {10, 12}},
        {"P", {10, 15}}, {"E", {10, 18}}, {"Ki", {2, 10}}, {"Mi", {2, 20}},
        {"Gi", {2, 30}}, {"Ti", {2, 40}}, {"Pi", {2, 50}}, {"Ei", {2, 60}},
    };

    for (size_t i = 0; i < array_length(scales); i++) {
        if (strcmp(scales[i].suffix, suffix) == 0) {
            *ret_scale = scales[i].scale;
            return true;
        }
    }
    ret_scale->base = 10;
    return (*suffix == 'e' || *suffix == 'E') &&
           number_parse_signed(suffix + 1, &ret_scale->exponent) &&
           ret_scale->exponent >= -EXPONENT_MAX && ret_scale->exponent <= EXPONENT_MAX;
}

bool quantity_parse(const char *text, long double *ret_amount)
{
    const char *cursor = text + (*text == '+');
    struct scale scale = {0};
    long double digits = 0;
    int64_t digits_count = 0;
    int64_t places = 0; /* after the decimal point */
    bool has_point = false;

    if (strlen(text) > QUANTITY_MAX)
        return false;
    for (; is_digit(*cursor) || (*cursor == '.' && !has_point); cursor++) {
        if (*cursor == '.') {
            has_point = true;
            continue;
        }
        digits = digits * 10 + (*cursor - '0');
        digits_count++;
        places += has_point;
    }
    if (digits_count == 0 || !suffix_scale(cursor, &scale))
        return false;
    /* Multiply first and divide once at the end, so that 1000m is exactly 1 and 1.1k exactly 1100.
     */
    *ret_amount = digits * power(scale.base, scale.exponent) /
                  (power(10, places) * power(scale.base, -scale.exponent));
    return true;
}

#define HUGE_PAGES "hugepages-"

static bool is_huge_pages(const char *name)
{
    return strncmp(name, HUGE_PAGES, strlen(HUGE_PAGES)) == 0;
}

/* Extended resources, such as nvidia.com/gpu, are counted in whole units. */
static bool is_extended(const char *name)
{
    return strchr(name, '/') && !strstr(name, "kubernetes.io/");
}

bool quantity_is_resource_name(const char *name)
{
    static const char *const plain[] = {"cpu", "memory", "ephemeral-storage"};

    for (size_t i = 0; i < array_length(plain); i++) {
        if (strcmp(plain[i], name) == 0)
            return true;
    }
    if (is_huge_pages(name))
        return name_is_label_key(name);
    /* "requests.x" is the name of a quota, not of a resource. */
    if (is_extended(name) && strncmp(name, "requests.", strlen("requests.")) == 0)
        return false;
    return strchr(name, '/') && name_is_label_key(name);
}

/* The amount of a resource; false if it is not a quantity. */
static bool read_amount(const json_t *value, long double *ret_amount)
{
    cleanup_free char *number = json_is_number(value) ? doc_dump(value) : NULL;
    const char *text = number ? number : json_string_value(value);

    return text && quantity_parse(text, ret_amount);
}

/* The API server rounds up to whole numbers. Beyond 2^63 a long double has no fraction. */
static uint64_t rounded_up(long double amount)
{
    uint64_t whole = amount < (long double)INT64_MAX ? (uint64_t)amount : INT64_MAX;

    return (long double)whole < amount && whole < INT64_MAX ? whole + 1 : whole;
}

static void check_kind_of_amount(const char *name, long double amount, const char *path,
                                 struct mistakes *mistakes)
{
    const char *size = is_huge_pages(name) ? name + strlen(HUGE_PAGES) : NULL;
    long double page = 0;

    if (is_extended(name) && (long double)rounded_up(amount) > amount)
        mistakes_add(mistakes, MISTAKE_INVALID, path, "must be a whole number");
    if (size && (!quantity_parse(size, &page) || rounded_up(page) == 0 ||
                 (long double)rounded_up(page) > page))
        mistakes_add(mistakes, MISTAKE_INVALID, path, "\"%s\": not a valid page size", size);
    else if (size && rounded_up(amount) % rounded_up(page) != 0)
        mistakes_add(mistakes, MISTAKE_INVALID, path, "must be a multiple of %s", size);
}

/* Extended resources and huge pages can't be overcommitted: request and limit must be equal. */
static void check_against_limit(const char *name, long double amount, const json_t *limit,
                                const char *path, struct mistakes *mistakes)
{
    bool is_exclusive = is_extended(name) || is_huge_pages(name);
    long double limit_amount = 0;

    if (!limit && is_exclusive)
        mistakes_add(mistakes, MISTAKE_INVALID, path, "requires an equal limit");
    if (!limit || !read_amount(limit, &limit_amount))
        return;
    if (amount > limit_amount)
        mistakes_add(mistakes, MISTAKE_INVALID, path, "must not exceed its limit");
    else if (amount < limit_amount && is_exclusive)
        mistakes_add(mistakes, MISTAKE_INVALID, path, "must equal its limit");
}

static void check_amounts(const json_t *amounts, const char *path, bool is_request,
                          const json_t *limits, struct mistakes *mistakes)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach(field_each(amounts), name, value)
    {
        cleanup_free char *where = path_member(path, name);
        long double amount = 0;

        if (!read_amount(value, &amount))
            continue;
        check_kind_of_amount(name, amount, where, mistakes);
        if (is_request)
            check_against_limit(name, amount, json_object_get(limits, name), where, mistakes);
    }
}

static bool has_huge_pages(const json_t *amounts)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach(field_each(amounts), name, value)
    {
        if (is_huge_pages(name))
            return true;
    }
    return false;
}

static bool has_cpu_or_memory(const json_t *amounts)
{
    return json_object_get(amounts, "cpu") || json_object_get(amounts, "memory");
}

void validate_resources(const json_t *value, const char *path, struct mistakes *mistakes)
{
    const struct fields fields = {value, path, mistakes};
    cleanup_free char *requests_path = field_path(&fields, "requests");
    cleanup_free char *limits_path = field_path(&fields, "limits");
    const json_t *limits = field_object(&fields, "limits");
    const json_t *requests = field_object(&fields, "requests");

    check_amounts(limits, limits_path, false, NULL, mistakes);
    check_amounts(requests, requests_path, true, limits, mistakes);
    if ((has_huge_pages(limits) || has_huge_pages(requests)) && !has_cpu_or_memory(limits) &&
        !has_cpu_or_memory(requests))
        mistakes_add(mistakes, MISTAKE_FORBIDDEN, path,
                     "huge pages require a cpu or memory request or limit");
}
