#!/bin/sh
# Prints a Python of at least 3.11; used by the Makefile before anything is installed.
for python in "$PYTHON" python3 python3.14 python3.13 python3.12 python3.11 python; do
  [ -n "$python" ] || continue
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "$python"
    exit 0
  fi
done
echo "The book needs Python 3.11 or later and none was found. Install it, or name one: make book PYTHON=/path/to/python" >&2
exit 1
