/*
 * What a shell reads once. At each TAB it asks `idk complete -- WORDS…`, which prints a line for each
 * word that could stand there: the word, a tab, what it means; and `:files` where a path may. Words are
 * handed on as arguments: nothing that stands on a command line is evaluated.
 */

const BASH = `# bash completion of idk. In ~/.bashrc: source <(idk completion bash)
_idk() {
  local rest=$COMP_LINE word words=() current line
  # Bash takes words apart at = and at :, too; what no blank stands between is one word.
  for word in "\${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ \${#words[@]} -eq 0 || $rest == [[:space:]]* ]]; then
      words+=("$word")
    else
      words[\${#words[@]}-1]+=$word
    fi
    rest=\${rest#"\${rest%%[![:space:]]*}"}
    rest=\${rest#"$word"}
  done
  current=\${words[\${#words[@]}-1]}
  # Only what stands behind the last of those is replaced.
  word=
  [[ $COMP_WORDBREAKS == *=* ]] && word=\${current%"\${current##*=}"}
  [[ $COMP_WORDBREAKS == *:* && $current == *:* ]] && word=\${current%"\${current##*:}"}
  COMPREPLY=()
  # Bash 3.2, as macOS has it, cannot be told here; it then offers files where nothing else fits.
  compopt +o default 2>/dev/null
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default 2>/dev/null
    else
      line=\${line%%$'\\t'*}
      [[ $line == */ ]] && compopt -o nospace 2>/dev/null
      COMPREPLY+=("\${line#"$word"}")
    fi
  done < <(idk complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -o default -F _idk idk
`;

const ZSH = `#compdef idk
# zsh completion of idk. In ~/.zshrc, behind compinit: source <(idk completion zsh)
# or as a file _idk in a folder of $fpath.
_idk() {
  local line files
  local -a described begun
  for line in "\${(@f)$(idk complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :files) files=yes ;;
      */$'\\t'*) begun+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
      ?*) described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  (( $#described )) && _describe -V -t idk idk described
  # More follows these: no blank behind them.
  (( $#begun )) && _describe -V -t idk-places idk begun -S ''
  if [[ -n $files ]]; then
    compset -P '--*='
    _files
  fi
  return 0
}
if [[ $funcstack[1] == _idk ]]; then
  _idk "$@"
else
  compdef _idk idk
fi
`;

const FISH = `# fish completion of idk: idk completion fish > ~/.config/fish/completions/idk.fish
# Asks once for what is on the command line, and says whether a path may stand there.
function __idk_asked
    set -l line (commandline -c | string collect)
    if not set -q __idk_line; or test "$line" != "$__idk_line"
        set -l words (commandline -opc) (commandline -ct)
        set -g __idk_answer (idk complete -- $words[2..-1] 2>/dev/null)
        set -g __idk_line $line
    end
    contains -- :files $__idk_answer
end
function __idk_candidates
    __idk_asked
    string match -v -- :files $__idk_answer
end
complete -c idk -f -a '(__idk_candidates)'
complete -c idk -F -n __idk_asked
`;

export const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
