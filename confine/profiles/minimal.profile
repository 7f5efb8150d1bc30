# SPDX-License-Identifier: Apache-2.0 OR MIT
# For a program that needs nothing but itself, linked statically. --allow-exec-support adds the system's programs and
# libraries.

exec {program}

# Nothing else of the environment crosses: secrets live there.
env PATH
env HOME
env LANG
env LC_*
env TERM
env TZ
env TMPDIR
