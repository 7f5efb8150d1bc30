# SPDX-License-Identifier: Apache-2.0 OR MIT
# For what node runs: node itself, npx and npm, and scripts that begin with #!/usr/bin/env node.

# Its own folder when it is not the system's (nvm, a folder in the home), and the script's package with its
# node_modules. exec, because packages bring programs and compiled add-ons.
exec {program}
exec {script}

# The system's programs and libraries: servers start shells, git and the like.
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

# npx and npm keep what they have downloaded, and write a log of each start there.
write? {cache}
exec? {cache}
env npm_config_cache
env NPM_CONFIG_CACHE
# Without these a start from the cache tries the network for more than a minute.
offline npm_config_offline=true
offline npm_config_update_notifier=false

# Nothing else of the environment crosses: secrets live there.
env PATH
env HOME
env LANG
env LC_*
env TERM
env TZ
env TMPDIR
