#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/setup says clearly what it cannot do. It installs nothing here: every call below must fail
# before it gets that far.
set -euo pipefail

expect_failure() { # what it must say, then the call
  local expected=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "should have failed: $*"
    exit 1
  fi
  if ! grep --quiet --fixed-strings "$expected" <<< "$output"; then
    echo "expected '$expected' from: $*"
    echo "$output"
    exit 1
  fi
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/no-dpkg" "$folder/nothing-installed"
for tool in bash sed grep; do
  ln -s "$(command -v "$tool")" "$folder/no-dpkg/$tool"
  ln -s "$(command -v "$tool")" "$folder/nothing-installed/$tool"
done
printf '#!/bin/bash\nexit 1\n' > "$folder/nothing-installed/dpkg-query"
cp "$folder/nothing-installed/dpkg-query" "$folder/nothing-installed/apt-get"
chmod +x "$folder/nothing-installed/"{dpkg-query,apt-get}

expect_failure "unknown option '--everything'" tools/setup --everything
expect_failure "not a Debian system" env PATH="$folder/no-dpkg" bash tools/setup
expect_failure "missing: g++ cmake" env PATH="$folder/nothing-installed" bash tools/setup --check
echo "tools/setup: 3 failures are told clearly"
