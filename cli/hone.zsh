#compdef hone
# SPDX-License-Identifier: GPL-3.0-or-later
# Completion of hone for zsh: that of bash, which is installed beside it (PREFIX/share/bash-completion), by zsh's bashcompinit.

autoload -Uz bashcompinit
bashcompinit
source ${${funcsourcetrace[1]%:*}:A:h}/../../bash-completion/completions/hone
_bash_complete -o nospace -F _hone
