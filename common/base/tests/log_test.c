/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/log.h"
#include "common/base/memory.h"

struct capture {
    int read_fd;
    int write_fd;
};

static int begin(void **state)
{
    struct capture *capture = xcalloc(1, sizeof(*capture));
    int fds[2] = {-1, -1};

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    capture->read_fd = fds[0];
    capture->write_fd = fds[1];
    *state = capture;
    log_set_fd(capture->write_fd);
    log_configure("test", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    return 0;
}

static int end(void **state)
{
    struct capture *capture = *state;

    log_set_fd(STDERR_FILENO);
    (void)close(capture->read_fd);
    (void)close(capture->write_fd);
    free(capture);
    return 0;
}

/* The text logged since the last call, or "". */
static char *read_lines(const struct capture *capture)
{
    static char text[65536];
    ssize_t size = read(capture->read_fd, text, sizeof(text) - 1);

    text[size > 0 ? size : 0] = '\0';
    return text;
}

static json_t *read_line(const struct capture *capture)
{
    char *text = read_lines(capture);
    size_t length = strlen(text);
    json_error_t fault = {0};
    json_t *line = NULL;

    assert_true(length > 0);
    assert_int_equal(text[length - 1], '\n');
    assert_ptr_equal(strchr(text, '\n'), text + length - 1);
    line = json_loads(text, JSON_REJECT_DUPLICATES, &fault);
    if (!line)
        fail_msg("not JSON: %s in %.200s", fault.text, text);
    return line;
}

static const char *text_of(const json_t *line, const char *key)
{
    return json_string_value(json_object_get(line, key));
}

static void a_line_is_an_object_with_the_go_deployers_keys(void **state)
{
    json_t *line = NULL;

    log_info("blob fetched", log_text("digest", "sha256:1"), log_number("bytes", -12));
    line = read_line(*state);
    assert_string_equal(text_of(line, "level"), "info");
    assert_string_equal(text_of(line, "logger"), "test");
    assert_string_equal(text_of(line, "msg"), "blob fetched");
    assert_string_equal(text_of(line, "digest"), "sha256:1");
    assert_int_equal(json_integer_value(json_object_get(line, "bytes")), -12);
    assert_int_equal(strlen(text_of(line, "ts")), strlen("2006-01-02T15:04:05.000Z"));
    assert_int_equal(json_object_size(line), 6);
    json_decref(line);
}

static void a_level_passes_messages_of_at_least_its_severity(void **state)
{
    (void)state;
    for (int set = LOG_LEVEL_ERROR; set <= LOG_LEVEL_DEBUG; set++) {
        for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
            log_set_level((enum log_level)set);
            assert_int_equal(log_get_level(), set);
            log_write((enum log_level)level, "m", NULL, 0);
            assert_int_equal(*read_lines(*state) != '\0', level <= set);
        }
    }
}

static void a_null_text_is_logged_as_empty(void **state)
{
    const char *absent = NULL;
    json_t *line = NULL;

    log_error("m", log_text("error", absent));
    line = read_line(*state);
    assert_string_equal(text_of(line, "error"), "");
    json_decref(line);
}

static const struct {
    const char *raw, *read;
} texts[] = {
    {"plain", "plain"},
    {"\"quoted\" \\ back", "\"quoted\" \\ back"},
    {"line\nbreak\ttab\x01\x1f\x7f", "line\nbreak\ttab\x01\x1f\x7f"},
    {"gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\xa2", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\xa2"},
    {"\xff", "\xef\xbf\xbd"},
    {"a\xc3", "a\xef\xbf\xbd"},
    {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
};

static void any_text_is_logged_and_invalid_utf8_is_replaced(void **state)
{
    for (size_t i = 0; i < array_length(texts); i++) {
        json_t *line = NULL;

        log_info("m", log_text("text", texts[i].raw));
        line = read_line(*state);
        assert_string_equal(text_of(line, "text"), texts[i].read);
        json_decref(line);
    }
}

static void any_two_bytes_make_valid_json(void **state)
{
    for (int first = 1; first < 256; first++) {
        for (int second = 1; second < 256; second += 3) {
            char text[4] = {(char)first, (char)second, 'z', '\0'};

            log_info("m", log_text("text", text));
            json_decref(read_line(*state));
        }
    }
}

/* Wherever a text is truncated, the line is valid JSON. */
static void a_line_that_is_too_long_is_truncated_and_marked(void **state)
{
    static const char *const fillers[] = {"x", "\"", "\x01", "\xf0\x9f\x9a\xa2", "\xff"};

    for (size_t i = 0; i < array_length(fillers); i++) {
        for (size_t shift = 0; shift < 12; shift++) {
            char text[20000] = {0};
            size_t used = shift;
            json_t *line = NULL;

            memset(text, 'y', shift);
            while (used + 4 < sizeof(text)) {
                memcpy(text + used, fillers[i], strlen(fillers[i]));
                used += strlen(fillers[i]);
            }
            log_info("m", log_text("text", text), log_number("lost", 1), log_text("also", "x"));
            line = read_line(*state);
            assert_true(json_is_true(json_object_get(line, "cut")));
            assert_memory_equal(text_of(line, "text"), text, shift);
            assert_null(json_object_get(line, "lost"));
            json_decref(line);
        }
    }
}

static void lines_with_many_fields_are_truncated_between_fields(void **state)
{
    struct log_field fields[600];
    json_t *line = NULL;
    char keys[600][16];

    for (size_t i = 0; i < array_length(fields); i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "key-%zu", i);
        fields[i] = log_text(keys[i], "twenty characters...");
    }
    log_write(LOG_LEVEL_INFO, "m", fields, array_length(fields));
    line = read_line(*state);
    assert_true(json_is_true(json_object_get(line, "cut")));
    assert_string_equal(text_of(line, "key-300"), "twenty characters...");
    json_decref(line);
}

static void the_text_format_is_one_line(void **state)
{
    const char *text = NULL;

    log_configure("test", LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_info("saved", log_text("path", "a\nb"), log_number("bytes", 3));
    text = read_lines(*state);
    assert_non_null(strstr(text, "Z info saved path=\"a\\u000ab\" bytes=3\n"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void levels_and_formats_are_read_in_any_case(void **state)
{
    enum log_level level = LOG_LEVEL_ERROR;
    enum log_format format = LOG_FORMAT_JSON;
    struct error err = {0};

    (void)state;
    assert_int_equal(log_parse_level("Debug", &level, &err), 0);
    assert_int_equal(level, LOG_LEVEL_DEBUG);
    assert_int_equal(log_parse_format("TEXT", &format, &err), 0);
    assert_int_equal(format, LOG_FORMAT_TEXT);
    assert_int_equal(log_parse_format("json", &format, &err), 0);
    assert_int_equal(format, LOG_FORMAT_JSON);
    assert_int_equal(log_parse_level("loud", &level, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "log level \"loud\" is not one of error, info, debug");
    assert_int_equal(level, LOG_LEVEL_DEBUG);
    assert_int_equal(log_parse_format("xml", &format, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_is_an_object_with_the_go_deployers_keys, begin, end),
        cmocka_unit_test_setup_teardown(a_level_passes_messages_of_at_least_its_severity, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_null_text_is_logged_as_empty, begin, end),
        cmocka_unit_test_setup_teardown(any_text_is_logged_and_invalid_utf8_is_replaced, begin,
                                        end),
        cmocka_unit_test_setup_teardown(any_two_bytes_make_valid_json, begin, end),
        cmocka_unit_test_setup_teardown(a_line_that_is_too_long_is_truncated_and_marked, begin,
                                        end),
        cmocka_unit_test_setup_teardown(lines_with_many_fields_are_truncated_between_fields, begin,
                                        end),
        cmocka_unit_test_setup_teardown(the_text_format_is_one_line, begin, end),
        cmocka_unit_test(levels_and_formats_are_read_in_any_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
