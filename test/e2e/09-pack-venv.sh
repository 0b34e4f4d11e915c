#!/bin/bash
# A venv that was packed here runs where neither its path nor any Python is.
. "$(dirname "$0")/lib.sh"

lean=$(dirname "$WEFT")/weft-lean
python=/usr/bin/python3
$python -m venv venv 2>/dev/null || python3 -m venv venv || { skip "a venv is packed" "no venv module"; finish; }
packages=$(echo venv/lib/python3.*/site-packages)

# ---- Packages: installed, editable by a path and by a finder of setuptools ------------------------------------------

mkdir -p "$packages/loom" by-path/src/warped/__pycache__ by-finder/woven elsewhere
echo 'value = "loom"' >"$packages/loom/__init__.py"
echo 'value = "warped"' >by-path/src/warped/__init__.py
touch by-path/src/warped/__pycache__/old.pyc
python3 -m venv --without-pip by-path/src/inner
echo 'value = "woven"' >by-finder/woven/__init__.py
echo 'value = "single"' >by-finder/single.py
echo "$PWD/by-path/src" >"$packages/warped.pth"
cat >"$packages/__editable___woven_0_1_finder.py" <<END
from __future__ import annotations
MAPPING: dict[str, str] = {'woven': '$PWD/by-finder/woven', 'single': '$PWD/by-finder/single'}
NAMESPACES: dict[str, list[str]] = {}
raise SystemExit("the finder of this machine must not run elsewhere")
END
echo 'import __editable___woven_0_1_finder; __editable___woven_0_1_finder.install()' >"$packages/__editable__.woven-0.1.pth"
for name in warped by-path/src woven by-finder; do
    case $name in warped | woven) dist=$name ;; *)
        mkdir -p "$packages/$dist-0.1.dist-info"
        printf '{"dir_info": {"editable": true}, "url": "file://%s"}' "$PWD/$name" >"$packages/$dist-0.1.dist-info/direct_url.json" ;;
    esac
done
printf '#!%s/venv/bin/python3\nimport sys, loom\nprint(loom.value, sys.argv[1:])\n' "$PWD" >venv/bin/weave
chmod +x venv/bin/weave
ln -s "$PWD/$packages/loom" venv/absolute

try weft pack -o env.tar.zst venv
check "a venv is packed" is "$code" 0
cp "$out" packed
check "packing changes nothing in it" test -L venv/bin/python3 -a -s "$packages/__editable___woven_0_1_finder.py"
weft pack -q -o again.tar.zst venv >again
check "the same hash twice" is "$(cut -c 1-64 packed)" "$(cut -c 1-64 again)"
tar --zstd -tf env.tar.zst >listed
check_not "no path of this machine is in its scripts" sh -c 'tar --zstd -xOf env.tar.zst bin/activate bin/weave bin/pip pyvenv.cfg | grep -F "$PWD"'
check_not "a venv in an editable package stays here" grep '/inner/' listed
where=$(weft unpack env.tar.zst)
mkdir away && mv venv by-path by-finder away/

cat >look.py <<'END'
import single, warped, woven, loom, sys, ssl, ctypes, sqlite3
print(*(one.value for one in (single, warped, woven, loom)))
assert sys.prefix != sys.base_prefix and sys.base_prefix.startswith(sys.prefix)
END
echo "single warped woven loom" >expected
gives "it runs where its path is gone" expected "$where/bin/python" look.py
echo "loom ['a b']" >expected.weave
gives "and so do its scripts" expected.weave "$where/bin/weave" 'a b'
ln -s "$where/bin/weave" elsewhere/linked
gives "also by a link" expected.weave elsewhere/linked 'a b'
gives "bin/activate finds it" <(echo "$where/bin/python") bash -c ". '$where/bin/activate' && command -v python"
cp -a "$where" moved
gives "and it runs where it is moved to" expected moved/bin/python look.py

# ---- In a root without Python ------------------------------------------------------------------------------------------

if [ -x "$lean" ] && [ -e /lib64/ld-linux-x86-64.so.2 ] && unshare -rm true 2>/dev/null; then
    mkdir -p root/{bin,lib64,proc,dev,tmp} && touch root/dev/null
    for program in sh dirname readlink; do
        program=$(readlink -f "$(command -v $program)")
        for file in "$program" $(ldd "$program" | grep -o '/[^ ]*'); do
            mkdir -p "root$(dirname "$file")" && cp -L "$file" "root$file"
        done
    done
    for name in sh dirname readlink; do ln -s "$(readlink -f "$(command -v $name)")" "root/bin/$name" 2>/dev/null; done
    for name in libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1 libresolv.so.2; do
        cp -L "$(ldconfig -p 2>/dev/null | sed -n "s/.* $name .*x86-64.* => //p;s/.*\\b$name (libc6,x86-64) => //p" | head -n 1)" "root/lib/x86_64-linux-gnu/" 2>/dev/null ||
            cp -L "/lib/x86_64-linux-gnu/$name" root/lib/x86_64-linux-gnu/
    done
    cp "$lean" env.tar.zst look.py root/
    cat >inside <<'END'
mount --bind /dev/null root/dev/null && mount --rbind /proc root/proc && exec env -i PATH=/bin XDG_CACHE_HOME=/cache /usr/sbin/chroot root "$@"
END
    inside() { unshare -rm sh inside "$@"; }
    there=$(inside /weft-lean unpack /env.tar.zst)
    check "weft-lean unpacks it in a root without anything" test -n "$there"
    check_not "where there is no Python" sh -c 'find root -name "python*" ! -path "root/cache/*" | grep .'
    gives "it runs there" expected inside "$there/bin/python" look.py
    gives "and so do its scripts, with /bin/sh" expected.weave inside "$there/bin/weave" 'a b'
else
    skip "it runs in a root without Python" "no namespaces, or another processor"
fi

# ---- From PyPI --------------------------------------------------------------------------------------------------------

if "$python" -m venv fresh && timeout 60 fresh/bin/pip install -q --disable-pip-version-check numpy requests >pip.log 2>&1; then
    weft pack -q -o fresh.tar.zst fresh >"$out"
    mv fresh away/
    gives "packages from PyPI are imported" <(echo 3.0) \
        "$(weft unpack fresh.tar.zst)/bin/python" -c 'import numpy, requests; print(numpy.ones(3).sum())'
else
    skip "packages from PyPI are imported" "no PyPI here"
fi

# ---- Refused ------------------------------------------------------------------------------------------------------------

python3 -m venv --without-pip --system-site-packages system
fails_with "a venv that uses the system's packages is refused" 2 'packages of this system' weft pack system
python3 -m venv --without-pip odd
odd=$(echo odd/lib/python3.*/site-packages)/odd-1.dist-info
mkdir -p "$odd" src
printf '{"dir_info": {"editable": true}, "url": "file://%s"}' "$PWD/src" >"$odd/direct_url.json"
fails_with "an editable install of an unknown kind is named" 2 'odd-1.dist-info is installed in editable form' weft pack odd
python3 -m venv --without-pip --copies copied
weft pack -q -o copied.tar.zst copied >"$out"
mv copied away/
gives "a venv with a copy of Python is packed, too" <(echo 3) "$(weft unpack copied.tar.zst)/bin/python" -c 'print(1 + 2)'
finish
