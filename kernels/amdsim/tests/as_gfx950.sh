#!/bin/bash
# Makes code for gfx950 of a program or code object for gfx942: the name in the bundle and the number in the ELF header.
# Usage: as_gfx950.sh INPUT OUTPUT
set -euo pipefail
export LC_ALL=C
sed 's/gfx942/gfx950/g' "$1" > "$2"
device_elf=$(grep -obUaP '\x7fELF' "$2" | tail -1 | cut -d: -f1)
e_flags=$((device_elf + 48)) gfx950='\x4f'
printf "$gfx950" | dd of="$2" bs=1 seek=$e_flags conv=notrunc status=none
chmod --reference="$1" "$2"
