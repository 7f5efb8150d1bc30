# SPDX-License-Identifier: Apache-2.0 OR MIT
# For any program: itself, and the system's programs, libraries and data (time zones are in /usr/share/zoneinfo).
# The users, groups and hosts of /etc are made up for each confined program and need no line here.

exec {program}

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

# Nothing else of the environment crosses: secrets live there.
env PATH
env HOME
env LANG
env LC_*
env TERM
env TZ
env TMPDIR
