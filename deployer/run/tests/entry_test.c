/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/entry.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

struct world {
    char directory[32];
    int fd;
};

static void add(const struct world *world, const char *path, const void *bytes, size_t size,
                mode_t mode)
{
    struct error err = {0};

    assert_int_equal(beneath_write_file(world->fd, path, bytes, size, mode, &err), 0);
}

static void add_text(const struct world *world, const char *path, const char *text, mode_t mode)
{
    add(world, path, text, strlen(text), mode);
}

/* The smallest ELF program that needs a dynamic loader. */
static size_t make_elf(char *bytes, const char *loader)
{
    Elf64_Ehdr header = {
        .e_phoff = sizeof(header), .e_phnum = 2, .e_phentsize = sizeof(Elf64_Phdr)};
    Elf64_Phdr parts[2] = {{.p_type = PT_LOAD},
                           {.p_type = PT_INTERP,
                            .p_offset = sizeof(header) + sizeof(parts),
                            .p_filesz = strlen(loader) + 1}};

    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), parts, sizeof(parts));
    memcpy(bytes + sizeof(header) + sizeof(parts), loader, strlen(loader) + 1);
    return sizeof(header) + sizeof(parts) + strlen(loader) + 1;
}

static int set_up(void **state)
{
    struct world *world = xcalloc(1, sizeof(*world));
    char elf[512] = {0};

    (void)snprintf(world->directory, sizeof(world->directory), "/tmp/entry-test-XXXXXX");
    assert_non_null(mkdtemp(world->directory));
    world->fd = open(world->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(world->fd >= 0);
    (void)umask(022);
    add_text(world, "root/bin/sh", "a program", 0755);
    add_text(world, "root/bin/data", "data", 0644);
    add_text(world, "root/usr/bin/good", "#!/bin/sh -e\n", 0755);
    add_text(world, "root/usr/bin/python", "#! /usr/bin/python3 -u\n", 0755);
    add_text(world, "root/usr/bin/dos", "#!/bin/sh\r\necho\r\n", 0755);
    add_text(world, "root/work/here", "#!/no/where\n", 0755);
    add_text(world, "script/run", "#!/usr/bin/python3\n", 0555);
    add(world, "root/bin/dynamic", elf, make_elf(elf, "/lib64/ld-linux-x86-64.so.2"), 0755);
    add(world, "root/bin/fine", elf, make_elf(elf, "/bin/sh"), 0755);
    assert_int_equal(symlinkat("/usr/bin/good", world->fd, "root/bin/link"), 0);
    assert_int_equal(symlinkat("/etc/passwd", world->fd, "root/bin/outside"), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    cleanup_close int tmp_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct world *world = *state;
    struct error err = {0};

    assert_int_equal(beneath_remove_tree(tmp_fd, world->directory + strlen("/tmp/"), &err), 0);
    (void)close(world->fd);
    free(world);
    return 0;
}

static json_t *make_spec(const struct world *world, const char *program, const char *path)
{
    cleanup_free char *root = xasprintf("%s/root", world->directory);
    cleanup_free char *script = xasprintf("%s/script", world->directory);

    return json_pack("{s:{s:s}, s:{s:[s], s:[s, s], s:s}, s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}]}",
                     "root", "path", root, "process", "args", program, "env", "A=b", path, "cwd",
                     "/work", "mounts", "destination", "/proc", "type", "proc", "source", "proc",
                     "destination", PATH_SCRIPT_DIR, "type", "none", "source", script);
}

static const struct {
    const char *program, *path;
    enum entry_fault fault;
    const char *text;
} cases[] = {
    {"/bin/sh", "PATH=/bin", ENTRY_FINE, NULL},
    {"sh", "PATH=/usr/bin:/bin", ENTRY_FINE, NULL},
    {"sh", "NO_PATH=1", ENTRY_FINE, NULL},
    {"/bin/link", "PATH=/bin", ENTRY_FINE, NULL},
    {"good", "PATH=/usr/bin", ENTRY_FINE, NULL},
    {"/bin/fine", "PATH=/bin", ENTRY_FINE, NULL},
    {"/usr/bin/python3", "PATH=/bin", ENTRY_MISSING, "the image has no \"/usr/bin/python3\""},
    {"/bin/sh/x", "PATH=/bin", ENTRY_MISSING, "the image has no \"/bin/sh/x\""},
    {"python3", "PATH=/bin:/usr/bin", ENTRY_MISSING,
     "the image has no program \"python3\"; its PATH is /bin:/usr/bin"},
    {"python3 -u", "PATH=/bin", ENTRY_MISSING,
     "the image has no program \"python3 -u\" (blanks are part of the name; arguments are separate "
     "words); its PATH is /bin"},
    {"/usr/bin/python", "PATH=/bin", ENTRY_MISSING,
     "the image has no \"/usr/bin/python3\", which the first line of \"/usr/bin/python\" names"},
    {PATH_SCRIPT_DIR "/run", "PATH=/bin", ENTRY_MISSING,
     "the image has no \"/usr/bin/python3\", which the first line of \"" PATH_SCRIPT_DIR
     "/run\" names"},
    {"./here", "PATH=/bin", ENTRY_MISSING,
     "the image has no \"/no/where\", which the first line of \"/work/./here\" names"},
    {"dos", "PATH=/usr/bin", ENTRY_MISSING,
     "the first line of \"/usr/bin/dos\" ends with a carriage return, which becomes a part of the "
     "name \"/bin/sh\"; use Unix line endings"},
    {"/bin/dynamic", "PATH=/bin", ENTRY_MISSING,
     "the image has no \"/lib64/ld-linux-x86-64.so.2\", which \"/bin/dynamic\" needs: it was built "
     "for another C library"},
    /* A link that leads out of the image leads nowhere. */
    {"/bin/outside", "PATH=/bin", ENTRY_MISSING, "the image has no \"/bin/outside\""},
    {"/bin", "PATH=/bin", ENTRY_NOT_EXECUTABLE, "\"/bin\" in the image is not a file"},
    {"data", "PATH=/bin", ENTRY_NOT_EXECUTABLE, "\"/bin/data\" in the image is not executable for"},
};

static void names_what_is_missing(void **state)
{
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *spec = make_spec(*state, cases[i].program, cases[i].path);
        cleanup_free char *text = NULL;

        print_message("%s\n", cases[i].program);
        assert_non_null(spec);
        assert_int_equal(entry_examine(spec, &text), cases[i].fault);
        if (!cases[i].text)
            assert_null(text);
        else if (cases[i].fault == ENTRY_MISSING)
            assert_string_equal(text, cases[i].text);
        else
            assert_memory_equal(text, cases[i].text, strlen(cases[i].text));
    }
}

static const struct {
    const char *bytes, *interpreter;
    bool is_script;
} heads[] = {
    {"#!/bin/sh\n", "/bin/sh", true},
    {"#!/bin/sh", "/bin/sh", true},
    {"#! \t/bin/env python3\n", "/bin/env", true},
    {"#!sh\n", "sh", true},
    {"#!\n/bin/sh\n", NULL, true},
    {"#!/bin/\033[31msh\n", NULL, true},
    {"#!/bin/s\xc3\xa4\n", NULL, true},
    {"#!", NULL, false},
    {"", NULL, false},
    {"\177ELF", NULL, false},
    {"\177ELF\2\1\1", NULL, false},
    {"echo #!/bin/sh\n", NULL, false},
};

static void reads_the_first_line_of_a_script(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(heads); i++) {
        bool is_script = !heads[i].is_script;
        cleanup_free char *found =
            entry_interpreter(heads[i].bytes, strlen(heads[i].bytes), &is_script);

        assert_int_equal(is_script, heads[i].is_script);
        if (heads[i].interpreter)
            assert_string_equal(found, heads[i].interpreter);
        else
            assert_null(found);
    }
}

static void a_loader_outside_of_the_bytes_is_not_read(void **state)
{
    char bytes[512] = {0};
    size_t size = make_elf(bytes, "/lib/ld.so");

    (void)state;
    for (size_t length = 0; length <= size; length++) {
        bool is_script = true;
        cleanup_free char *found = entry_interpreter(bytes, length, &is_script);

        assert_int_equal(found != NULL, length == size);
        assert_false(is_script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_what_is_missing, set_up, tear_down),
        cmocka_unit_test(reads_the_first_line_of_a_script),
        cmocka_unit_test(a_loader_outside_of_the_bytes_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
