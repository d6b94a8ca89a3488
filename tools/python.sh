#!/bin/sh
# Prints the Python that the environment is made with. Usage: tools/python.sh [PYTHON]
# With an argument only that one is looked at; otherwise the first suitable one on PATH.

# Says on one line why "$1" is not suitable; says nothing when it is.
why_not() {
    command -v "$1" >/dev/null 2>&1 || { echo "not found"; return; }
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ||
        { echo "does not start"; return; }
    case "$version" in
        3.11 | 3.12 | 3.13) ;;
        *) echo "is Python $version"; return ;;
    esac
    "$1" -c 'import ensurepip, venv' 2>/dev/null ||
        echo "is Python $version without the venv and ensurepip modules"
}

[ -n "$1" ] || set -- python3 python3.13 python3.12 python3.11
tried=""
missing_venv=""
for candidate in "$@"; do
    reason=$(why_not "$candidate")
    if [ -z "$reason" ]; then
        echo "$candidate"
        exit 0
    fi
    case "$reason" in *ensurepip*) missing_venv=1 ;; esac
    tried="$tried; $candidate $reason"
done

echo "error: no Python 3.11, 3.12 or 3.13 that can make an environment (${tried#; })" >&2
if [ -n "$missing_venv" ]; then
    echo "hint: on Debian and Ubuntu: apt-get install python3-venv; then run make again" >&2
else
    echo "hint: install one, or name it: make setup PYTHON=/path/to/python3.12" >&2
fi
exit 2
