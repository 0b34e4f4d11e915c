#!/bin/sh
# after_install.sh PREFIX LIBDIR PC: makes the libraries in PREFIX/LIBDIR findable. Where the loader looks
# by itself, its cache is made anew. Elsewhere the file PC for pkg-config gives programs the path, and the
# variables to set are printed. Not for DESTDIR: a package has its own scripts.
set -eu
prefix=$1 libdir=$1/$2 pc=$3
PATH=$PATH:/usr/sbin:/sbin

if ldconfig -v -N -X 2>/dev/null | grep -q "^$libdir:"; then
    ldconfig || {
        echo "the loader does not know the new library yet"
        echo "  try: sudo ldconfig"
    }
    exit 0
fi
sed -i "s|^Libs: |Libs: -Wl,-rpath,\${libdir} |" "$pc"
cat <<END
cc and the loader do not look below $prefix by themselves
  try: export PATH=$prefix/bin:\$PATH PKG_CONFIG_PATH=$libdir/pkgconfig
       cc job.c \$(pkg-config --cflags --libs weft)
END
