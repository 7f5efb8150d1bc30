# SPDX-License-Identifier: Apache-2.0 OR MIT
# For what python runs, in a virtual environment or not, and for uv and uvx.

# The interpreter's own folder when it is not the system's, its virtual environment and the one that this was made
# from, the user's packages for this version, and the script's project. exec, because packages bring compiled modules.
exec {program}
exec {script}

# The system's programs and libraries.
exec? /usr
exec? /bin
exec? /sbin
exec? /lib
exec? /lib32
exec? /lib64
exec? /libx32
read? /etc/alternatives
read? /etc/ld.so.cache
read? /etc/localtime
read? /etc/timezone
read? /etc/mime.types

# git ends when it may not read the system's configuration (EACCES, tier landlock), though not when there is none.
read? /etc/gitconfig

# Certificates to trust, where Debian, Fedora, Arch and Alpine have them. Not /etc/ssl as a whole: it holds keys too.
read? /etc/ssl/openssl.cnf
read? /etc/ssl/certs
read? /etc/ssl/cert.pem
read? /etc/pki/tls/openssl.cnf
read? /etc/pki/tls/certs
read? /etc/pki/tls/cert.pem
read? /etc/pki/ca-trust/extracted
read? /etc/crypto-policies
read? /etc/ca-certificates/extracted

# uv keeps packages, tools and interpreters.
write? {cache}
exec? {cache}
env UV_CACHE_DIR
# Without it a start from the cache tries the network.
offline UV_OFFLINE=1

# Nothing else of the environment crosses: secrets live there.
env PATH
env HOME
env LANG
env LC_*
env TERM
env TZ
env TMPDIR
