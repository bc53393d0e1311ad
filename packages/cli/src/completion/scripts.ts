/*
 * Completion scripts. At each TAB they run `idk complete -- WORDS…`, which prints a line for each
 * candidate: the word, a tab, a description; and `:files` if a path is possible. The words are passed
 * as arguments, so nothing on the command line is evaluated.
 */

const BASH = `# bash completion of idk. In ~/.bashrc: source <(idk completion bash)
_idk() {
  local rest=$COMP_LINE word words=() current line
  # Bash also splits words at = and :. Join those without a blank between them.
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
  # Bash replaces only the part after the last of those.
  word=
  [[ $COMP_WORDBREAKS == *=* ]] && word=\${current%"\${current##*=}"}
  [[ $COMP_WORDBREAKS == *:* && $current == *:* ]] && word=\${current%"\${current##*:}"}
  # A word that was completed before has backslashes, which are no part of it.
  words[\${#words[@]}-1]=\${current//\\\\/}
  COMPREPLY=()
  # Bash 3.2, as on macOS, has no compopt; it offers files if nothing else matches.
  compopt +o default 2>/dev/null
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default 2>/dev/null
    else
      line=\${line%%$'\\t'*}
      [[ $line == */ ]] && compopt -o nospace 2>/dev/null
      # What is inserted is evaluated when the line is run.
      printf -v line %q "$line"
      COMPREPLY+=("\${line#"$word"}")
    fi
  done < <(idk complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -o default -F _idk idk
`;

const ZSH = `#compdef idk
# zsh completion of idk. In ~/.zshrc, after compinit: source <(idk completion zsh)
# or as a file _idk in a folder in $fpath.
_idk() {
  local line files
  local -a described partial
  for line in "\${(@f)$(idk complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :files) files=yes ;;
      */$'\\t'*) partial+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
      ?*) described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  (( $#described )) && _describe -V -t idk idk described
  # These are incomplete: add no blank.
  (( $#partial )) && _describe -V -t idk-stores idk partial -S ''
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
# Runs idk once for each command line. Succeeds if a path is possible.
function __idk_files
    set -l line (commandline -c | string collect)
    if not set -q __idk_line; or test "$line" != "$__idk_line"
        set -l words (commandline -opc) (commandline -ct)
        set -g __idk_output (idk complete -- $words[2..-1] 2>/dev/null)
        set -g __idk_line $line
    end
    contains -- :files $__idk_output
end
function __idk_candidates
    __idk_files
    string match -v -- :files $__idk_output
end
complete -c idk -f -a '(__idk_candidates)'
complete -c idk -F -n __idk_files
`;

export const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
