#!/bin/sh
# packages.sh run|test|bench|oracle: makes sure that the Debian packages for a purpose are installed.
#
# Says nothing when all are there. Otherwise installs the missing ones with apt-get, as root or
# through a sudo that asks no password; or prints the one line to type, and fails.
set -eu

run="cmake gcc libbz2-dev libc6-dev libjansson-dev liblz4-dev liblzma-dev libprotobuf-c-dev libssl-dev
     libuv1-dev libxxhash-dev libzstd-dev ninja-build pkg-config python3-dev zlib1g-dev"
test="$run clang-14 clang-format-14 libclang-rt-14-dev libcmocka-dev protobuf-c-compiler
      bzip2 gdb gzip lz4 python3 python3-cloudpickle python3-numpy python3-pytest python3-venv shellcheck unzip valgrind zstd"
bench="$run python3 python3-venv"
oracle="default-jdk-headless maven python3" # Hadoop itself, for test/streaming/record

case ${1:-} in
run) wanted=$run ;;
test) wanted=$test ;;
bench) wanted=$bench ;;
oracle) wanted=$oracle ;;
*)
    echo "usage: tools/packages.sh run|test|bench|oracle" >&2
    exit 2
    ;;
esac

# Another distribution has other names for them: then CMake says what it does not find.
command -v dpkg-query >/dev/null || exit 0

# shellcheck disable=SC2086  # the lists are meant to be split
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null || true)
missing=
for package in $wanted; do
    case "
$installed
" in
    *"
installed $package
"*) ;;
    *) missing="$missing $package" ;;
    esac
done
missing=${missing# }
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    root="sudo -n"
else
    echo "weft: some packages are missing and installing them needs root" >&2
    echo "  try: sudo apt-get install $missing" >&2
    exit 1
fi

mkdir -p build
log=build/packages.log
: >"$log"

apt() {
    $root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null
}
install_missing() {
    # shellcheck disable=SC2086
    apt install --no-install-recommends $missing
}

echo "installing packages: $missing" >&2
# The lists of a fresh machine are empty, those of an old one name files that are gone: only then
# are they fetched.
install_missing && exit 0
apt update && install_missing && exit 0
cat "$log" >&2
echo "weft: apt-get could not install: $missing (its output is above and in $log)" >&2
echo "  try: sudo apt-get update && sudo apt-get install $missing" >&2
exit 1
