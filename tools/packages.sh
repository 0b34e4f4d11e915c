#!/bin/sh
# packages.sh run|test|hosts|bench|oracle: makes sure that the Debian packages for a purpose are installed.
#
# Says nothing when all are there. Otherwise installs the missing ones with apt-get, as root or
# through a sudo that asks no password; or prints the one line to type, and fails. Daemons among them (the
# purpose hosts has some) are neither started nor enabled: the tests start their own.
set -eu

run="cmake gcc libbz2-dev libc6-dev libjansson-dev liblz4-dev liblzma-dev libprotobuf-c-dev libssl-dev
     libuv1-dev libxxhash-dev libzstd-dev ninja-build pkg-config python3-dev zlib1g-dev"
test="$run clang-14 clang-format-14 libclang-rt-14-dev libcmocka-dev protobuf-c-compiler
      bzip2 gdb gzip lz4 python3 python3-cloudpickle python3-numpy python3-pytest python3-venv shellcheck unzip valgrind zstd"
hosts="iproute2 munge nftables openssh-client openssh-server slurm-client slurmctld slurmd" # test/hosts
bench="$run python3 python3-venv"
oracle="default-jdk-headless maven python3" # Hadoop itself, for test/streaming/record

purpose=${1:-}
case $purpose in
run) wanted=$run ;;
test) wanted=$test ;;
hosts) wanted=$hosts ;;
bench) wanted=$bench ;;
oracle) wanted=$oracle ;;
*)
    echo "usage: tools/packages.sh run|test|hosts|bench|oracle" >&2
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

# A daemon that a package brings stays off, now and when the machine starts again.
policy=/usr/sbin/policy-rc.d
is_our_policy=
forbid_daemons() {
    [ "$purpose" = hosts ] && [ ! -e $policy ] || return 0
    trap 'exit 130' INT TERM
    trap allow_daemons EXIT
    is_our_policy=1
    printf '#!/bin/sh\nexit 101\n' | $root tee $policy >/dev/null && $root chmod 755 $policy
}
allow_daemons() {
    [ -z "$is_our_policy" ] || $root rm -f $policy
    is_our_policy=
}
disable_daemons() {
    [ "$purpose" = hosts ] && [ -d /run/systemd/system ] || return 0
    for package in $missing; do
        case $package in
        openssh-server) $root systemctl -q disable ssh.service ;;
        munge | slurmctld | slurmd) $root systemctl -q disable "$package.service" ;;
        esac >>"$log" 2>&1 || true
    done
}

forbid_daemons
echo "installing packages: $missing" >&2
# The lists of a fresh machine are empty, those of an old one name files that are gone: only then
# are they fetched.
if install_missing || { apt update && install_missing; }; then
    disable_daemons
    exit 0
fi
cat "$log" >&2
echo "weft: apt-get could not install: $missing (its output is above and in $log)" >&2
echo "  try: sudo apt-get update && sudo apt-get install $missing" >&2
exit 1
