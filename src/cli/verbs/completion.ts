import { Argument, type Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { bareVerb } from "../verb.ts";

/**
 * Each script asks `holdfast __complete` for every word. Where that has no answer, the shell offers files.
 */
const scripts = {
  bash: `_holdfast() {
  local line tab=$'\\t'
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%"$tab"*}")
  done < <(holdfast __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _holdfast holdfast`,
  zsh: `#compdef holdfast
_holdfast() {
  local line word tab=$'\\t'
  local -a candidates
  for line in "\${(@f)$(holdfast __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    word=\${line%%\${tab}*}
    word=\${word//:/\\\\:}
    candidates+=("\${word}:\${line#*\${tab}}")
  done
  if (( $#candidates )); then
    _describe -V holdfast candidates
  else
    _files
  fi
}
if [[ $funcstack[1] == _holdfast ]]; then
  _holdfast
else
  compdef _holdfast holdfast
fi`,
  fish: `function __holdfast_found
  set -l words (commandline -opc)
  set -e words[1]
  set -l current (commandline -ct)
  set -g __holdfast_candidates (holdfast __complete $words "$current" 2>/dev/null)
  test (count $__holdfast_candidates) -gt 0
end
complete -c holdfast -n __holdfast_found -f -k -a '$__holdfast_candidates'`,
};

export function command(): Command {
  return bareVerb(
    "completion",
    "Print a completion script for your shell. It completes verbs, options, and sessions by name or short id.",
    [
      'eval "$(holdfast completion bash)"',
      "holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
    ],
  )
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(scripts)))
    .action((shell: keyof typeof scripts, options: { json?: boolean }) => {
      const script = scripts[shell];
      if (options.json) sayJson({ shell, script });
      else say(script);
    });
}
