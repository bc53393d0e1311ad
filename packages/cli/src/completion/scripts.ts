/*
 * What a shell reads once. At each TAB it asks `idk complete -- WORDS…`, which prints a line for each
 * word that could stand there: the word, a tab, what it means; and `:files` where a path may. Words are
 * handed on as arguments: nothing that stands on a command line is evaluated.
 */

const BASH = `# bash completion of idk. In ~/.bashrc: source <(idk completion bash)
_idk() {
  local line
  COMPREPLY=()
  # Bash 3.2, as macOS has it, cannot be told here; it then offers files where nothing else fits.
  type compopt >/dev/null 2>&1 && compopt +o default
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      type compopt >/dev/null 2>&1 && compopt -o default
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <(idk complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _idk idk
`;

const ZSH = `#compdef idk
# zsh completion of idk. In ~/.zshrc, behind compinit: source <(idk completion zsh)
# or as a file _idk in a folder of $fpath.
_idk() {
  local line files
  local -a described
  for line in "\${(@f)$(idk complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :files) files=yes ;;
      ?*) described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  (( $#described )) && _describe -V -t idk idk described
  [[ -n $files ]] && _files
  return 0
}
if [[ $funcstack[1] == _idk ]]; then
  _idk "$@"
else
  compdef _idk idk
fi
`;

const FISH = `# fish completion of idk: idk completion fish > ~/.config/fish/completions/idk.fish
function __idk_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (idk complete -- $words[2..-1] 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            printf '%s\\n' $line
        end
    end
end
complete -c idk -f -a '(__idk_complete)'
`;

export const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
