/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/entry.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

enum { HEAD_BYTES = 4096, INTERPRETER_MAX = 256 };
static const char DEFAULT_PATH[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* ---- Files of the container. ---- */

/* Symlinks, also absolute ones, are resolved inside the directory. */
static int open_inside(const char *directory, const char *path)
{
    cleanup_close int root = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_IN_ROOT};

    return root < 0 ? -1 : (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* The bind mount that path is in, or NULL. */
static const json_t *find_mount(const json_t *spec, const char *path)
{
    const json_t *found = NULL;
    const json_t *mount = NULL;
    size_t best = 0;
    size_t index = 0;

    json_array_foreach(doc_get(spec, "mounts"), index, mount)
    {
        const char *target = doc_text_or(mount, "destination", "");
        size_t length = strlen(target);

        if (length > best && strcmp(doc_text_or(mount, "type", ""), "none") == 0 &&
            strncmp(path, target, length) == 0 && (path[length] == '/' || !path[length])) {
            found = mount;
            best = length;
        }
    }
    return found;
}

static int open_in_container(const json_t *spec, const char *path)
{
    const json_t *mount = find_mount(spec, path);
    const char *rest = NULL;

    if (!mount)
        return open_inside(doc_text_or(spec, "root.path", ""), path);
    rest = path + strlen(doc_text_or(mount, "destination", ""));
    return *rest ? open_inside(doc_text_or(mount, "source", ""), rest)
                 : open(doc_text_or(mount, "source", ""), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* ---- Interpreters. ---- */

/* Names become part of a message on a terminal, so control characters are not accepted. */
static char *take_name(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool is_last_return = bytes[i] == '\r' && i + 1 == length;

        if ((bytes[i] <= ' ' || bytes[i] > '~') && !is_last_return)
            return NULL;
    }
    return length > 0 && length <= INTERPRETER_MAX ? xstrndup(bytes, length) : NULL;
}

static char *script_interpreter(const char *bytes, size_t size)
{
    size_t first = 2;
    size_t end = 0;

    while (first < size && (bytes[first] == ' ' || bytes[first] == '\t'))
        first++;
    end = first;
    while (end < size && bytes[end] != ' ' && bytes[end] != '\t' && bytes[end] != '\n')
        end++;
    return take_name(bytes + first, end - first);
}

static char *elf_interpreter(const char *bytes, size_t size)
{
    Elf64_Ehdr header = {0};

    if (size < sizeof(header))
        return NULL;
    memcpy(&header, bytes, sizeof(header));
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
        return NULL;
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part = {0};

        if (header.e_phoff > size || (i + 1) * sizeof(part) > size - header.e_phoff)
            return NULL;
        memcpy(&part, bytes + header.e_phoff + i * sizeof(part), sizeof(part));
        if (part.p_type != PT_INTERP)
            continue;
        if (part.p_offset > size || part.p_filesz > size - part.p_offset)
            return NULL;
        return take_name(bytes + part.p_offset, strnlen(bytes + part.p_offset, part.p_filesz));
    }
    return NULL;
}

char *entry_interpreter(const char *bytes, size_t size, bool *ret_is_script)
{
    *ret_is_script = size > 2 && memcmp(bytes, "#!", 2) == 0;
    if (*ret_is_script)
        return script_interpreter(bytes, size);
    return size > SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0 ? elf_interpreter(bytes, size)
                                                                 : NULL;
}

/* ---- The program. ---- */

static bool may_execute(const struct stat *info)
{
    if (info->st_uid == POD_UID_NUMBER)
        return info->st_mode & S_IXUSR;
    if (info->st_gid == POD_GID_NUMBER || info->st_gid == POD_FSGROUP_NUMBER)
        return info->st_mode & S_IXGRP;
    return info->st_mode & S_IXOTH;
}

static enum entry_fault examine_interpreter(const json_t *spec, const char *path, int fd,
                                            char **ret_text)
{
    char head[HEAD_BYTES];
    ssize_t size = read(fd, head, sizeof(head));
    bool is_script = false;
    cleanup_free char *interpreter =
        size > 0 ? entry_interpreter(head, (size_t)size, &is_script) : NULL;
    size_t length = interpreter ? strlen(interpreter) : 0;
    bool has_return = length > 0 && interpreter[length - 1] == '\r';
    cleanup_close int interpreter_fd = interpreter ? open_in_container(spec, interpreter) : -1;

    if (!interpreter || interpreter_fd >= 0 || (errno != ENOENT && errno != ENOTDIR))
        return ENTRY_FINE;
    if (has_return)
        *ret_text = xasprintf("the first line of \"%s\" ends with a carriage return, which becomes "
                              "a part of the name \"%.*s\"; use Unix line endings",
                              path, (int)length - 1, interpreter);
    else if (is_script)
        *ret_text = xasprintf("the image has no \"%s\", which the first line of \"%s\" names",
                              interpreter, path);
    else
        *ret_text = xasprintf("the image has no \"%s\", which \"%s\" needs: it was built for "
                              "another C library",
                              interpreter, path);
    return ENTRY_MISSING;
}

static enum entry_fault examine_file(const json_t *spec, const char *path, int fd, char **ret_text)
{
    struct stat info = {0};

    if (fstat(fd, &info) < 0)
        return ENTRY_FINE;
    if (!S_ISREG(info.st_mode)) {
        *ret_text = xasprintf("\"%s\" in the image is not a file", path);
        return ENTRY_NOT_EXECUTABLE;
    }
    if (!may_execute(&info)) {
        *ret_text = xasprintf("\"%s\" in the image is not executable for user %d (mode %04o, owner "
                              "%u:%u)",
                              path, POD_UID_NUMBER, info.st_mode & 07777, info.st_uid, info.st_gid);
        return ENTRY_NOT_EXECUTABLE;
    }
    return examine_interpreter(spec, path, fd, ret_text);
}

static const char *find_path(const json_t *spec)
{
    const json_t *variable = NULL;
    const char *path = DEFAULT_PATH;
    size_t index = 0;

    json_array_foreach(doc_get(spec, "process.env"), index, variable)
    {
        if (strncmp(json_string_value(variable), "PATH=", strlen("PATH=")) == 0)
            path = json_string_value(variable) + strlen("PATH=");
    }
    return path;
}

/* Returns a descriptor, or -1 with errno set. *ret_file is the path of the program, which the
 * caller frees. */
static int open_program(const json_t *spec, const char *program, char **ret_file)
{
    const char *path = find_path(spec);

    if (strchr(program, '/')) {
        *ret_file = *program == '/'
                        ? xstrdup(program)
                        : xasprintf("%s/%s", doc_text_or(spec, "process.cwd", ""), program);
        return open_in_container(spec, *ret_file);
    }
    while (*path) {
        size_t length = strcspn(path, ":");
        cleanup_free char *file = xasprintf("%.*s/%s", (int)length, path, program);
        int fd = open_in_container(spec, file);

        if (fd >= 0) {
            *ret_file = steal(&file);
            return fd;
        }
        path += length + (path[length] == ':');
    }
    errno = ENOENT;
    return -1;
}

enum entry_fault entry_examine(const json_t *spec, char **ret_text)
{
    const char *program = json_string_value(json_array_get(doc_get(spec, "process.args"), 0));
    const char *hint = program && strchr(program, ' ')
                           ? " (blanks are part of the name; arguments are separate words)"
                           : "";
    cleanup_free char *file = NULL;
    cleanup_close int fd = program ? open_program(spec, program, &file) : -1;

    if (fd >= 0)
        return examine_file(spec, file, fd, ret_text);
    if (!program || (errno != ENOENT && errno != ENOTDIR))
        return ENTRY_FINE;
    if (strchr(program, '/'))
        *ret_text = xasprintf("the image has no \"%s\"%s", program, hint);
    else
        *ret_text = xasprintf("the image has no program \"%s\"%s; its PATH is %s", program, hint,
                              find_path(spec));
    return ENTRY_MISSING;
}
