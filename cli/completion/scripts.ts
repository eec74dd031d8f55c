/** The shells with a completion script. */
export const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;
export type Shell = (typeof SHELLS)[number];

/** The line of an answer that means: complete file names too. */
export const FILES = ":files";

/**
 * The completion script of each shell. It calls `gate complete`, which prints a value, a tab and a
 * description per line. It always calls the `gate` on PATH, never the typed program.
 */
export const SCRIPTS: Record<Shell, string> = {
  bash: `# Completion of gate for bash:  eval "$(gate completion bash)"  in ~/.bashrc
_gate() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = "${FILES}" ]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <(gate complete bash "--current=\${COMP_WORDS[COMP_CWORD]}" -- \\
    "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
}
complete -F _gate gate
`,
  zsh: `#compdef gate
# Completion of gate for zsh:  eval "$(gate completion zsh)"  in ~/.zshrc, after compinit
_gate() {
  local line files=0 ret=1
  local -a values shown
  while IFS= read -r line; do
    if [[ $line == ${FILES} ]]; then
      files=1
    else
      values+=("\${line%%$'\\t'*}")
      shown+=("\${line/$'\\t'/  -- }")
    fi
  done < <(gate complete zsh "--current=\${(Q)words[CURRENT]}" -- \\
    "\${(@Q)words[2,CURRENT-1]}" 2>/dev/null)
  (( \${#values} )) && compadd -l -d shown -a values && ret=0
  (( files )) && _files && ret=0
  return ret
}
if [[ $funcstack[1] == _gate ]]; then
  _gate "$@"
else
  compdef _gate gate
fi
`,
  fish:
    `# Completion of gate for fish:  gate completion fish | source  in ~/.config/fish/config.fish
function __gate_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    for line in (gate complete fish "--current=$current" -- $words 2>/dev/null)
        if test "$line" = "${FILES}"
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c gate -f -a '(__gate_complete)'
`,
  powershell: `# Completion of gate for PowerShell, in $PROFILE:
#   gate completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName gate -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { "$_" })
  gate complete powershell "--current=$wordToComplete" -- @words 2>$null | ForEach-Object {
    $value, $description = $_ -split "\`t", 2
    if ($value -ne "${FILES}") {
      if (-not $description) { $description = $value }
      [System.Management.Automation.CompletionResult]::new(
        $value, $value, 'ParameterValue', $description)
    }
  }
}
`,
};
