# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Downloads from Debian's archive without changing the apt lists of the system. Sourced by images/libraries and images/sysroot,
# which define die().

# apt_options TYPE ARCHITECTURE: sets apt_options for packages of TYPE (deb or deb-src), with lists in the current directory.
apt_options() {
    local file
    apt_options=(-qq -o "Dir::Etc::sourcelist=$PWD/debian.sources" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$PWD/lists" -o APT::Sandbox::User=)
    mkdir -p lists/partial cache/archives/partial
    for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/*.sources; do
        if [[ -r $file ]] && grep -q 'debian-archive-keyring' "$file"; then
            sed "s/^Types:.*/Types: $1/" "$file" >debian.sources
            break
        fi
    done
    if [[ ! -s debian.sources ]]; then
        # The old format: the "deb ..." lines of /etc/apt/sources.list.
        [[ -s /etc/apt/sources.list ]] || die "no Debian sources are configured below /etc/apt"
        sed -n "s/^deb /$1 /p" /etc/apt/sources.list >debian.list
        apt_options[2]="Dir::Etc::sourcelist=$PWD/debian.list"
    fi
    [[ $1 == deb-src ]] && return 0
    # Packages of another architecture, as if nothing were installed.
    touch status
    apt_options+=(-o "APT::Architecture=$2" -o "APT::Architectures=$2" -o "Dir::State::status=$PWD/status" -o "Dir::Cache=$PWD/cache")
}

# apt_source NAME=VERSION...: downloads Debian sources, verified by apt: this version, or if Debian has replaced it by a security update, the
# newest that the mirror has.
apt_source() {
    local apt_options wanted name version
    apt_options deb-src
    apt-get "${apt_options[@]}" update
    for wanted in "$@"; do
        name=${wanted%%=*}
        for version in "${wanted#*=}" $(apt-cache "${apt_options[@]:1}" showsrc "$name" | sed -n 's/^Version: //p' | sort -rV); do
            apt-get "${apt_options[@]}" source --download-only "$name=$version" >apt.log 2>&1 && continue 2
        done
        cat apt.log >&2
        die "the package mirror has no source of $wanted"
    done
}

# apt_packages ARCHITECTURE NAME...: downloads Debian packages, verified by apt.
apt_packages() {
    local apt_options
    apt_options deb "$1"
    shift
    apt-get "${apt_options[@]}" update
    apt-get "${apt_options[@]}" download "$@"
}
